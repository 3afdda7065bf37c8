//! How the build runs the worker program, which may be for another kind of machine than the one
//! that builds.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Names a program that runs the worker where the build machine cannot.
pub(crate) const RUNNER: &str = "COFFERDAM_EMBED_RUNNER";

/// The worker, to be run on this machine: by `runner`, if that names anything.
pub(crate) fn runnable(worker: &Path, runner: Option<OsString>) -> Command {
    let Some(runner) = runner.filter(|runner| !runner.is_empty()) else { return Command::new(worker) };
    let mut command = Command::new(runner);
    command.arg(worker);
    command
}
