//! Behaviours that plan changes as no tool should: of paths that nobody judged, too many, against
//! each other, or with arguments that mean nothing.

use std::io::Write;

use cofferdam_sdk::bindings::cofferdam::tool::workspace_write;
use cofferdam_sdk::change::{self, Contents, Disposition};
use cofferdam_sdk::serde_json::{Value, json};
use cofferdam_sdk::{StagedFile, ToolError, progress};

use crate::{Arguments, Seen, time};

const REPORTS_MAX: u64 = 1 << 20;

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    let act: fn(&str, &str) -> Result<Value, ToolError> = match arguments.name() {
        "plan_rename" => |path, to| planned(change::rename(path, to, Disposition::Replace)),
        "plan_rename_new" => |path, to| planned(change::rename(path, to, Disposition::CreateNew)),
        "plan_remove" => |path, _| planned(change::remove(path, Contents::Remove)),
        "plan_remove_twice" => |path, _| {
            planned(change::remove(path, Contents::Remove))?;
            planned(change::remove(path, Contents::Remove))
        },
        "plan_remove_then_error" => |path, _| {
            planned(change::remove(path, Contents::Remove))?;
            Err(ToolError::new(cofferdam_sdk::ErrorCode::WriteFailed, "The guest changed its mind"))
        },
        "plan_remove_then_trap" => {
            |path, _| planned(change::remove(path, Contents::Remove)).map(|_| time::trap())
        }
        "plan_remove_then_spin" => {
            |path, _| planned(change::remove(path, Contents::Remove)).map(|_| time::spin())
        }
        "plan_many" => |path, _| {
            let made = (0..1000).take_while(|_| change::remove(path, Contents::Remove).is_ok()).count();
            Ok(json!({ "planned": made }))
        },
        "write_then_remove" => |path, _| {
            let mut file = StagedFile::replace(path)?;
            file.write_all(b"short-lived").map_err(ToolError::on_path(path))?;
            file.finish()?;
            planned(change::remove(path, Contents::Remove))
        },
        // Two steps each, of the paths `/a` and `/b` below the one that was judged.
        "make_two" => |path, _| {
            made(&format!("{path}/a"), "first")?;
            made(&format!("{path}/b"), "second")
        },
        "append_and_make" => |path, _| {
            let first = format!("{path}/a");
            let mut file = StagedFile::replace(&first)?;
            let old = std::fs::read(&first).map_err(ToolError::on_path(&first))?;
            file.write_all(&old)
                .and_then(|()| file.write_all(b"more"))
                .map_err(ToolError::on_path(&first))?;
            file.finish()?;
            made(&format!("{path}/b"), "second")
        },
        "remove_and_make" => |path, _| {
            planned(change::remove(&format!("{path}/a"), Contents::Remove))?;
            made(&format!("{path}/b"), "second")
        },
        "append_file" => |path, from| {
            let file = workspace_write::stage(path, workspace_write::Disposition::Replace)?;
            file.append_file(from)?;
            workspace_write::StagedFile::finish(file).map(|sealed| json!({ "bytes": sealed.bytes }))
        },
        "expect" => |path, sha256| {
            let file = workspace_write::stage(path, workspace_write::Disposition::Replace)?;
            file.expect(sha256)?;
            workspace_write::StagedFile::finish(file).map(|sealed| json!({ "bytes": sealed.bytes }))
        },
        "make_many" => {
            return Some(arguments.path().and_then(|path| Ok((path, arguments.bytes()?))).and_then(many));
        }
        "report_flood" => return Some(Ok(reports(arguments.bytes.unwrap_or(REPORTS_MAX)))),
        _ => return None,
    };
    Some(arguments.path().and_then(|path| act(path, arguments.text().unwrap_or_default())))
}

fn planned(result: Result<change::Planned, ToolError>) -> Result<Value, ToolError> {
    let planned = result?;
    Ok(json!({ "kind": planned.kind.name(), "entries": planned.entries, "bytes": planned.bytes }))
}

/// A new file.
fn made(path: &str, holds: &str) -> Result<Value, ToolError> {
    let mut file = StagedFile::create_new(path)?;
    file.write_all(holds.as_bytes()).map_err(ToolError::on_path(path))?;
    file.finish().map(|sealed| json!({ "made": path, "bytes": sealed.bytes }))
}

/// So many new files below the path, a hundred in a directory.
fn many((path, count): (&str, u64)) -> Result<Value, ToolError> {
    for n in 0..count {
        made(&format!("{path}/{:03}/{n}", n / 100), &format!("file {n}"))?;
    }
    Ok(json!({ "made": count }))
}

/// Progress that a terminal would obey, that often.
fn reports(count: u64) -> Value {
    for _ in 0..count {
        progress::report("\x1b[2J\r\n{\"error\":{\"code\":\"internal\"}}\u{202e}");
    }
    json!({ "reported": count })
}
