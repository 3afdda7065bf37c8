//! `vault_copyto` for an MCP client: its person is asked about both paths, or it is refused; and
//! what a huge file costs.

use super::world::{Server, refused};
use crate::vault::approvals;
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::fs;
use support::home::Home;

const SECRET: &str = "CANARY-of-the-vault";

/// A gateway whose vault holds a file.
fn home() -> Home {
    let home = Home::new();
    fs::create_dir_all(home.host("/vault")).expect("writable");
    fs::write(home.host("/vault/key"), SECRET).expect("writable");
    home
}

#[test]
fn a_huge_file_costs_no_memory() -> anyhow::Result<()> {
    const BYTES: u64 = 512 << 20;
    let home = home();
    fs::File::create(home.host("/vault/huge"))?.set_len(BYTES)?;
    let mut server = Server::start(&home, json!({ "elicitation": {} }))?;
    // Whatever a first call costs.
    accepted(&mut server, "/vault/key", "/tmp/key")?;
    let before = server.kib("VmHWM")?;
    let result = accepted(&mut server, "/vault/huge", "/tmp/huge")?;
    ensure!(result["structuredContent"]["bytes"] == BYTES, "{result}");
    let grown = server.kib("VmHWM")?.saturating_sub(before);
    ensure!(grown < 16 << 10, "{grown} KiB");
    fs::remove_file(home.host("/tmp/huge"))?;
    server.end()
}

fn params(from: &str, to: &str) -> Value {
    json!({ "name": "vault_copyto", "arguments": { "from": from, "to": to } })
}

/// The result of a call that the client's person agrees to.
fn accepted(server: &mut Server, from: &str, to: &str) -> anyhow::Result<Value> {
    answered(server, from, to, "accept")
}

fn answered(server: &mut Server, from: &str, to: &str, action: &str) -> anyhow::Result<Value> {
    let id = server.begin("tools/call", params(from, to))?;
    let question = server.next()?;
    let said = question["params"]["message"].as_str().with_context(|| question.to_string())?;
    ensure!(said.contains(&format!("reads {from}")) && said.contains(&format!("creates {to}")), "{said}");
    server.send(
        &json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": action, "content": {} } }),
    )?;
    Ok(server.answer(id)?["result"].clone())
}

#[test]
fn a_client_of_mcp_is_asked_or_refused() -> anyhow::Result<()> {
    let home = home();
    let mut server = Server::start(&home, json!({}))?;
    refused(
        &server.call("vault_copyto", params("/vault/key", "/tmp/a")["arguments"].clone())?,
        "approval_required",
    )?;
    let list = server.ask("tools/list", json!({}))?;
    let tool =
        list["result"]["tools"].as_array().into_iter().flatten().find(|tool| tool["name"] == "vault_copyto");
    let hints = &tool.context("offered")?["annotations"];
    ensure!(
        hints["readOnlyHint"] == false && hints["destructiveHint"] == true && hints["openWorldHint"] == false
    );
    server.end()?;
    let mut server = Server::start(&home, json!({ "elicitation": {} }))?;
    refused(&answered(&mut server, "/vault/key", "/tmp/a", "decline")?, "approval_denied")?;
    ensure!(!home.host("/tmp/a").exists());
    let result = accepted(&mut server, "/vault/key", "/tmp/a")?;
    ensure!(result["isError"] == false && result["structuredContent"]["copied"] == true, "{result}");
    ensure!(fs::read_to_string(home.host("/tmp/a"))? == SECRET);
    // What the judge denies is no question to anybody.
    let denied = server.call("vault_copyto", params("/vault/key", "/vault/a")["arguments"].clone())?;
    refused(&denied, "path_denied")?;
    server.end()?;
    ensure!(approvals(&home) == ["asked", "denied", "asked", "approved"], "{:?}", approvals(&home));
    Ok(())
}
