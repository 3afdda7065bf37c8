//! What a client is told of the tools: all that load, and what their policies say of them.

use super::world::Server;
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::home::{Home, builtin_tools};

fn tools(server: &mut Server) -> anyhow::Result<Vec<Value>> {
    let list = server.ask("tools/list", json!({}))?;
    list["result"]["tools"].as_array().cloned().with_context(|| list.to_string())
}

#[test]
fn every_builtin_has_both_schemas_and_hints_of_its_policy() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::start(&home, json!({}))?;
    let tools = tools(&mut server)?;
    let names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    ensure!(names == builtin_tools(), "{names:?}");
    let mut hints = BTreeMap::new();
    for tool in &tools {
        for schema in ["inputSchema", "outputSchema"] {
            ensure!(tool[schema]["type"] == "object", "{tool}");
            ensure!(tool[schema]["properties"].as_object().is_some_and(|some| !some.is_empty()), "{tool}");
        }
        ensure!(tool["annotations"]["openWorldHint"] == false, "{tool}");
        let hint = |name: &str| tool["annotations"][name].as_bool().context("there");
        hints.insert(tool["name"].as_str(), (hint("readOnlyHint")?, hint("destructiveHint")?));
    }
    for name in ["file_read", "file_list", "file_search", "file_info"] {
        ensure!(hints[&Some(name)] == (true, false), "{name}: {hints:?}");
    }
    for name in [
        "file_write",
        "file_write_bytes",
        "file_edit",
        "file_copy",
        "file_move",
        "file_delete",
        "attachment_save",
    ] {
        ensure!(hints[&Some(name)] == (false, true), "{name}: {hints:?}");
    }
    ensure!(hints[&Some("attachment_add")] == (false, false), "it changes no file: {hints:?}");
    server.end()
}

#[test]
fn hints_follow_the_policy_and_not_the_tool() -> anyhow::Result<()> {
    let hostile = |safety: &str, path: &str| {
        format!("safety = {safety:?}\n[arguments]\nbehaviour = \"value\"\npath = {path}\nbytes = \"value\"\n")
    };
    let hello = |safety: &str, name: &str| format!("safety = {safety:?}\n[arguments]\nname = {name}\n");
    let (write, below, read) =
        (r#"{ path = "write" }"#, r#"{ path = "write-below" }"#, r#"{ path = "read" }"#);
    for (name, guest, profile, policy, expected) in [
        ("hostile", "hostile", "file-read-write", hostile("side-effecting", write), (false, true)),
        ("hostile", "hostile", "file-read-write", hostile("privileged", below), (false, true)),
        ("hostile", "hostile", "file-read-write", hostile("side-effecting", read), (false, false)),
        ("hello", "minimal", "file-read-write", hello("side-effecting", write), (false, true)),
        ("hello", "minimal", "file-read-only", hello("read-only", "\"value\""), (true, false)),
    ] {
        let home = Home::new().tool(name, profile, guest, &policy);
        let mut server = Server::start(&home, json!({}))?;
        let tools = tools(&mut server)?;
        let tool = tools.iter().find(|tool| tool["name"] == name).context("offered")?;
        let hint = |name: &str| tool["annotations"][name].as_bool().context("there");
        let found = (hint("readOnlyHint")?, hint("destructiveHint")?);
        ensure!(found == expected, "{profile} {policy}: {found:?}");
        server.end()?;
    }
    Ok(())
}

#[test]
fn a_tool_that_does_not_load_is_not_offered_and_stderr_says_why() -> anyhow::Result<()> {
    let home = Home::new().tool("nobody", "file-read-write", "hostile", "safety = \"side-effecting\"\n");
    let mut server = Server::start(&home, json!({}))?;
    let tools = tools(&mut server)?;
    ensure!(tools.len() == builtin_tools().len() && tools.iter().all(|tool| tool["name"] != "nobody"));
    server.logs("nobody is not offered: tools/nobody.toml: nobody: the component calls itself hostile")?;
    let called = server.call("nobody", json!({}))?;
    super::world::refused(&called, "tool_unavailable")?;
    server.end()
}

#[test]
fn a_profile_that_names_hosts_opens_the_world() -> anyhow::Result<()> {
    let home = Home::new().own_policies();
    let profile = home.policies_dir().join("profiles/web-fetch.toml");
    let text = std::fs::read_to_string(&profile)?;
    std::fs::write(&profile, text.replace("hosts = []", "hosts = [\"example.com\"]"))?;
    let mut server = Server::start(&home, json!({}))?;
    let tools = tools(&mut server)?;
    let open: Vec<_> = tools.iter().filter(|tool| tool["annotations"]["openWorldHint"] == true).collect();
    ensure!(open.len() == 1 && open[0]["name"] == "web_fetch", "{open:?}");
    ensure!(open[0]["annotations"]["readOnlyHint"].is_boolean(), "{open:?}");
    server.end()
}
