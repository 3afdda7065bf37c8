//! What must hold for any bytes that come as messages: lines are told from each other without
//! holding one that is too long, reading ends, an answer names the request where its id is
//! readable, and a call's arguments are what was written.
//!
//! Used by the fuzz target, which includes this file, and by the run over the corpus below.

use super::lines::{InputLine, LineReader};
use super::message::{RawArguments, RpcFrame, read};
use rmcp::model::{ClientRequest, GetExtensions, JsonRpcMessage};
use serde_json::Value;
use std::io::BufReader;

/// A short line for a short input.
const LINE_MAX: usize = 4096;

/// Reads the bytes as a stream of messages and holds what was read against the JSON.
pub(super) fn messages(data: &[u8]) {
    let pieces = usize::from(data.first().copied().unwrap_or(1)).max(1);
    let mut stream = BufReader::with_capacity(pieces, data);
    let mut lines = LineReader::new(LINE_MAX);
    let mut expected = whole_lines(data).into_iter();
    while let Some(line) = lines.next(&mut stream).expect("bytes are read") {
        let Some(found) = expected.next() else {
            // What has no end may still be too long.
            assert_eq!(line, InputLine::TooLong);
            continue;
        };
        match line {
            InputLine::Whole(line) => {
                assert!(line.len() <= LINE_MAX && line == found.strip_suffix(b"\r").unwrap_or(found));
                message(&line);
            }
            InputLine::TooLong => assert!(found.len() > LINE_MAX),
        }
    }
    assert!(expected.next().is_none(), "a line was lost");
}

/// What stands before each end of line.
fn whole_lines(data: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = data.split(|byte| *byte == b'\n').collect();
    lines.pop();
    lines
}

fn message(line: &[u8]) {
    let read = read(line);
    // Deeper ones than a value may be are read as text alone.
    let bare = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let Ok(value) = serde_json::from_slice::<Value>(bare) else { return };
    match read {
        RpcFrame::Message(message) => {
            let JsonRpcMessage::Request(request) = *message else { return };
            assert_eq!(value["jsonrpc"], "2.0");
            assert_eq!(value["id"], request.id.into_json_value());
            let ClientRequest::CallToolRequest(call) = request.request else { return };
            assert_eq!(value["params"]["name"], *call.params.name);
            let RawArguments(text) = call.extensions().get().cloned().unwrap_or(RawArguments("".into()));
            if let Ok(arguments) = serde_json::from_str::<Value>(&text) {
                let written = Some(&value["params"]["arguments"]).filter(|written| !written.is_null());
                assert_eq!(&arguments, written.unwrap_or(&Value::Object(Default::default())));
            }
        }
        RpcFrame::Refused(refusal) => {
            if let Some(id) = refusal.id {
                assert_eq!(value["id"], id.into_json_value());
            }
        }
        RpcFrame::Ignored => {
            // Who asks something is always answered.
            let is_request = value["method"].is_string() && value.get("id").is_some();
            assert!(!is_request, "{value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use cofferdam_checks::corpus;

    #[test]
    fn any_message_is_read() {
        assert!(corpus::run("mcp_messages", super::messages) > corpus::MUTATIONS);
    }
}
