//! Behaviours that use the host's streams against their contract.

use cofferdam_sdk::bindings::cofferdam::tool::turn_attachments;
use cofferdam_sdk::bindings::cofferdam::tool::workspace_write::{self, Disposition, StagedFile};
use cofferdam_sdk::bindings::wasi::io::streams::{OutputStream, StreamError};
use cofferdam_sdk::serde_json::{Value, json};

use crate::{Arguments, Seen};

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    let act: fn(&StagedFile, OutputStream, u64) -> Value = match arguments.name() {
        "write_unpermitted" => |_, body, bytes| told(body.write(&vec![0; bytes as usize])),
        "write_over_permit" => |_, body, bytes| {
            let permitted = body.check_write().unwrap_or(0);
            told(body.write(&vec![0; (permitted + bytes) as usize]))
        },
        "blocking_write_too_long" => {
            |_, body, bytes| told(body.blocking_write_and_flush(&vec![0; bytes as usize]))
        }
        "write_zeroes" => |_, body, bytes| {
            let permitted = body.check_write();
            json!({ "permitted": permitted.ok(), "result": told(body.write_zeroes(bytes)) })
        },
        "body_twice" => |file, body, _| {
            let second = file.body();
            json!({ "first": told(body.check_write()), "second": told(second.check_write()) })
        },
        "append_under_body" => |file, _body, _| match file.append_attachment(0) {
            Ok(bytes) => json!(bytes),
            Err(error) => json!(error.code.name()),
        },
        "splice_attachment" => |_, body, bytes| match turn_attachments::open(0) {
            Ok(attachment) => told(body.blocking_splice(&attachment.body(), bytes)),
            Err(error) => json!(error.code.name()),
        },
        "finish_under_body" => return Some(finish_under_body(arguments)),
        "read_too_much" => return Some(read_too_much()),
        _ => return None,
    };
    Some(with_body(arguments, act))
}

fn with_body(arguments: &Arguments, act: fn(&StagedFile, OutputStream, u64) -> Value) -> Seen {
    let file = workspace_write::stage(arguments.path()?, Disposition::Replace)?;
    Ok(json!({ "result": act(&file, file.body(), arguments.bytes.unwrap_or(1 << 20)) }))
}

fn finish_under_body(arguments: &Arguments) -> Seen {
    let file = workspace_write::stage(arguments.path()?, Disposition::Replace)?;
    let body = file.body();
    let sealed = StagedFile::finish(file).map(|sealed| sealed.bytes).map_err(|error| error.code.name());
    Ok(json!({ "sealed": format!("{sealed:?}"), "after": told(body.check_write()) }))
}

/// Asks for as much at once as can be asked for.
fn read_too_much() -> Seen {
    let body = turn_attachments::open(0)?.body();
    Ok(match body.blocking_read(u64::MAX) {
        Ok(bytes) => json!({ "bytes": bytes.len() }),
        Err(error) => json!({ "error": told::<()>(Err(error)) }),
    })
}

fn told<T>(result: Result<T, StreamError>) -> Value {
    match result {
        Ok(_) => json!("ok"),
        Err(StreamError::Closed) => json!("closed"),
        Err(StreamError::LastOperationFailed(why)) => json!(why.to_debug_string()),
    }
}
