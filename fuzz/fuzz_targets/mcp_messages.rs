//! libFuzzer's way into the check of MCP messages. It includes the edge's own files, so that no
//! wire type leaves the edge and the rest of the gateway need not be built.
#![no_main]
#![allow(dead_code, reason = "the edge uses what the check does not")]

#[path = "../../host/mcp/src/fuzzing.rs"]
mod fuzzing;
#[path = "../../host/mcp/src/lines.rs"]
mod lines;
#[path = "../../host/mcp/src/message.rs"]
mod message;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::messages(data));
