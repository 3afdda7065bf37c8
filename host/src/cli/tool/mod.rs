//! `cofferdam tool`: for people who write tools. Nothing here touches what a gateway serves: its
//! audit, its workspace and its policies stay as they are.

mod adapt;
mod case;
mod fetch;
mod inspect;
mod languages;
mod new;
mod places;
mod printed;
mod run;
mod template;
mod test;

pub(super) use places::TrialFolders;
pub(super) use template::contract;

use super::Exit;
use crate::config::Config;
use crate::gateway::candidate::{Candidate, CandidateError};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Writes a crate for a new tool, with a policy that grants nothing and tests
    New(new::Arguments),
    /// Shows what a component is, wants and takes, and whether it loads under a policy
    Inspect(inspect::Arguments),
    /// Makes a component of a module for wasm32-wasip1
    #[command(after_help = adapt::EXAMPLE)]
    Adapt {
        /// The module, built for wasm32-wasip1
        module: PathBuf,
        /// The component to write; one that is there is replaced
        component: PathBuf,
    },
    /// Fetches components of registries by their digests, for policies that name them
    Fetch(fetch::Arguments),
    /// Makes one call of a component in the real sandbox, beside any gateway
    Run(run::Arguments),
    /// Runs a tool's cases in the real sandbox; exit 1 when one fails
    Test(test::Arguments),
}

impl Command {
    /// Runs what needs no configuration.
    pub(super) fn run_bare(&self) -> Option<anyhow::Result<Exit>> {
        match self {
            Self::New(arguments) => Some(new::run(arguments)),
            Self::Adapt { module, component } => Some(adapt::run(module, component)),
            Self::Inspect(_) | Self::Fetch(_) | Self::Run(_) | Self::Test(_) => None,
        }
    }
}

pub(super) fn run(config: &Config, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::New(arguments) => new::run(&arguments),
        Command::Adapt { module, component } => adapt::run(&module, &component),
        Command::Inspect(arguments) => inspect::run(config, &arguments),
        Command::Fetch(arguments) => fetch::run(config, &arguments),
        Command::Run(arguments) => run::run(config, arguments),
        Command::Test(arguments) => test::run(config, &arguments),
    }
}

/// The component of this file; none, and told, when it is no component, or none that any gateway
/// takes.
fn candidate(config: &Config, file: &Path) -> anyhow::Result<Option<Candidate>> {
    match Candidate::open(config, file) {
        Err(error @ CandidateError::NotTaken(..)) => {
            super::tell(&error.to_string());
            Ok(None)
        }
        opened => Ok(Some(opened?)),
    }
}
