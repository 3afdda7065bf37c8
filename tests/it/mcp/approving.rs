//! Calls that a policy wants a person to agree to: asked where the client can show a form, refused
//! at once where it cannot.

use super::world::{Server, meta, refused};
use crate::vault::approvals;
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use support::home::Home;
use support::workers::until;

/// The default policies, where each `file_write` must be approved.
fn asking() -> anyhow::Result<Home> {
    let home = Home::new().own_policies();
    let text = std::fs::read_to_string(home.policies_dir().join("tools/file_write.toml"))?;
    Ok(home.policy("tools/file_write.toml", &format!("{text}\n[approval]\n\"*\" = \"always\"\n")))
}

fn write(content: &str) -> Value {
    json!({ "name": "file_write", "arguments": { "path": "/shared/a", "content": content, "overwrite": true } })
}

#[test]
fn a_client_that_cannot_ask_is_refused_at_once() -> anyhow::Result<()> {
    let home = asking()?;
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let mut server = Server::start(&home, capabilities.clone())?;
        let result = server.ask("tools/call", write("x"))?["result"].clone();
        refused(&result, "approval_required")?;
        let mut alone = write("x");
        alone["_meta"] = meta(capabilities);
        refused(&server.ask("tools/call", alone)?["result"], "approval_required")?;
        server.end()?;
    }
    ensure!(!home.host("/shared/a").exists());
    Ok(())
}

#[test]
fn a_person_is_asked_while_the_call_waits() -> anyhow::Result<()> {
    let home = asking()?;
    for (answer, code) in [
        (json!({ "result": { "action": "accept", "content": {} } }), None),
        (json!({ "result": { "action": "decline" } }), Some("approval_denied")),
        (json!({ "result": { "action": "cancel" } }), Some("approval_denied")),
        (json!({ "error": { "code": -32601, "message": "no" } }), Some("approval_required")),
        (json!({ "error": { "code": -32601, "message": "no".repeat(1 << 20) } }), Some("approval_required")),
        (json!({ "error": "no" }), Some("approval_required")),
        // More structure than is made values of.
        (
            json!({ "result": { "action": "accept", "content": { "a": vec![0; 60_000] } } }),
            Some("approval_required"),
        ),
    ] {
        let mut server = Server::start(&home, json!({ "elicitation": {} }))?;
        let id = server.begin("tools/call", write("approved"))?;
        let question = server.next()?;
        ensure!(question["method"] == "elicitation/create", "{question}");
        let said = question["params"]["message"].as_str().context("a message")?;
        ensure!(said.contains("file_write") && said.contains("/shared/a"), "{said}");
        // Meanwhile nothing else waits.
        server.is_well()?;
        let mut reply = answer.clone();
        reply["jsonrpc"] = "2.0".into();
        reply["id"] = question["id"].clone();
        server.send(&reply)?;
        let result = server.answer(id)?["result"].clone();
        match code {
            None => ensure!(result["isError"] == false, "{result}"),
            Some(code) => {
                // Of the client's own words 400 bytes are told; any error may have 2048.
                let said = refused(&result, code)?;
                let bytes = (said.len(), result.to_string().len());
                ensure!(bytes.0 < 600 && bytes.1 < 2048, "{bytes:?}");
            }
        }
        server.end()?;
    }
    ensure!(std::fs::read_to_string(home.host("/shared/a"))? == "approved");
    ensure!(approvals(&home)[..4] == ["asked", "approved", "asked", "denied"], "{:?}", approvals(&home));
    // Each record says over what and for whom.
    let uid = rustix::process::getuid().as_raw().to_string();
    let all = home.audit();
    let of_calls: Vec<_> = all.iter().filter(|record| record.get("call").is_some()).collect();
    for event in ["approval", "intent", "outcome"] {
        ensure!(of_calls.iter().any(|record| record["event"] == event), "no {event}");
    }
    ensure!(
        of_calls.iter().all(|record| record["channel"] == "mcp" && record["sender"] == *uid),
        "{of_calls:?}"
    );
    Ok(())
}

/// Of what came with a call nothing is kept while it waits but what the call needs.
#[test]
fn calls_that_wait_hold_little_of_what_they_brought() -> anyhow::Result<()> {
    let home = asking()?;
    let mut server = Server::start(&home, json!({ "elicitation": {} }))?;
    let mut call = write("x");
    call["_meta"] = json!({ "example.org/padding": "x".repeat(8 << 20) });
    let mut asked = |calls: usize| -> anyhow::Result<u64> {
        for _ in 0..calls {
            server.begin("tools/call", call.clone())?;
            let question = server.next()?;
            ensure!(question["method"] == "elicitation/create", "{question}");
        }
        server.kib("VmRSS")
    };
    // The first ones make room that the next ones have again.
    let before = asked(4)?;
    let more = asked(20)?.saturating_sub(before);
    ensure!(more < 80 << 10, "160 MiB came, and {more} KiB more are held");
    Ok(())
}

#[test]
fn a_question_ends_with_its_call() -> anyhow::Result<()> {
    let home = asking()?;
    let mut server = Server::start(&home, json!({ "elicitation": {} }))?;
    let id = server.begin("tools/call", write("x"))?;
    let question = server.next()?;
    ensure!(question["method"] == "elicitation/create", "{question}");
    server.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    )?;
    // While the server is up: its end would withdraw the question as well.
    until("the question withdrawn", || approvals(&home).len() == 2);
    ensure!(approvals(&home) == ["asked", "withdrawn"], "{:?}", approvals(&home));
    // Its person need not go on thinking.
    let told = server.next()?;
    ensure!(told["method"] == "notifications/cancelled", "{told}");
    ensure!(told["params"]["requestId"] == question["id"], "{told}");
    ensure!(!home.host("/shared/a").exists());
    server.end()
}

