//! `cofferdam audit`: checking, reading and signing what was recorded.

mod replay;
mod show;
mod sign;
#[cfg(test)]
mod tests;
mod verify;

use super::{Exit, Output};
use crate::config::Config;
use cofferdam_warden::audit::LogSelection;
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
    Sign(sign::SignArguments),
    /// Makes an ed25519 key to sign heads with, and prints its public half
    #[command(after_help = sign::KEYGEN_EXAMPLE)]
    Keygen(sign::KeygenArguments),
}

/// Checks a whole log, told as JSON to `out`.
pub(super) fn check(active: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    verify::check(active, out)
}

/// Shows the newest records of a log.
pub(super) fn newest(active: &Path, last: u64, output: Output, out: &mut dyn Write) -> anyhow::Result<Exit> {
    show::run(active, &show::Arguments::newest(last, output), out, &mut io::sink())
}

pub(super) fn run(config: &Config, command: Command) -> anyhow::Result<Exit> {
    let active = crate::gateway::audit_file(config);
    if let Command::Replay(arguments) = &command {
        return replay::run(config, &active, arguments, &mut io::stdout().lock());
    }
    let key = config.audit.sign_key_file.as_deref();
    run_on(&active, key, command, &mut io::stdout().lock(), &mut io::stderr())
}

/// Runs the command on the log with this active file; results go to `out`, remarks to `notices`.
fn run_on(
    active: &Path,
    key: Option<&Path>,
    command: Command,
    out: &mut dyn Write,
    notices: &mut dyn Write,
) -> anyhow::Result<Exit> {
    match command {
        Command::Verify(arguments) => verify::run(active, &arguments, out),
        Command::Show(arguments) => show::run(active, &arguments, out, notices),
        // It needs more than the log.
        Command::Replay(_) => Ok(Exit::Usage),
        Command::Sign(arguments) => sign::sign(active, key, &arguments, out),
        Command::Keygen(arguments) => sign::keygen(&arguments, out),
    }
}

/// What is read: the configured log, the log in a folder, or files.
enum Named {
    Log(PathBuf),
    Files(Vec<PathBuf>),
}

impl Named {
    fn new(active: &Path, given: &[PathBuf]) -> Self {
        match given {
            [] => Self::Log(active.to_owned()),
            [folder] if folder.is_dir() => {
                Self::Log(folder.join(active.file_name().unwrap_or("audit.jsonl".as_ref())))
            }
            files => Self::Files(files.to_vec()),
        }
    }

    fn source(&self) -> LogSelection<'_> {
        match self {
            Self::Log(active) => LogSelection::Log(active),
            Self::Files(files) => LogSelection::Files(files),
        }
    }

    /// A file in the folder of the first of them.
    fn sibling_path(&self, name: &str) -> PathBuf {
        match self {
            Self::Log(active) => active.with_file_name(name),
            Self::Files(files) => files.first().map_or(name.into(), |file| file.with_file_name(name)),
        }
    }
}

fn line(out: &mut dyn Write, text: impl std::fmt::Display) -> io::Result<()> {
    writeln!(out, "{text}")
}
