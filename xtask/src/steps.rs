//! Runs commands one after the other, each announced and timed, and stops at the first that fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ lies in the repository").to_owned()
}

/// The cargo that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command, its output passed through.
pub(crate) fn step(what: &str, command: &mut Command) -> Result<(), String> {
    println!("\n==> {what}");
    let started = Instant::now();
    let status =
        command.status().map_err(|e| format!("{what}: cannot start {:?}: {e}", command.get_program()))?;
    let seconds = started.elapsed().as_secs();
    if status.success() {
        println!("    {what}: done in {seconds} s");
        Ok(())
    } else {
        Err(format!("{what} failed ({status}) after {seconds} s: {command:?}"))
    }
}

/// What a command prints; none when it does not start or fails.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
