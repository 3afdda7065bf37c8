//! `cofferdam confine-check`, hidden: confines this process and tries one thing, for `doctor` and the tests.
//!
//! It prints two lines of JSON: what is in force, and what became of the try. A try may end it by a signal.

use super::Exit;
use crate::confine::Confined;
use crate::confine::trial::{self, Scene, Trial};
use anyhow::{Context, bail};
use clap::ValueEnum;
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// How to confine the process
    #[arg(value_enum)]
    who: Who,
    /// The row of the table
    trial: String,
    /// A folder that a scene was prepared in
    #[arg(long, value_name = "DIR")]
    scene: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Who {
    Gateway,
    CallWorker,
    CompileWorker,
}

impl From<Who> for Confined {
    fn from(who: Who) -> Self {
        match who {
            Who::Gateway => Self::Gateway,
            Who::CallWorker => Self::CallWorker,
            Who::CompileWorker => Self::CompileWorker,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let who = arguments.who.into();
    let Some(trial) = find(who, &arguments.trial) else { bail!("no such trial: {}", arguments.trial) };
    let scene = Scene::open(&arguments.scene, who).context("cannot open the scene")?;
    let report = scene.confine(who)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", serde_json::to_string(&report)?)?;
    let outcome = scene.attempt(&trial);
    writeln!(out, "{}", serde_json::to_string(&outcome)?)?;
    Ok(if outcome.is(trial.expected) { Exit::Done } else { Exit::ProblemFound })
}

fn find(who: Confined, name: &str) -> Option<Trial> {
    trial::table(who).into_iter().find(|trial| trial.name == name)
}
