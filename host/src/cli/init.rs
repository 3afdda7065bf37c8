//! `cofferdam init`: writes a commented configuration, and never over an existing file.

use super::Exit;
use anyhow::Context;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "Example: cofferdam init ~/.config/cofferdam/cofferdam.toml")]
pub(super) struct Arguments {
    /// Where to write it [default: --config, else ./cofferdam.toml]
    file: Option<PathBuf>,
}

/// What is written: every key with its default and its meaning.
const TEMPLATE: &str = include_str!("init.toml");

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> anyhow::Result<Exit> {
    let default = Path::new(crate::config::FILE_NAME);
    let file = arguments.file.as_deref().or(config).unwrap_or(default);
    let mut created = std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("cannot create {}", file.display()))?;
    created.write_all(TEMPLATE.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
    let file = file.display();
    let mut out = std::io::stdout();
    writeln!(out, "wrote {file}")?;
    writeln!(out, "Next: put your numeric Telegram id into allowed_users, then run")?;
    writeln!(out, "    TELEGRAM_BOT_TOKEN=… cofferdam serve --config {file}")?;
    Ok(Exit::Done)
}
