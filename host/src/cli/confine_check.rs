//! `cofferdam confine-check`, hidden: confines this process and tries things, for `doctor` and the
//! tests.
//!
//! It prints lines of JSON: what is in force, then what became of each try. A try may end it by a
//! signal.

use super::Exit;
use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use cofferdam_confine::ConfinementMode;
use cofferdam_confine::trial::{self, Trial, TrialFolder};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
    let scene = TrialFolder::open(&arguments.scene, who).context("cannot open the scene")?;
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
    let report = scene.confine(who)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", serde_json::to_string(&report)?)?;
    let mut exit = Exit::Done;
    for trial in trials {
        let outcome = scene.attempt(&trial);
        writeln!(out, "{}", serde_json::to_string(&outcome)?)?;
        if !outcome.is(trial.expected) {
            exit = Exit::ProblemFound;
        }
    }
    Ok(exit)
}

fn find(who: ConfinementMode, name: &str) -> anyhow::Result<Trial> {
    let row = trial::table(who).into_iter().find(|trial| trial.name == name);
    row.ok_or_else(|| anyhow::anyhow!("no such trial: {name}"))
}
