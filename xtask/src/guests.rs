//! What guests in other languages are made with, and ripgrep as a component, all pinned and
//! installed into `target/tools` once. A test that misses one skips itself and says so; in CI that
//! is a failure.

use crate::setup::{cargo_install, npm_packages, python_client, zig_python};
use crate::steps::{Step, root};
use std::process::Command;

/// What makes bindings for C; `tool new --lang c` names the same version.
const BINDINGS_VERSION: &str = "0.63.0";
/// The command that the tests and the benchmarks run as a tool, and beside it.
const RIPGREP_VERSION: &str = "15.2.0";

/// Installs them all. Downloads: 17 MB from PyPI for Python, 35 MB from npm for JavaScript, 77 MB
/// from PyPI (Zig) for C; the two crates take a minute or two of a quiet machine.
pub(crate) fn install(step: Step) {
    python_client("componentize", step);
    npm_packages("componentize", step);
    for installed in [zig_python(step).map(drop), bindings(step), ripgrep(step)] {
        if let Err(why) = installed {
            println!("    {why}; the tests that need it will be skipped");
        }
    }
}

fn bindings(step: Step) -> Result<(), String> {
    let missing = missing("wit-bindgen", "wit-bindgen-cli", BINDINGS_VERSION);
    let Some(mut install) = missing else { return Ok(()) };
    install.args(["--no-default-features", "--features", "c"]);
    // It runs for a moment.
    install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    step("install wit-bindgen-cli (once, a minute or two)", &mut install)
}

/// As `docs/writing-a-tool.md` has it, by plain cargo.
fn ripgrep(step: Step) -> Result<(), String> {
    let Some(mut install) = missing("ripgrep", "ripgrep", RIPGREP_VERSION) else { return Ok(()) };
    install.args(["--target", "wasm32-wasip2", "--no-default-features"]);
    step("install ripgrep as a component (once, a minute or two)", &mut install)
}

/// The same version for this machine, to compare with.
pub(crate) fn native_ripgrep(step: Step) -> Result<(), String> {
    let missing = missing("ripgrep-native", "ripgrep", RIPGREP_VERSION);
    missing.map_or(Ok(()), |mut install| step("install ripgrep (once, a minute or two)", &mut install))
}

/// `cargo install` of this version of a crate into a folder of `target/tools`, unless it is there.
fn missing(folder: &str, name: &str, version: &str) -> Option<Command> {
    let to = root().join("target/tools").join(folder);
    let kept = std::fs::read_to_string(to.join(".crates.toml")).unwrap_or_default();
    let is_there = kept.contains(&format!("\"{name} {version} "));
    (!is_there).then(|| cargo_install(&to, name, version))
}
