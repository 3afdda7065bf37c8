//! Behaviours that stage files and then do not do what a tool does.

use std::io::Write;

use cofferdam_sdk::serde_json::{Value, json};
use cofferdam_sdk::{ErrorCode, StagedFile, ToolError};

use crate::{Arguments, Seen, time};

const HALF: &[u8] = b"half of what was to be written\n";

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    Some(match arguments.name() {
        "trap_mid_write" => half(arguments).map(|_file| time::trap()),
        "spin_mid_write" => half(arguments).map(|_file| time::spin()),
        "stage_never_finish" => half(arguments).map(|_file| json!({ "finished": false })),
        "stage_forget" => half(arguments).map(|file| {
            std::mem::forget(file);
            json!({ "finished": false })
        }),
        "stage_other" => sealed(arguments),
        "stage_create" => stage_create(arguments),
        "stage_then_error" => sealed(arguments).and_then(|_| {
            Err(ToolError::new(ErrorCode::WriteFailed, "The guest changed its mind after sealing"))
        }),
        "stage_then_spin" => sealed(arguments).map(|_| time::spin()),
        "stage_then_trap" => sealed(arguments).map(|_| time::trap()),
        "stage_then_exit" => sealed(arguments).map(|_| std::process::exit(0)),
        "stage_twice" => stage_twice(arguments),
        "stage_many" => stage_many(arguments),
        "write_bytes" => write_bytes(arguments),
        "append_attachment" => append_attachment(arguments),
        _ => return None,
    })
}

fn at_path(arguments: &Arguments) -> impl FnOnce(std::io::Error) -> ToolError {
    ToolError::on_path(arguments.path.as_deref().unwrap_or_default())
}

fn half(arguments: &Arguments) -> Result<StagedFile, ToolError> {
    let mut file = StagedFile::replace(arguments.path()?)?;
    file.write_all(HALF).map_err(at_path(arguments))?;
    file.flush().map_err(at_path(arguments))?;
    Ok(file)
}

fn sealed(arguments: &Arguments) -> Seen {
    let sealed = half(arguments)?.finish()?;
    Ok(json!({ "bytes": sealed.bytes, "sha256": sealed.sha256 }))
}

fn stage_create(arguments: &Arguments) -> Seen {
    let mut file = StagedFile::create_new(arguments.path()?)?;
    file.write_all(HALF).map_err(at_path(arguments))?;
    let sealed = file.finish()?;
    Ok(json!({ "bytes": sealed.bytes, "sha256": sealed.sha256 }))
}

/// The same path twice: told apart by their content, in the order of sealing.
fn stage_twice(arguments: &Arguments) -> Seen {
    let path = arguments.path()?;
    let mut first = StagedFile::replace(path)?;
    let mut second = match StagedFile::replace(path) {
        Ok(second) => second,
        Err(error) => return Ok(json!({ "second": error.code.name(), "message": error.message })),
    };
    first.write_all(b"first\n").map_err(at_path(arguments))?;
    second.write_all(b"second\n").map_err(at_path(arguments))?;
    Ok(json!({ "second": "staged", "first_sealed": outcome(first), "second_sealed": outcome(second) }))
}

/// Stages the path that often and seals each.
fn stage_many(arguments: &Arguments) -> Seen {
    let (path, wanted) = (arguments.path()?, arguments.bytes()?);
    let mut open = Vec::new();
    let refused = (0..wanted).find_map(|_| StagedFile::replace(path).map(|file| open.push(file)).err());
    let staged = open.len();
    let sealed = open.into_iter().map(StagedFile::finish).filter(Result::is_ok).count();
    Ok(json!({ "staged": staged, "sealed": sealed, "error": refused.map(|error| error.code.name()) }))
}

/// Zero bytes, streamed.
fn write_bytes(arguments: &Arguments) -> Seen {
    let mut file = StagedFile::replace(arguments.path()?)?;
    let block = [0; 64 << 10];
    let mut left = arguments.bytes()?;
    while left > 0 {
        let length = left.min(block.len() as u64);
        file.write_all(&block[..length as usize]).map_err(at_path(arguments))?;
        left -= length;
    }
    let sealed = file.finish()?;
    Ok(json!({ "bytes": sealed.bytes, "sha256": sealed.sha256 }))
}

/// Attachment 0, that often, into one file.
fn append_attachment(arguments: &Arguments) -> Seen {
    let mut file = StagedFile::replace(arguments.path()?)?;
    for _ in 0..arguments.bytes.unwrap_or(1) {
        file.append_attachment(0)?;
    }
    let sealed = file.finish()?;
    Ok(json!({ "bytes": sealed.bytes, "sha256": sealed.sha256 }))
}

fn outcome(file: StagedFile) -> Value {
    match file.finish() {
        Ok(sealed) => json!(sealed.bytes),
        Err(error) => json!(error.code.name()),
    }
}
