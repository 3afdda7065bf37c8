//! `cofferdam confine-check`, hidden: confines children of this process, each of which tries one
//! thing, for `doctor`.
//!
//! It prints lines of JSON: what is in force, then what became of each try.

use super::Exit;
use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use cofferdam_confine::ConfinementMode;
use cofferdam_confine::trial::{self, Trial, TrialFolder, TrialResult};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How a child ends; as no program does that it might become.
const AS_EXPECTED: u8 = 210;
const UNEXPECTED: u8 = 211;
const NOT_CONFINED: u8 = 212;

/// From a thread's end until the kernel shows it no more.
const THREAD_GONE_MAX: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// How to confine the process
    #[arg(value_parser = PossibleValuesParser::new(["gateway", "call-worker", "compile-worker"])
        .try_map(|word| serde_json::from_value::<ConfinementMode>(word.into())))]
    who: ConfinementMode,
    /// Rows of the table, in the order to try them
    #[arg(required = true)]
    trials: Vec<String>,
    /// A folder that a scene was prepared in
    #[arg(long, value_name = "DIR")]
    scene: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let who = arguments.who;
    let trials = arguments.trials.iter().map(|name| find(who, name)).collect::<anyhow::Result<Vec<_>>>()?;
    // Before the first further thread the package's allocator asks the system for its memory nodes,
    // by a call that a worker, which has another allocator, may not make.
    let _ = std::thread::spawn(|| drop(vec![0_u8; 64])).join();
    // One that was joined is among the process's a moment longer.
    let since = Instant::now();
    while std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1)
        && since.elapsed() < THREAD_GONE_MAX
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut exit = Exit::Done;
    for (at, trial) in trials.iter().enumerate() {
        let attempt = || match attempt(who, &arguments.scene, trial, at == 0) {
            Ok(true) => AS_EXPECTED,
            Ok(false) => UNEXPECTED,
            Err(error) => {
                super::log::say(super::Level::ERROR, &super::errors::describe_error(&error));
                NOT_CONFINED
            }
        };
        let ended = trial::run_in_child(attempt).context("cannot try it in a child")?;
        let as_expected = match u8::try_from(ended.code().unwrap_or_default()) {
            Ok(AS_EXPECTED) => true,
            Ok(UNEXPECTED) => false,
            Ok(NOT_CONFINED) => return Ok(Exit::Usage),
            // It was ended, or has become another program: the child itself has told nothing.
            _ => {
                let killed = ended.signal().map(TrialResult::Killed);
                writeln!(super::stdout(), "{}", serde_json::to_string(&killed)?)?;
                killed.is_some_and(|killed| killed.is(trial.expected))
            }
        };
        if !as_expected {
            exit = Exit::ProblemFound;
        }
    }
    Ok(exit)
}

/// Confines this process and tries one thing; tells what is in force only where `report` says so.
/// Whether what came of it is what the table expects.
fn attempt(who: ConfinementMode, scene: &Path, trial: &Trial, report: bool) -> anyhow::Result<bool> {
    let scene = TrialFolder::open(scene, who).context("cannot open the scene")?;
    let in_force = scene.confine(who)?;
    let mut out = super::stdout();
    if report {
        writeln!(out, "{}", serde_json::to_string(&in_force)?)?;
    }
    let outcome = scene.attempt(trial);
    writeln!(out, "{}", serde_json::to_string(&outcome)?)?;
    Ok(outcome.is(trial.expected))
}

fn find(who: ConfinementMode, name: &str) -> anyhow::Result<Trial> {
    let row = trial::table(who).into_iter().find(|trial| trial.name == name);
    row.ok_or_else(|| anyhow::anyhow!("no such trial: {name}"))
}
