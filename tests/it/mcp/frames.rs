//! What is no message, or an odd one: answered or ignored, and the next request works.

use super::world::Server;
use anyhow::{Context, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use support::home::Home;

#[test]
fn odd_lines_are_answered_or_ignored_and_the_next_request_works() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::start(&home, json!({}))?;
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"deep\",\"method\":\"tools/list\",\"params\":{{\"_meta\":{{\"a\":{}1{}}}}}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let answered: [(&[u8], i64, Value); 17] = [
        (b"nonsense", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", -32700, Value::Null),
        (b"\xff\xfe\xfd", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\x28\",\"method\":\"ping\"}", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, Value::Null),
        (b"\"ping\"", -32600, Value::Null),
        (b"{}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"1.0\",\"id\":\"v\",\"method\":\"ping\"}", -32600, json!("v")),
        (b"{\"id\":\"v\",\"method\":\"ping\"}", -32600, json!("v")),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"tools/call\",\"params\":[\"file_read\"]}", -32602, json!("l")),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"n\",\"method\":\"tools/call\",\"params\":{}}", -32602, json!("n")),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"file_read\",\"arguments\":[]}}",
            -32602,
            json!("a"),
        ),
        (deep.as_bytes(), -32602, json!("deep")),
    ];
    for (line, code, id) in &answered {
        server.write(line)?;
        server.write(b"\n")?;
        let answer = server.next()?;
        let shown = String::from_utf8_lossy(&line[..line.len().min(100)]);
        ensure!(answer["error"]["code"] == *code && answer["id"] == *id, "{shown}: {answer}");
        server.is_well().with_context(|| shown.into_owned())?;
    }
    let ignored: [&[u8]; 11] = [
        b"",
        b"   ",
        b"\r",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"none\"}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":[]}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"none\",\"result\":{}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"none\",\"error\":{\"code\":1,\"message\":\"x\"}}",
        // What a client says of a message of the server's that it cannot read.
        b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"x\"}}",
        b"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"x\"}}",
    ];
    for line in ignored {
        server.write(line)?;
        server.write(b"\n")?;
        server.is_well()?;
        ensure!(server.earlier().is_empty(), "{}", String::from_utf8_lossy(line));
    }
    server.end()
}

#[test]
fn a_message_comes_in_pieces_with_any_end_of_line_and_any_id() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::start(&home, json!({}))?;
    for id in [json!("text"), json!("7"), json!(-1), json!(0), json!(i64::MAX), json!(""), json!("é")] {
        let line = format!("{}\r\n", json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        for piece in line.as_bytes().chunks(5) {
            server.write(piece)?;
        }
        ensure!(server.answer(id.clone())?["result"] == json!({}), "{id}");
    }
    // Several at once, and each answer carries its own id.
    let lines: String = (100..200)
        .map(|id| format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })))
        .collect();
    server.write(lines.as_bytes())?;
    for id in 100..200 {
        server.answer(id)?;
    }
    server.end()
}

#[test]
fn a_long_line_is_taken_and_one_too_long_is_forgotten() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::start(&home, json!({}))?;
    let bytes = vec![7; 6 << 20];
    let content = BASE64_STANDARD.encode(&bytes);
    ensure!(content.len() >= 8 << 20);
    let written =
        server.call("file_write_bytes", json!({ "path": "/shared/long", "content_base64": content }))?;
    ensure!(written["structuredContent"]["bytes_written"] == 6 << 20, "{written}");
    ensure!(std::fs::read(home.host("/shared/long"))? == bytes);
    let before = server.kib("VmHWM")?;
    let piece = vec![b'x'; 1 << 20];
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"long\",\"method\":\"")?;
    for _ in 0..200 {
        server.write(&piece)?;
    }
    let answer = server.next()?;
    ensure!(answer["error"]["code"] == -32600 && answer.get("id").is_none(), "{answer}");
    server.write(b"\"}\n")?;
    server.is_well()?;
    // The kernel notes a peak when it takes pages back, so one that it has not noted yet can fall.
    let more = server.kib("VmHWM")?.saturating_sub(before);
    ensure!(more < 40 << 10, "200 MiB were sent, and {more} KiB more were held");
    ensure!(server.earlier().is_empty());
    server.end()
}

#[test]
fn nothing_but_json_rpc_is_on_standard_output_however_much_is_logged() -> anyhow::Result<()> {
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"20s\"");
    let mut command = home.command(&["mcp"]);
    command.env("COFFERDAM_LOG", "trace");
    let mut server = Server::spawn(command)?;
    server.initialize("2025-11-25", json!({}))?;
    for behaviour in ["lines_flood", "panic", "trap", "exit", "lie:not_found"] {
        // Each line that comes is read as JSON.
        server.call("hostile", json!({ "behaviour": behaviour, "bytes": 10_000 }))?;
    }
    let secret = "what a policy calls content";
    server.call("file_write", json!({ "path": "/shared/a", "content": secret }))?;
    server.close();
    ensure!(server.ended()?.code() == Some(0));
    ensure!(!server.log().is_empty() && !server.log().contains(secret), "{}", server.log());
    Ok(())
}
