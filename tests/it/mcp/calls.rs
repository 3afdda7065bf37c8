//! Calls: their results and refusals, side by side, cancelled, with progress and with files.

use super::world::{STATELESS, Server, meta, outcomes, refused, text};
use anyhow::{Context, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use support::home::{Home, builtin_tools};
use support::workers::until;

fn hostile() -> Home {
    Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"60s\"")
}

/// A call that goes on until [`let_go`].
fn slow(server: &mut Server, more: Value) -> anyhow::Result<i64> {
    let mut params =
        json!({ "name": "hostile", "arguments": { "behaviour": "report_until:step", "path": "/shared/go" } });
    if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
        params.extend(more);
    }
    server.begin("tools/call", params)
}

fn let_go(home: &Home) -> anyhow::Result<()> {
    std::fs::create_dir_all(home.host("/shared"))?;
    Ok(std::fs::write(home.host("/shared/go"), "")?)
}

/// Waits until a call of `hostile` runs: it says so.
fn runs(server: &mut Server) -> anyhow::Result<()> {
    loop {
        let message = server.next()?;
        let said = message["params"]["message"].as_str().unwrap_or_default();
        if message["method"] == "notifications/progress" && said.starts_with("step ") {
            return Ok(());
        }
    }
}

fn token(token: impl Into<Value>) -> Value {
    json!({ "_meta": { "progressToken": token.into() } })
}

#[test]
fn refusals_begin_with_their_codes_and_are_audited_with_their_sender() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::start(&home, json!({}))?;
    for (tool, arguments, code) in [
        ("file_read", json!({ "path": "/shared/none" }), "not_found"),
        ("file_read", json!({ "path": "/vault/key" }), "path_denied"),
        ("file_read", json!({ "path": "/shared/../x" }), "path_denied"),
        ("file_read", json!({ "path": 7 }), "invalid_arguments"),
        ("file_read", json!({}), "invalid_arguments"),
        ("file_read", json!({ "path": "/shared/a", "more": 1 }), "invalid_arguments"),
        ("file_read", json!({ "path": "/shared" }), "is_a_directory"),
        ("attachment_save", json!({ "index": 0, "path": "/shared/a" }), "no_attachments"),
    ] {
        let result = server.call(tool, arguments.clone())?;
        refused(&result, code).with_context(|| format!("{tool} {arguments}"))?;
        let last = outcomes(&home).pop().context("audited")?;
        let uid = rustix::process::getuid().as_raw().to_string();
        ensure!(last["channel"] == "mcp" && last["sender"] == uid && last["code"] == code, "{last}");
    }
    let answer = server.ask("tools/call", json!({ "name": "no_such", "arguments": {} }))?;
    ensure!(answer["error"]["code"] == -32602, "{answer}");
    ensure!(
        answer["error"]["message"].as_str().is_some_and(|said| said.starts_with("unknown_tool: ")),
        "{answer}"
    );
    ensure!(outcomes(&home).pop().context("audited")?["code"] == "unknown_tool");
    server.end()
}

#[test]
fn a_key_that_is_given_twice_is_refused() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::start(&home, json!({}))?;
    for arguments in [
        r#"{"path":"/shared","path":"/vault"}"#,
        r#"{"path":"/shared","p\u0061th":"/shared"}"#,
        r#"{"path":"/shared","lines":{"from":1,"from":2}}"#,
    ] {
        server.write(
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"twice\",\"method\":\"tools/call\",\"params\":{{\"name\":\"file_read\",\
                 \"arguments\":{arguments}}}}}\n"
            )
            .as_bytes(),
        )?;
        let said = refused(&server.answer("twice")?["result"], "invalid_arguments")?;
        ensure!(said.contains("duplicate key"), "{said}");
    }
    ensure!(outcomes(&home).iter().all(|outcome| outcome["code"] == "invalid_arguments"));
    server.end()
}