/// Nobody can be asked any more, and the call is answered all the same.
#[test]
fn a_call_whose_client_has_said_its_last_is_refused_at_once() -> anyhow::Result<()> {
    let home = asking()?;
    let mut server = Server::start(&home, json!({ "elicitation": {} }))?;
    let id = server.begin("tools/call", write("x"))?;
    server.close();
    refused(&server.answer(id)?["result"], "approval_required")?;
    ensure!(server.ended()?.code() == Some(0), "{}", server.log());
    ensure!(approvals(&home) == ["asked", "withdrawn"], "{:?}", approvals(&home));
    ensure!(!home.host("/shared/a").exists());
    Ok(())
}

#[test]
fn a_client_of_the_newer_era_gets_the_question_and_calls_again() -> anyhow::Result<()> {
    let home = asking()?;
    let mut server = Server::launch(&home)?;
    let capabilities = json!({ "elicitation": { "form": {} } });
    let call = |content: &str, state: &Value, action: &str| {
        let mut call = write(content);
        call["_meta"] = meta(capabilities.clone());
        if !state.is_null() {
            call["requestState"] = state.clone();
            call["inputResponses"] = json!({ "approve": { "action": action, "content": {} } });
        }
        call
    };
    let asked = |result: &Value| -> anyhow::Result<Value> {
        ensure!(result["resultType"] == "input_required", "{result}");
        let question = &result["inputRequests"]["approve"];
        ensure!(question["method"] == "elicitation/create", "{result}");
        ensure!(
            question["params"]["message"].as_str().is_some_and(|said| said.contains("/shared/a")),
            "{result}"
        );
        Ok(result["requestState"].clone())
    };
    let first = server.ask("tools/call", call("one", &Value::Null, ""))?["result"].clone();
    let state = asked(&first)?;
    ensure!(!home.host("/shared/a").exists());
    let done = server.ask("tools/call", call("one", &state, "accept"))?["result"].clone();
    ensure!(done["isError"] == false && done["resultType"] == "complete", "{done}");
    // Answered once, it answers nothing more; nor does one that nobody gave out.
    for state in [state, json!("0123456789abcdef0123456789abcdef"), json!("")] {
        let answer = server.ask("tools/call", call("one", &state, "accept"))?;
        ensure!(answer["error"]["code"] == -32602, "{answer}");
    }
    // The answer to one call is none to another, which is a call of its own.
    let state = asked(&server.ask("tools/call", call("two", &Value::Null, ""))?["result"])?;
    let other = asked(&server.ask("tools/call", call("three", &state, "accept"))?["result"])?;
    let mut renamed = call("two", &state, "accept");
    renamed["name"] = "file_info".into();
    refused(&server.ask("tools/call", renamed)?["result"], "invalid_arguments")?;
    for (content, state) in [("three", other), ("two", state)] {
        refused(&server.ask("tools/call", call(content, &state, "decline"))?["result"], "approval_denied")?;
    }
    ensure!(std::fs::read_to_string(home.host("/shared/a"))? == "one");
    let mut called: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in home.audit().iter().filter(|record| record.get("call").is_some()) {
        let what = format!("{} {}", record["tool"], record["arguments_sha256"]);
        called.entry(record["call"].to_string()).or_default().insert(what);
    }
    ensure!(called.len() == 4 && called.values().all(|what| what.len() == 1), "{called:?}");
    server.end()
}

#[test]
fn a_call_whose_files_are_refused_answers_no_question() -> anyhow::Result<()> {
    let home = asking()?;
    let mut server = Server::launch(&home)?;
    let mut call = write("one");
    call["_meta"] = meta(json!({ "elicitation": {} }));
    let asked = server.ask("tools/call", call.clone())?["result"].clone();
    ensure!(asked["resultType"] == "input_required", "{asked}");
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({ "approve": { "action": "accept", "content": {} } });
    let mut with_files = call.clone();
    with_files["_meta"]["cofferdam/attachments"] = json!("none");
    let answer = server.ask("tools/call", with_files)?;
    ensure!(answer["error"]["code"] == -32602, "{answer}");
    let done = server.ask("tools/call", call)?["result"].clone();
    ensure!(done["isError"] == false, "{done}");
    server.end()
}

/// Each call that waits for a person is a request under way.
#[test]
fn more_requests_than_are_taken_at_once_are_refused() -> anyhow::Result<()> {
    const REQUESTS_MAX: usize = 256;
    let home = asking()?;
    let mut server = Server::start(&home, json!({ "elicitation": {} }))?;
    let mut questions = Vec::new();
    for _ in 0..REQUESTS_MAX {
        let id = server.begin("tools/call", write("x"))?;
        questions.push((id, server.next()?["id"].clone()));
    }
    let answer = server.ask("ping", json!({}))?;
    ensure!(answer["error"]["code"] == -32603, "{answer}");
    let (id, question) = questions.pop().context("asked")?;
    server.send(&json!({ "jsonrpc": "2.0", "id": question, "result": { "action": "decline" } }))?;
    refused(&server.answer(id)?["result"], "approval_denied")?;
    server.is_well()
}
