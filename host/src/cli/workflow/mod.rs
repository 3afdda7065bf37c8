//! `cofferdam workflow`: looks at workflow files, and at runs that are kept.

mod check;
mod given;
mod runs;

pub(super) use check::descriptions;
pub(super) use given::{RunInput, RunSettings, redact_variables};
pub(super) use runs::{RunCommand, line, print};

use super::{Exit, Output};
use crate::config::Config;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Reads workflow files, renders what needs no results, opens local attachments; runs nothing
    Check(Box<check::Arguments>),
    /// Prints the JSON Schema of a workflow's file, for editors
    #[command(after_help = SCHEMA_EXAMPLE)]
    Schema,
    /// Draws a workflow as a Mermaid flow chart
    #[command(after_help = GRAPH_EXAMPLE)]
    Graph {
        /// The workflow
        file: PathBuf,
    },
    /// Tells which runs are kept, the latest first
    #[command(after_help = LIST)]
    List(Output),
    /// Tells how far a run is
    #[command(after_help = SHOW)]
    Show(RunCommand),
    /// Goes on with a run that was cut off or failed, from its first task that is not done
    #[command(after_help = RESUME)]
    Resume {
        #[command(flatten)]
        one: RunCommand,
        /// Approve each of its calls that its policy wants a person to; without it the terminal is
        /// asked, and without one such a call is refused
        #[arg(long)]
        approve: bool,
    },
    /// Ends a run; the task that it is at is stopped
    #[command(after_help = CANCEL)]
    Cancel(RunCommand),
}

const RESUME: &str = "What is done is not done again. Exit codes: 0 done; 1 failed, \
cancelled, interrupted, or no such run; 2 configuration; 4 it waits for a person, and `cofferdam serve` goes on with it.\nExample: cofferdam workflow resume publish-18c2f1d3a4b5c6d7-1a2b --json | jq .state";
const LIST: &str = "A run is running, waiting (for a person, or for `cofferdam serve` to go on with it), interrupted (resume it), done, failed or cancelled. The latest 200 are listed.\n\
Example: cofferdam workflow list --json | jq -r '.runs[] | select(.state == \"interrupted\").run'";
const SHOW: &str = "Exit codes: 0 told; 1 no such run; 2 configuration, or a store of another release.\nExample: cofferdam workflow show publish-18c2f1d3a4b5c6d7-1a2b --json | jq .tasks";
const CANCEL: &str = "Exit codes: 0 cancelled; 1 it has ended already, or no such run; 2 configuration, or a store of another release.\nExample: cofferdam workflow cancel publish-18c2f1d3a4b5c6d7-1a2b";

const SCHEMA_EXAMPLE: &str = "Example: cofferdam workflow schema > workflow.schema.json, and in the first line of a workflow:\n\
    # yaml-language-server: $schema=workflow.schema.json";
const GRAPH_EXAMPLE: &str = "Example: cofferdam workflow graph publish.yaml | mmdc -i - -o publish.svg";

impl Command {
    /// What needs no configuration.
    pub(super) fn run_bare(&self) -> Option<anyhow::Result<Exit>> {
        match self {
            Self::Schema => Some(schema()),
            Self::Graph { file } => Some(graph(file)),
            _ => None,
        }
    }
}

pub(super) fn run(config: &Config, command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(arguments) => check::run(config, arguments),
        Command::Schema => schema(),
        Command::Graph { file } => graph(file),
        Command::List(output) => runs::list(config, *output),
        Command::Show(one) => runs::show(config, one),
        Command::Resume { one, approve } => super::run::resume(config, one, *approve),
        Command::Cancel(one) => runs::cancel(config, one),
    }
}

fn graph(file: &Path) -> anyhow::Result<Exit> {
    let loaded = crate::workflows::load(file)?;
    write!(crate::cli::stdout(), "{}", cofferdam_workflow::mermaid(&loaded.workflow))?;
    Ok(Exit::Done)
}

fn schema() -> anyhow::Result<Exit> {
    let schema = serde_json::to_string_pretty(&cofferdam_workflow::schema())?;
    writeln!(crate::cli::stdout(), "{schema}")?;
    Ok(Exit::Done)
}
