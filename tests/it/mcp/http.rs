//! Over HTTP: who gets an answer, how much they may send, and sessions. The client is a socket, so
//! that nothing is sent but what a test says.

pub(super) mod client;
mod token_file;

use super::world::{SESSIONS, STATELESS, meta, outcomes};
use anyhow::{Context, ensure};
use client::{Answer, Listening, request};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use support::home::{Home, Ran};

fn initialize() -> Value {
    let client = json!({ "name": "a test", "version": "1" });
    let params = json!({ "protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// A session's id.
fn begin(server: &Listening) -> anyhow::Result<String> {
    let answer = server.post(&initialize(), "")?;
    ensure!(answer.status == 200 && answer.json()?["result"]["protocolVersion"] == SESSIONS, "{answer:?}");
    let session = answer.header("mcp-session-id").context("a session")?.to_owned();
    let more = format!("Mcp-Session-Id: {session}\r\n");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    ensure!(server.post(&initialized, &more)?.status == 202);
    Ok(session)
}

/// The path of a file with this token, which those may read whom `mode` lets.
fn token_file(home: &Home, text: &str, mode: u32) -> anyhow::Result<String> {
    let file = home.file("token", text.as_bytes());
    std::fs::set_permissions(&file, Permissions::from_mode(mode))?;
    Ok(file)
}

/// A request of the newer era with the headers that repeat it.
fn alone(server: &Listening, method: &str, params: Value) -> anyhow::Result<Answer> {
    let named = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    let more = format!("MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: {method}\r\n{named}");
    server.post(&stateless(method, params), &more)
}

fn stateless(method: &str, mut params: Value) -> Value {
    params["_meta"] = meta(json!({}));
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

#[test]
fn who_is_elsewhere_gets_no_answer() -> anyhow::Result<()> {
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    let port = server.port;
    let body = initialize().to_string();
    let json = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    for (line, headers, status) in [
        ("POST /mcp", "Host: evil.example\r\n".to_owned(), 403),
        ("POST /mcp", format!("Host: localhost.evil.example:{port}\r\n"), 403),
        ("POST /mcp", format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n"), 403),
        ("POST /mcp", format!("Host: 127.0.0.1:{port}\r\nOrigin: null\r\n"), 403),
        ("GET /", format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n"), 403),
        ("OPTIONS /mcp", format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n"), 403),
        ("GET /", format!("Host: 127.0.0.1:{port}\r\n"), 404),
        ("POST /mcp/", format!("Host: 127.0.0.1:{port}\r\n"), 404),
        ("POST /other", format!("Host: 127.0.0.1:{port}\r\n"), 404),
        ("PUT /mcp", format!("Host: 127.0.0.1:{port}\r\n"), 405),
        ("OPTIONS /mcp", format!("Host: 127.0.0.1:{port}\r\n"), 405),
        ("PATCH /mcp", format!("Host: 127.0.0.1:{port}\r\n"), 405),
        ("POST /mcp", format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n"), 200),
        ("POST /mcp", format!("Host: [::1]:{port}\r\n"), 200),
    ] {
        let answer = request(port, &format!("{line} HTTP/1.1\r\n{headers}{json}"), body.as_bytes())?;
        ensure!(answer.status == status, "{line} {headers}: {answer:?}");
        ensure!(!answer.head.to_lowercase().contains("access-control"), "{line} {headers}: {answer:?}");
    }
    // No Host at all is no HTTP/1.1, and refused by whoever looks first.
    let answer = request(port, &format!("POST /mcp HTTP/1.1\r\n{json}"), body.as_bytes())?;
    ensure!((400..500).contains(&answer.status), "{answer:?}");
    Ok(())
}

#[test]
fn a_token_is_asked_for_and_told_nobody() -> anyhow::Result<()> {
    let home = Home::new();
    let token = "token-9f8e7d6c5b4a";
    let environment = [("COFFERDAM_MCP_TOKEN", token), ("COFFERDAM_LOG", "trace")];
    let server = Listening::start(&home, &[], &environment)?;
    for more in ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic dG9rZW4=\r\n"] {
        let answer = server.post(&initialize(), more)?;
        ensure!(answer.status == 401, "{more}: {answer:?}");
        ensure!(answer.header("www-authenticate") == Some("Bearer"), "{answer:?}");
    }
    let right = format!("Authorization: Bearer {token}\r\n");
    ensure!(server.post(&initialize(), &right)?.status == 200);
    let listing = json!({ "name": "file_list", "arguments": { "path": "/shared" } });
    let headers = format!(
        "{right}MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: tools/call\r\nMcp-Name: file_list\r\n"
    );
    let answer = server.post(&stateless("tools/call", listing), &headers)?;
    ensure!(answer.status == 200, "{answer:?}");
    let last = outcomes(&home).pop().context("audited")?;
    ensure!(last["channel"] == "mcp" && last["sender"] == "token", "{last}");
    ensure!(!server.end()?.contains(token), "it is in the log");
    ensure!(
        !std::fs::read_to_string(home.state().join("audit.jsonl"))?.contains(token),
        "it is in the audit"
    );
    Ok(())
}

#[test]
fn an_address_that_others_reach_needs_a_token_and_a_taken_one_is_named() -> anyhow::Result<()> {
    let home = Home::new();
    for everywhere in ["0.0.0.0:0", "[::]:0"] {
        let ran = home.run(&["mcp", "--http", everywhere]);
        ensure!(ran.code == Some(2) && ran.stderr.contains("COFFERDAM_MCP_TOKEN"), "{ran:?}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let ran = home.run(&["mcp", "--http", &address]);
    ensure!(ran.code == Some(2) && ran.stderr.contains(&address), "{ran:?}");
    let too_long = "a".repeat(4097);
    for (text, mode, said) in [
        ("", 0o600, "is empty"),
        ("  \n", 0o600, "is empty"),
        ("two words\n", 0o600, "token"),
        // Its beginning would do, and would not be the token that was meant.
        (&*too_long, 0o600, "more than 4096 bytes"),
        ("a-token-of-a-file\n", 0o644, "chmod 600"),
    ] {
        let file = token_file(&home, text, mode)?;
        let ran = home.run(&["mcp", "--http", "127.0.0.1:0", "--token-file", &file]);
        ensure!(ran.code == Some(2) && ran.stderr.contains(said), "{said}: {ran:?}");
    }
    let file = token_file(&home, "a-token-of-a-file\n", 0o600)?;
    let server = Listening::start(&home, &["--token-file", &file], &[])?;
    ensure!(server.post(&initialize(), "")?.status == 401);
    ensure!(server.post(&initialize(), "Authorization: Bearer a-token-of-a-file\r\n")?.status == 200);
    Ok(())
}

/// Taken for none, it would leave the server open to everybody on the machine.
#[test]
fn a_token_that_is_no_text_is_refused() -> anyhow::Result<()> {
    let home = Home::new();
    let token = OsStr::from_bytes(b"a-token-\xff");
    let mut command = home.command(&["mcp", "--http", "127.0.0.1:0"]);
    let ran = Ran::from(command.env("COFFERDAM_MCP_TOKEN", token).output()?);
    ensure!(ran.code == Some(2) && ran.stderr.contains("COFFERDAM_MCP_TOKEN is not UTF-8 text"), "{ran:?}");
    ensure!(ran.stderr.contains("write it as UTF-8 text or unset it"), "{ran:?}");
    Ok(())
}

#[test]
fn bodies_are_bounded_and_must_be_json() -> anyhow::Result<()> {
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    for (kind, status) in
        [("text/plain", 415), ("application/jsonp", 415), ("application/json; charset=utf-8", 200)]
    {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: {kind}\r\n"
        );
        let answer = request(server.port, &head, initialize().to_string().as_bytes())?;
        ensure!(answer.status == status, "{kind}: {answer:?}");
    }
    for body in ["", "nonsense", "[]", "{}", "\"x\""] {
        let answer = server.post_text(body, "")?;
        ensure!(answer.status == 400, "{body:?}: {answer:?}");
    }
    let content = "A".repeat((8 << 20) - 1000);
    let call = json!({ "name": "file_write_bytes", "arguments": { "path": "/shared/a", "content_base64": content } });
    let answer = alone(&server, "tools/call", call)?;
    ensure!(answer.status == 200 && answer.json()?["result"]["isError"] == false, "{answer:?}");
    // All of 8 MiB is taken, and not a byte more.
    let mut body = initialize().to_string();
    body.push_str(&" ".repeat((8 << 20) - body.len()));
    ensure!(server.post_text(&body, "")?.status == 200);
    body.push(' ');
    ensure!(server.post_text(&body, "")?.status == 413);
    let before = server.kib("VmHWM")?;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
    let mut told = server.connect()?;
    write!(told, "{head}Content-Length: 9000000000\r\n\r\n")?;
    ensure!(client::read(&mut told)?.status == 413);
    let mut endless = server.connect()?;
    write!(endless, "{head}Transfer-Encoding: chunked\r\n\r\n")?;
    let piece = vec![b' '; 1 << 20];
    let mut sent = 0;
    // Until it refuses, or closes the connection.
    while sent < 200 && write!(endless, "{:x}\r\n", piece.len()).is_ok() && endless.write_all(&piece).is_ok()
    {
        let _ = endless.write_all(b"\r\n");
        sent += 1;
    }
    ensure!(sent < 200, "all of it was taken");
    let more = server.kib("VmHWM")?.saturating_sub(before);
    ensure!(more < 40 << 10, "{more} KiB more were held");
    ensure!(server.post(&initialize(), "")?.status == 200);
    Ok(())
}

#[test]
fn a_body_that_would_be_too_many_values_is_refused_unheld() -> anyhow::Result<()> {
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    ensure!(server.post(&initialize(), "")?.status == 200);
    let before = server.kib("VmHWM")?;
    let many = r#"{"":0},"#.repeat(1 << 20);
    for method in ["tools/call", "tools/list", "no/such"] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"name":"file_list","_meta":{{"a":[{many}0]}}}}}}"#
        );
        let answer = server.post_text(&body, "")?;
        ensure!(answer.status == 200 && answer.json()?["error"]["code"] == -32602, "{answer:?}");
    }
    let more = server.kib("VmHWM")?.saturating_sub(before);
    ensure!(more < 64 << 10, "{more} KiB more were held");
    Ok(())
}

#[test]
fn sessions_have_ids_of_their_own_and_end() -> anyhow::Result<()> {
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    let (one, other) = (begin(&server)?, begin(&server)?);
    // As many bits as nobody guesses, from a generator that is made for that (RFC 9562, version 4).
    for id in [&one, &other] {
        ensure!(id.len() == 36 && &id[14..15] == "4" && "89ab".contains(&id[19..20]), "{id}");
    }
    let digits = one.chars().zip(other.chars()).filter(|(a, b)| a != b).count();
    ensure!(digits > 15, "{one} {other}");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    let within = |id: &str| format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {SESSIONS}\r\n");
    let answer = server.post(&list, &within(&one))?;
    ensure!(
        answer.json()?["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
        "{answer:?}"
    );
    for id in ["", "none", &one[1..]] {
        let answer = server.post(&list, &within(id))?;
        ensure!((400..500).contains(&answer.status), "{id:?}: {answer:?}");
    }
    let head = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{}", within(&one));
    let answer = request(server.port, &head, b"")?;
    ensure!((200..300).contains(&answer.status), "{answer:?}");
    let answer = server.post(&list, &within(&one))?;
    ensure!(answer.status == 404, "{answer:?}");
    ensure!(server.post(&list, &within(&other))?.status == 200);
    Ok(())
}

#[test]
fn sessions_are_bounded_in_number() -> anyhow::Result<()> {
    const SESSIONS_MAX: usize = 256;
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    let mut last = String::new();
    for _ in 0..SESSIONS_MAX {
        last = begin(&server)?;
    }
    let answer = server.post(&initialize(), "")?;
    ensure!(answer.status == 503 && answer.header("retry-after").is_some(), "{answer:?}");
    // The newer era has none, and goes on.
    ensure!(alone(&server, "tools/list", json!({}))?.status == 200);
    let head = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {last}\r\n");
    request(server.port, &head, b"")?;
    begin(&server)?;
    Ok(())
}

#[test]
fn the_newer_era_needs_the_headers_that_repeat_it() -> anyhow::Result<()> {
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    let answer = alone(&server, "server/discover", json!({}))?;
    ensure!(answer.status == 200 && answer.json()?["result"]["supportedVersions"].is_array(), "{answer:?}");
    let read = json!({ "name": "file_list", "arguments": { "path": "/shared" } });
    let answer = alone(&server, "tools/call", read.clone())?;
    ensure!(answer.json()?["result"]["resultType"] == "complete", "{answer:?}");
    let version = format!("MCP-Protocol-Version: {STATELESS}\r\n");
    for headers in [
        String::new(),
        version.clone(),
        format!("{version}Mcp-Method: tools/list\r\nMcp-Name: file_list\r\n"),
        format!("{version}Mcp-Method: tools/call\r\n"),
        format!("{version}Mcp-Method: tools/call\r\nMcp-Name: file_read\r\n"),
        format!("MCP-Protocol-Version: {SESSIONS}\r\nMcp-Method: tools/call\r\nMcp-Name: file_list\r\n"),
    ] {
        let answer = server.post(&stateless("tools/call", read.clone()), &headers)?;
        ensure!(answer.status == 400 && answer.json()?["error"]["code"] == -32020, "{headers}: {answer:?}");
    }
    let mut unknown = stateless("tools/list", json!({}));
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let headers = "MCP-Protocol-Version: 2099-01-01\r\nMcp-Method: tools/list\r\n";
    let answer = server.post(&unknown, headers)?;
    let error = answer.json()?["error"].clone();
    ensure!(
        answer.status == 400 && error["code"] == -32022 && error["data"]["supported"].is_array(),
        "{answer:?}"
    );
    Ok(())
}

#[test]
fn keys_that_are_given_twice_are_refused_over_http_too() -> anyhow::Result<()> {
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    let read = json!({ "name": "file_list", "arguments": { "path": "/shared" } });
    let text = stateless("tools/call", read).to_string();
    let twice = text.replace("\"arguments\":{", "\"arguments\":{\"path\":\"/vault\",");
    ensure!(text != twice);
    let headers =
        format!("MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: tools/call\r\nMcp-Name: file_list\r\n");
    let answer = server.post_text(&twice, &headers)?;
    super::world::refused(&answer.json()?["result"], "invalid_arguments")?;
    Ok(())
}

/// Arguments that the library cannot hold as values are told as over standard input.
#[test]
fn arguments_of_any_shape_get_an_answer_of_the_protocol() -> anyhow::Result<()> {
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    let session = begin(&server)?;
    let headers =
        format!("MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: tools/call\r\nMcp-Name: file_list\r\n");
    let within = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {SESSIONS}\r\n");
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for (at, path) in [deep.as_str(), "1e999", "\"/shared\",\"path\":\"/vault\""].into_iter().enumerate() {
        let params = json!({ "name": "file_list", "arguments": { "path": "PATH" } });
        for (message, more) in [
            (stateless("tools/call", params.clone()), &headers),
            (json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }), &within),
        ] {
            let answer = server.post_text(&message.to_string().replace("\"PATH\"", path), more)?;
            ensure!(answer.status == 200, "{answer:?}");
            super::world::refused(&answer.json()?["result"], "invalid_arguments")?;
        }
        ensure!(outcomes(&home).len() == 2 * (at + 1), "each is audited");
        let last = outcomes(&home).pop().context("audited")?;
        ensure!(last["channel"] == "mcp" && last["sender"] == "loopback", "{last}");
    }
    Ok(())
}

#[test]
fn a_call_in_a_session_is_cancelled_by_a_notification() -> anyhow::Result<()> {
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"60s\"");
    let server = Listening::start(&home, &[], &[])?;
    let session = begin(&server)?;
    let within = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {SESSIONS}\r\n");
    let arguments = json!({ "behaviour": "report_until:step", "path": "/shared/go" });
    let params = json!({ "name": "hostile", "arguments": arguments, "_meta": { "progressToken": 1 } });
    let call =
        json!({ "jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params }).to_string();
    let mut stream = server.connect()?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\n{within}Content-Length: {}\r\n\r\n{call}",
        call.len()
    )?;
    client::wait_for(&mut stream, "step ")?;
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "slow" } });
    ensure!(server.post(&cancelled, &within)?.status == 202);
    client::wait_until(|| outcomes(&home).len() == 1)?;
    ensure!(outcomes(&home)[0]["code"] == "cancelled", "{:?}", outcomes(&home));
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
    ensure!(server.post(&list, &within)?.status == 200, "the session goes on");
    Ok(())
}

