//! `cargo xtask fuzz TARGET [SECONDS]`: libFuzzer on a target, starting from the committed corpus.
//!
//! What it finds in new inputs stays in `target/fuzz-found`; the committed corpus is changed by
//! people.

use crate::setup;
use crate::steps::{root, step};
use std::path::Path;
use std::process::Command;

/// How long a target is searched when nobody says.
const SECONDS: u32 = 60;

/// Searches a target.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let known = targets()?;
    let (target, seconds) = match arguments {
        [target] => (*target, SECONDS),
        [target, seconds] => {
            (*target, seconds.parse().map_err(|_| format!("{seconds:?} is no number of seconds"))?)
        }
        _ => return Err(format!("name one target: {}", known.join(", "))),
    };
    if !known.iter().any(|name| name == target) {
        return Err(format!("there is no target {target:?}; name one of {}", known.join(", ")));
    }
    let program = setup::cargo_fuzz()?;
    let found = root().join("target/fuzz-found").join(target);
    std::fs::create_dir_all(&found).map_err(|e| format!("{}: {e}", found.display()))?;
    step(&format!("fuzz {target} for {seconds} s"), &mut search(&program, target, &found, seconds))
}

fn search(program: &Path, target: &str, found: &Path, seconds: u32) -> Command {
    let mut command = Command::new(program);
    // The instrumentation is that of the stable compiler, which wants to be asked; sanitizers are
    // not, and the checks are safe code.
    command
        .current_dir(root())
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", root().join("target/fuzz"));
    command.args(["fuzz", "run", "--sanitizer", "none"]);
    command.arg(target).arg(found).arg(root().join("fuzz/corpus").join(target)).arg("--");
    command.args([
        &format!("-max_total_time={seconds}"),
        "-max_len=16384",
        "-timeout=10",
        "-print_final_stats=1",
    ]);
    command
}

/// The targets' names, in order.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let name = |entry: std::fs::DirEntry| Some(entry.path().file_stem()?.to_str()?.to_owned());
    let mut names: Vec<_> = entries.filter_map(|entry| name(entry.ok()?)).collect();
    names.sort();
    Ok(names)
}
