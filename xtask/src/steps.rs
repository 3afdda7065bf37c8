//! Runs commands one after the other, each announced and timed, and stops at the first that fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ lies in the repository").to_owned()
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The cargo that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What a gate builds is built once: what would make the next build shorter makes this one
    // longer.
    command.args(arguments).current_dir(root()).env("CARGO_INCREMENTAL", "0");
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

/// One of the two ways to run a command.
pub(crate) type Step = fn(&str, &mut Command) -> Result<(), String>;

/// Runs a command beside another step, with the processor time that this one leaves. What it prints
/// is shown if it fails.
pub(crate) fn beside(what: &str, command: &mut Command) -> Result<(), String> {
    let mut yielding = Command::new("nice");
    yielding.args(["-n", "19"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => yielding.env(name, value),
            None => yielding.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        yielding.current_dir(dir);
    }
    let started = Instant::now();
    let output = yielding.output().map_err(|e| format!("{what}: cannot start {yielding:?}: {e}"))?;
    let seconds = started.elapsed().as_secs();
    if output.status.success() {
        println!("\n==> beside: {what}: done in {seconds} s");
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    println!("\n==> beside: {what}\n{}", String::from_utf8_lossy(&said));
    Err(format!("{what} failed ({}) after {seconds} s: {yielding:?}", output.status))
}

/// What a command prints; none when it does not start or fails.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