/// As many of its calls run as may of one session, and one more waits. All clients have one name.
#[test]
fn a_session_with_all_that_it_may_have_holds_up_no_other() -> anyhow::Result<()> {
    const CALLS_PER_SESSION_MAX: usize = 8;
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"120s\"");
    std::fs::create_dir_all(home.host("/shared"))?;
    let server = Listening::start(&home, &[], &[])?;
    let (greedy, modest) = (begin(&server)?, begin(&server)?);
    let within = |id: &str| format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {SESSIONS}\r\n");
    let call = |id: usize, params: Value| -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let mut under_way = Vec::new();
    for n in 0..=CALLS_PER_SESSION_MAX {
        let arguments = json!({ "behaviour": "report_until:step", "path": "/shared/go" });
        let params = json!({ "name": "hostile", "arguments": arguments, "_meta": { "progressToken": n } });
        let (mut stream, body) = (server.connect()?, call(100 + n, params).to_string());
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\n{}Content-Length: {}\r\n\r\n{body}",
            within(&greedy),
            body.len()
        )?;
        if n < CALLS_PER_SESSION_MAX {
            client::wait_for(&mut stream, "step ")?;
        }
        under_way.push(stream);
    }
    let list = json!({ "name": "file_list", "arguments": { "path": "/shared" } });
    for answer in
        [server.post(&call(7, list.clone()), &within(&modest))?, alone(&server, "tools/call", list)?]
    {
        ensure!(answer.status == 200 && answer.json()?["result"]["isError"] == false, "{answer:?}");
    }
    ensure!(outcomes(&home).iter().all(|outcome| outcome["tool"] == "file_list"), "{:?}", outcomes(&home));
    std::fs::write(home.host("/shared/go"), "")?;
    for stream in &mut under_way {
        client::wait_for(stream, "let_go")?;
    }
    client::wait_until(|| outcomes(&home).len() == CALLS_PER_SESSION_MAX + 3)?;
    ensure!(outcomes(&home).iter().all(|outcome| outcome["sender"] == "loopback"), "{:?}", outcomes(&home));
    Ok(())
}

