//! `cofferdam audit`: checking, reading and signing what was recorded.

mod replay;
mod show;
mod sign;
#[cfg(test)]
mod tests;
mod verify;

use super::{Exit, Output};
use crate::config::Config;
use cofferdam_store::DatabaseView;
use cofferdam_warden::audit::Head;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Checks the hash chain and prints its head; exit 3 names the first bad record
    #[command(after_help = verify::EXAMPLE)]
    Verify(verify::Arguments),
    /// Shows the newest records, or those that match
    #[command(after_help = show::EXAMPLE)]
    Show(show::Arguments),
    /// Makes an audited call again, in a workspace of its own, and compares what comes of it
    #[command(after_help = replay::EXAMPLE)]
    Replay(replay::Arguments),
    /// Signs the head of a sound chain, in one line of JSON
    #[command(after_help = sign::SIGN_EXAMPLE)]
    Sign {
        /// The private key, PKCS#8 PEM [default: the configured sign_key_file]
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// Where the statement is appended [default: stdout]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Makes an ed25519 key to sign heads with, and prints its public half
    #[command(after_help = sign::KEYGEN_EXAMPLE)]
    Keygen {
        /// The file of the private key, mode 0600; the public key goes to FILE.pub. Neither may
        /// exist
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// Checks the logs of a state folder: what is told of them, as JSON, and whether all is sound.
pub(super) fn check(config: &Config) -> anyhow::Result<(Value, bool)> {
    verify::check(&config.state_dir, &told_heads(config).unwrap_or_default())
}

/// The heads that nodes have left in the database.
fn told_heads(config: &Config) -> anyhow::Result<BTreeMap<String, Head>> {
    if !config.store.is_shared() {
        return Ok(BTreeMap::new());
    }
    let heads = match DatabaseView::open(&config.store.location)? {
        Some(look) => look.audit_heads()?,
        None => BTreeMap::new(),
    };
    let read = |(node, head): (String, String)| {
        let head = head.parse::<Head>().inspect_err(|error| {
            tracing::warn!(%error, node, "what the database has of a node is no head of an audit");
        });
        Some((node, head.ok()?))
    };
    Ok(heads.into_iter().filter_map(read).collect())
}

/// Shows the newest records of a log.
pub(super) fn newest(active: &Path, last: u64, output: Output, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let state_dir = active.parent().unwrap_or(active);
    show::run(state_dir, &show::Arguments::newest(last, output), out, &mut io::sink())
}

pub(super) fn run(config: &Config, command: Command) -> anyhow::Result<Exit> {
    let (active, state_dir) = (crate::gateway::audit_file(config), &config.state_dir);
    let mut out = crate::cli::stdout();
    match command {
        Command::Verify(arguments) => {
            let told = told_heads(config).unwrap_or_else(|error| {
                super::tell(&format!(
                    "what nodes have told the database of their audits is not looked at: {error:#}"
                ));
                BTreeMap::new()
            });
            verify::run(state_dir, &arguments, &told, &mut out)
        }
        Command::Show(arguments) => show::run(state_dir, &arguments, &mut out, &mut io::stderr()),
        Command::Replay(arguments) => replay::run(config, &active, &arguments, &mut out),
        Command::Sign { key, out: file } => {
            let key = key.as_deref().or(config.audit.sign_key_file.as_deref());
            sign::sign(&active, key, file.as_deref(), &mut out)
        }
        Command::Keygen { out: file } => sign::keygen(&file, &mut out),
    }
}
