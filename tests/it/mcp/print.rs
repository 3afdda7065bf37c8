//! `mcp --print CLIENT`: what is pasted starts this gateway from any folder.

use super::world::Server;
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::process::Command;
use support::home::Home;

#[test]
fn what_is_printed_is_what_each_client_reads_and_starts_this_gateway() -> anyhow::Result<()> {
    let home = Home::new();
    std::fs::create_dir_all(home.dir().join("agent/shared"))?;
    std::fs::write(home.dir().join("agent/shared/here.txt"), "x")?;
    for (client, key, file) in [
        ("claude-desktop", "mcpServers", "claude_desktop_config.json"),
        ("vscode", "servers", ".vscode/mcp.json"),
        ("cursor", "mcpServers", "~/.cursor/mcp.json"),
        ("zed", "context_servers", "settings.json"),
    ] {
        let mut command = home.command(&["mcp", "--workspace", "agent", "--print", client]);
        let ran: support::home::Ran = command.current_dir(home.dir()).output()?.into();
        ensure!(ran.code == Some(0) && ran.stderr.contains(file), "{ran:?}");
        let printed: Value = serde_json::from_str(&ran.stdout)?;
        ensure!(printed.as_object().is_some_and(|all| all.keys().eq([key])), "{printed}");
        let entry = &printed[key]["cofferdam"];
        let (kind, source) = (entry["type"].as_str(), entry["source"].as_str());
        ensure!(kind == (client == "vscode").then_some("stdio"), "{printed}");
        ensure!(source == (client == "zed").then_some("custom"), "{printed}");
        // As the client starts it: from a folder of its own.
        let mut start = Command::new(entry["command"].as_str().context("a command")?);
        for word in entry["args"].as_array().context("its words")? {
            start.arg(word.as_str().context("text")?);
        }
        start.env_clear().env("HOME", home.dir()).current_dir("/");
        let mut server = Server::spawn(start)?;
        server.initialize(super::world::SESSIONS, json!({}))?;
        let listed = server.call("file_list", json!({ "path": "/shared" }))?;
        ensure!(listed["structuredContent"].to_string().contains("here.txt"), "{client}: {listed}");
        server.end()?;
    }
    let ran = home.run(&["mcp", "--print", "emacs"]);
    ensure!(ran.code == Some(2) && ran.stderr.contains("claude-desktop"), "{ran:?}");
    Ok(())
}