#[test]
fn who_says_nothing_holds_up_nobody() -> anyhow::Result<()> {
    let home = Home::new();
    let server = Listening::start(&home, &[], &[])?;
    let mut idle = Vec::new();
    for at in 0..300 {
        let mut stream = server.connect()?;
        // A third of them begin a request, a third a body.
        match at % 3 {
            0 => {}
            1 => stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc")?,
            _ => stream.write_all(
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
            )?,
        }
        idle.push(stream);
    }
    for _ in 0..10 {
        let answer = alone(&server, "tools/list", json!({}))?;
        ensure!(answer.status == 200, "{answer:?}");
    }
    drop(idle);
    server.end()?;
    Ok(())
}

#[test]
fn a_stream_that_is_closed_cancels_its_call() -> anyhow::Result<()> {
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"60s\"");
    let server = Listening::start(&home, &[], &[])?;
    let call =
        json!({ "name": "hostile", "arguments": { "behaviour": "report_until:step", "path": "/shared/go" } });
    let mut call = stateless("tools/call", call);
    call["params"]["_meta"]["progressToken"] = "t".into();
    let mut stream = server.connect()?;
    let body = call.to_string();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: tools/call\r\nMcp-Name: hostile\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    client::wait_for(&mut stream, "step ")?;
    drop(stream);
    client::wait_until(|| outcomes(&home).iter().any(|outcome| outcome["code"] == "cancelled"))?;
    server.end()?;
    Ok(())
}