/// Results are held to their schemas before they are told: one that is told fits.
#[test]
fn every_builtin_succeeds_with_a_result_that_fits_its_schema() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::start(&home, json!({}))?;
    let blob = BASE64_STANDARD.encode("sent\n");
    let files = json!({ "cofferdam/attachments": [{ "uri": "file:///sent.txt", "blob": blob }] });
    let mut called = Vec::new();
    for (tool, arguments) in [
        ("file_write", json!({ "path": "/shared/a.txt", "content": "one\ntwo\n" })),
        ("file_write_bytes", json!({ "path": "/shared/b.txt", "content_base64": "aGk=" })),
        ("file_read", json!({ "path": "/shared/a.txt" })),
        ("file_list", json!({ "path": "/shared" })),
        ("file_search", json!({ "path": "/shared", "pattern": "two" })),
        ("file_info", json!({ "path": "/shared/a.txt" })),
        ("file_edit", json!({ "path": "/shared/a.txt", "edits": [{ "old_text": "one", "new_text": "1" }] })),
        ("file_copy", json!({ "from": "/shared/a.txt", "to": "/shared/c.txt" })),
        ("file_move", json!({ "from": "/shared/c.txt", "to": "/shared/d.txt" })),
        ("file_delete", json!({ "path": "/shared/d.txt" })),
        ("attachment_save", json!({ "index": 0, "path": "/shared/e.txt" })),
        ("attachment_download", json!({ "downloadDir": "/shared/got" })),
        ("attachment_add", json!({ "path": "/shared/a.txt" })),
    ] {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": files });
        let result = server.ask("tools/call", params)?["result"].clone();
        ensure!(result["isError"] == false && result["structuredContent"].is_object(), "{tool}: {result}");
        text(&result)?;
        called.push(tool.to_owned());
    }
    called.sort();
    // Writing to people is for chats, and the vault is nobody's without a person: `mcp::vault`.
    let mut expected = builtin_tools();
    expected
        .retain(|tool| tool != "message_send" && tool != "vault_copyto" && !tool.starts_with("workflow_"));
    ensure!(called == expected, "{called:?}");
    ensure!(std::fs::read_to_string(home.host("/shared/e.txt"))? == "sent\n");
    server.end()
}

#[test]
fn files_that_come_with_a_call_have_the_limits_of_a_channel() -> anyhow::Result<()> {
    let home = Home::new().config("[attachments]\nmax_bytes = \"100 B\"\n");
    let mut server = Server::start(&home, json!({}))?;
    let save = |files: Value| {
        json!({ "name": "attachment_save", "arguments": { "index": 0, "path": "/shared/x" },
                "_meta": { "cofferdam/attachments": files } })
    };
    for files in [
        json!({}),
        json!([{}]),
        json!([{ "uri": "a" }]),
        json!([{ "uri": "a", "blob": "not base64!" }]),
        json!([{ "uri": "a", "blob": "", "text": "" }]),
        json!(vec![json!({ "uri": "a", "text": "" }); 65]),
    ] {
        let answer = server.ask("tools/call", save(files.clone()))?;
        ensure!(answer["error"]["code"] == -32602, "{files}: {answer}");
    }
    // So many are listed; those over `max_count` cannot be had.
    let mut last = save(json!(vec![json!({ "uri": "a", "text": "" }); 64]));
    last["arguments"]["index"] = 63.into();
    refused(&server.ask("tools/call", last)?["result"], "attachment_unavailable")?;
    let result = server.ask("tools/call", save(json!([{ "uri": "a", "text": "x".repeat(101) }])))?;
    refused(&result["result"], "attachment_unavailable")?;
    let result = server.ask("tools/call", save(json!([{ "uri": "file:///d/a.txt", "text": "hello" }])))?;
    ensure!(result["result"]["isError"] == false, "{result}");
    ensure!(std::fs::read_to_string(home.host("/shared/x"))? == "hello");
    server.end()
}

/// There is room for one of the files and not for two.
#[test]
fn what_calls_add_to_replies_is_held_no_longer_than_they_last() -> anyhow::Result<()> {
    let limits =
        "[replies]\nmax_bytes = \"10 KiB\"\nmax_turn_bytes = \"15 KiB\"\nmax_held_bytes = \"15 KiB\"\n";
    let home = Home::new().config(limits);
    std::fs::create_dir_all(home.host("/shared"))?;
    let mut server = Server::start(&home, json!({}))?;
    for n in 0..5 {
        std::fs::write(home.host("/shared/a.txt"), format!("{n:010240}"))?;
        let result = server.call("attachment_add", json!({ "path": "/shared/a.txt" }))?;
        ensure!(result["isError"] == false, "{n}: {result}");
    }
    // The same where the call is told of while it runs.
    for n in 5..8 {
        std::fs::write(home.host("/shared/a.txt"), format!("{n:010240}"))?;
        let mut params = json!({ "name": "attachment_add", "arguments": { "path": "/shared/a.txt" } });
        params["_meta"] = token(n)["_meta"].clone();
        let answer = server.ask("tools/call", params)?;
        ensure!(answer["result"]["isError"] == false, "{n}: {answer}");
    }
    server.end()
}

