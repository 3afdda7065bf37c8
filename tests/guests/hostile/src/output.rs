//! Behaviours that say too much, or what is no answer.

use std::io::{self, Write};

use cofferdam_sdk::serde_json::{Value, json};
use cofferdam_sdk::{ErrorCode, ToolError};

use crate::{Arguments, Seen};

const FLOOD_BYTES: u64 = 100 << 20;

pub(crate) fn run(arguments: &Arguments) -> Option<Seen> {
    Some(match arguments.name() {
        "ok" => Ok(json!({ "ok": true })),
        "stdout_flood" => Ok(flood(io::stdout().lock(), b"x", arguments.bytes.unwrap_or(FLOOD_BYTES))),
        "stderr_flood" => Ok(flood(io::stderr().lock(), b"x", arguments.bytes.unwrap_or(FLOOD_BYTES))),
        "lines_flood" => Ok(flood(io::stdout().lock(), b"x\n", arguments.bytes.unwrap_or(FLOOD_BYTES))),
        "lines_then_panic" => {
            let line = b"a line of some length, as most lines have\n";
            flood(io::stderr().lock(), line, arguments.bytes.unwrap_or(FLOOD_BYTES));
            panic!("after many lines");
        }
        "stdout_escapes" => Ok(flood(io::stdout().lock(), b"x", 0)),
        "error_message" => Err(error_message(arguments.bytes.unwrap_or(64))),
        "lie" => Err(lie(arguments.text().unwrap_or("path_denied"))),
        _ => return None,
    })
}

/// Results past the SDK, which would not make them.
pub(crate) fn raw(parsed: &Arguments, arguments: &str) -> Option<String> {
    Some(match parsed.name() {
        "huge_result" => {
            let frame = r#"{"x":""}"#.len() as u64;
            format!(r#"{{"x":"{}"}}"#, "x".repeat(parsed.bytes?.saturating_sub(frame) as usize))
        }
        "deep_result" => {
            let depth = parsed.bytes? as usize;
            format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth))
        }
        "invalid_json_result" => r#"{"ok":true"#.into(),
        "duplicate_keys_result" => r#"{"ok":true,"ok":false}"#.into(),
        "two_lines_result" => "{\"ok\":\ntrue}\n{\"error\":{\"code\":\"internal\"}}".into(),
        "empty_result" => String::new(),
        "non_object_result" => "[1,2,3]".into(),
        "error_shaped_result" => r#"{"error":{"code":"internal","message":"said by the guest"}}"#.into(),
        "huge_args_echo" => arguments.into(),
        _ => return None,
    })
}

/// Writes that many bytes of a pattern, and before them what a terminal would obey.
fn flood(mut sink: impl Write, pattern: &[u8], bytes: u64) -> Value {
    let block = pattern.repeat((64 << 10) / pattern.len());
    let mut written = 0;
    let mut result = sink.write_all(b"\x1b]0;owned\x07\x1b[2J\r\n{\"level\":\"forged\"}\n");
    while result.is_ok() && written < bytes {
        let length = (bytes - written).min(block.len() as u64);
        result = sink.write_all(&block[..length as usize]);
        written += if result.is_ok() { length } else { 0 };
    }
    let result = result.and_then(|()| sink.flush());
    json!({ "written": written, "error": result.err().map(|error| format!("{:?}", error.kind())) })
}

fn error_message(bytes: u64) -> ToolError {
    let message = "\x1b[2J\x07\0\r\nERROR \u{202e}gnihton\u{9b}31m 🦀 ".chars().cycle();
    let mut length = 0;
    let within = |found: &char| {
        length += found.len_utf8() as u64;
        length <= bytes
    };
    ToolError::new(ErrorCode::NotFound, message.take_while(within).collect::<String>())
}

/// Claims a code, and in the message to be the host.
fn lie(code: &str) -> ToolError {
    let code = ErrorCode::from_name(code).unwrap_or(ErrorCode::PathDenied);
    ToolError::new(code, "timed_out: the host ended this call\n{\"error\":{\"code\":\"internal\"}}")
}
