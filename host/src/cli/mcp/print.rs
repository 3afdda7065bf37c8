//! `mcp --print`: what to paste into a client's configuration, so that it starts this very program
//! with this very configuration, from any folder.

use super::Exit;
use crate::config::Config;
use anyhow::Context;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// A client whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Client {
    ClaudeDesktop,
    Vscode,
    Cursor,
    Zed,
}

pub(super) fn run(config: &Config, client: Client) -> anyhow::Result<Exit> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let lines = lines(client, &text(&program)?, &words(config)?);
    super::super::tell(&format!("paste this into {}", client.file()));
    writeln!(crate::cli::stdout(), "{lines:#}")?;
    Ok(Exit::Done)
}

impl Client {
    /// Where its configuration is, as its documentation says.
    fn file(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude_desktop_config.json (Settings, Developer, Edit Config)",
            Self::Vscode => ".vscode/mcp.json of the folder, or MCP: Open User Configuration",
            Self::Cursor => "~/.cursor/mcp.json, or .cursor/mcp.json of the folder",
            Self::Zed => "settings.json (zed: open settings)",
        }
    }
}

/// The words of the command, with absolute paths.
fn words(config: &Config) -> anyhow::Result<Vec<String>> {
    let mut words = vec!["mcp".to_owned()];
    if let Some(file) = &config.file {
        words.extend(["--config".to_owned(), text(file)?]);
    }
    words.extend(["--workspace".to_owned(), text(&config.workspace.root)?]);
    Ok(words)
}

fn text(path: &Path) -> anyhow::Result<String> {
    let path = std::path::absolute(path)?;
    let text = path.to_str().with_context(|| format!("{} is not UTF-8 text", path.display()))?;
    Ok(text.to_owned())
}

fn lines(client: Client, program: &str, words: &[String]) -> Value {
    match client {
        Client::ClaudeDesktop | Client::Cursor => {
            json!({ "mcpServers": { "cofferdam": { "command": program, "args": words } } })
        }
        Client::Vscode => {
            json!({ "servers": { "cofferdam": { "type": "stdio", "command": program, "args": words } } })
        }
        Client::Zed => {
            json!({ "context_servers": { "cofferdam": { "source": "custom", "command": program, "args": words, "env": {} } } })
        }
    }
}