#[test]
fn slow_calls_hold_up_no_other() -> anyhow::Result<()> {
    let home = hostile();
    let mut server = Server::start(&home, json!({}))?;
    let slow: Vec<i64> = (0..4).map(|n| slow(&mut server, token(n))).collect::<anyhow::Result<_>>()?;
    runs(&mut server)?;
    server.is_well()?;
    for _ in 0..5 {
        let listed = server.call("file_list", json!({ "path": "/shared" }))?;
        ensure!(listed["isError"] == false, "{listed}");
    }
    let_go(&home)?;
    for id in slow.into_iter().rev() {
        let answer = server.answer(id)?;
        ensure!(answer["result"]["structuredContent"]["let_go"] == true, "{answer}");
    }
    server.end()
}

#[test]
fn a_cancelled_call_ends_its_guest_and_is_audited_so() -> anyhow::Result<()> {
    let home = hostile();
    let mut server = Server::start(&home, json!({}))?;
    let id = slow(&mut server, token("t"))?;
    runs(&mut server)?;
    let cancelled = json!({ "requestId": id, "reason": "enough" });
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }))?;
    // While the server is up: its end would cancel the call as well.
    until("the cancelled call in the audit", || outcomes(&home).len() == 1);
    server.is_well()?;
    // Its id is not taken for another one, which its last words would answer.
    server.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))?;
    ensure!(server.answer(id)?["error"]["code"] == -32600);
    let last = outcomes(&home).pop().context("audited")?;
    ensure!(last["code"] == "cancelled" && last["channel"] == "mcp", "{last}");
    server.end()
}

#[test]
fn a_call_of_the_newer_era_is_cancelled_alike() -> anyhow::Result<()> {
    let home = hostile();
    let mut server = Server::launch(&home)?;
    let mut with_token = meta(json!({}));
    with_token["progressToken"] = 1.into();
    let id = slow(&mut server, json!({ "_meta": with_token }))?;
    runs(&mut server)?;
    let cancelled = json!({ "requestId": id, "_meta": meta(json!({})) });
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }))?;
    until("the cancelled call in the audit", || outcomes(&home).len() == 1);
    ensure!(outcomes(&home)[0]["code"] == "cancelled", "{:?}", outcomes(&home));
    server.end()
}

#[test]
fn progress_rises_says_something_and_ends_before_the_answer() -> anyhow::Result<()> {
    let home = hostile();
    let mut server = Server::start(&home, json!({}))?;
    server.call("file_list", json!({ "path": "/shared" }))?;
    ensure!(server.earlier().is_empty(), "nobody asked for progress");
    let id = slow(&mut server, token("a token"))?;
    let mut told = Vec::new();
    while told.len() < 3 {
        told.push(server.next()?);
    }
    let_go(&home)?;
    server.answer(id)?;
    told.extend(server.earlier());
    let mut last = 0.0;
    for message in &told {
        let params = &message["params"];
        let step = params["progress"].as_f64().unwrap_or_default();
        ensure!(
            message["method"] == "notifications/progress" && params["progressToken"] == "a token",
            "{message}"
        );
        ensure!(step > last && params["message"].as_str().is_some_and(|said| !said.is_empty()), "{message}");
        last = step;
    }
    server.is_well()?;
    ensure!(server.earlier().is_empty(), "nothing comes after the answer");
    server.end()
}

#[test]
fn a_result_that_does_not_fit_its_schema_is_not_told() -> anyhow::Result<()> {
    let home =
        Home::new().tool("odd_result", "file-read-only", "examples/odd_result", "safety = \"read-only\"\n");
    let mut server = Server::start(&home, json!({}))?;
    let result = server.call("odd_result", json!({}))?;
    refused(&result, "invalid_output")?;
    ensure!(result.get("structuredContent").is_none(), "{result}");
    server.end()
}

#[test]
fn a_call_of_the_newer_era_is_a_call() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::launch(&home)?;
    let mut call =
        json!({ "name": "file_write", "arguments": { "path": "/shared/a", "content": STATELESS } });
    call["_meta"] = meta(json!({}));
    let result = server.ask("tools/call", call)?["result"].clone();
    ensure!(result["isError"] == false && result["resultType"] == "complete", "{result}");
    ensure!(std::fs::read_to_string(home.host("/shared/a"))? == STATELESS);
    server.end()
}
