//! Both eras: `initialize`, and requests that stand alone; on one server, in any order.

use super::world::{SESSIONS, STATELESS, Server, meta, text};
use anyhow::ensure;
use serde_json::{Value, json};
use support::home::Home;

#[test]
fn initialize_answers_with_a_version_that_is_known() -> anyhow::Result<()> {
    let home = Home::new();
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        (SESSIONS, SESSIONS),
        // The newer era has no such handshake.
        (STATELESS, SESSIONS),
        ("1999-01-01", SESSIONS),
        ("nonsense", SESSIONS),
    ] {
        let mut server = Server::launch(&home)?;
        let begun = server.initialize(asked, json!({}))?;
        ensure!(begun["protocolVersion"] == agreed, "{asked}: {begun}");
        ensure!(begun["serverInfo"]["name"] == "cofferdam", "{begun}");
        ensure!(begun["capabilities"] == json!({ "tools": {} }), "{begun}");
        let list = server.ask("tools/list", json!({}))?["result"].clone();
        ensure!(list.get("resultType").is_none() && list.get("ttlMs").is_none(), "{agreed}: {list}");
        server.end()?;
    }
    Ok(())
}

#[test]
fn requests_of_the_newer_era_stand_alone() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::launch(&home)?;
    let found = server.ask("server/discover", json!({ "_meta": meta(json!({})) }))?["result"].clone();
    let versions = found["supportedVersions"].as_array().cloned().unwrap_or_default();
    ensure!(versions.contains(&STATELESS.into()) && versions.contains(&SESSIONS.into()), "{found}");
    ensure!(found["capabilities"] == json!({ "tools": {} }), "{found}");
    let list = server.ask("tools/list", json!({ "_meta": meta(json!({})) }))?["result"].clone();
    ensure!(list["resultType"] == "complete" && list["cacheScope"] == "private", "{list}");
    ensure!(list["ttlMs"].as_u64().is_some_and(|ms| ms > 0), "{list}");
    let call = json!({ "name": "file_list", "arguments": { "path": "/shared" }, "_meta": meta(json!({})) });
    let listed = server.ask("tools/call", call)?["result"].clone();
    ensure!(listed["resultType"] == "complete" && listed["isError"] == false, "{listed}");
    text(&listed)?;
    server.end()
}

#[test]
fn a_version_that_nobody_knows_is_refused_with_those_that_are() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::launch(&home)?;
    let mut unknown = meta(json!({}));
    unknown["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    for method in ["server/discover", "tools/list"] {
        let answer = server.ask(method, json!({ "_meta": unknown }))?;
        ensure!(answer["error"]["code"] == -32022, "{method}: {answer}");
        let supported = answer["error"]["data"]["supported"].as_array().cloned().unwrap_or_default();
        ensure!(supported.contains(&STATELESS.into()), "{method}: {answer}");
    }
    let lacking = json!({ "io.modelcontextprotocol/protocolVersion": STATELESS });
    let answer = server.ask("tools/list", json!({ "_meta": lacking }))?;
    ensure!(answer["error"]["code"] == -32602, "{answer}");
    server.end()
}

#[test]
fn one_server_speaks_both_and_lists_the_same() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::launch(&home)?;
    let list = |answer: &Value| answer["result"]["tools"].clone();
    let alone = list(&server.ask("tools/list", json!({ "_meta": meta(json!({})) }))?);
    server.initialize(SESSIONS, json!({}))?;
    let within = list(&server.ask("tools/list", json!({}))?);
    let again = list(&server.ask("tools/list", json!({ "_meta": meta(json!({})) }))?);
    ensure!(alone == within && alone == again, "{alone}\n{within}");
    server.is_well()?;
    let answer = server.ask("tools/list", json!({ "cursor": "2" }))?;
    ensure!(answer["error"]["code"] == -32602, "{answer}");
    let answer = server.ask("resources/list", json!({}))?;
    ensure!(answer["error"]["code"] == -32601, "{answer}");
    let answer = server.ask("no/such", json!({}))?;
    ensure!(answer["error"]["code"] == -32601, "{answer}");
    server.end()
}
