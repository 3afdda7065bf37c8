//! `cargo xtask test`: every check that CI makes, in the order that fails fastest.

use crate::setup;
use crate::steps::{cargo, root, step};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn run() -> Result<(), String> {
    setup::guest_target()?;
    setup::test_tools();
    setup::aimock();
    setup::aiogram();
    let deny = setup::cargo_deny();
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    for guests in ["guest-tools", "tests/guests", "fuzz"] {
        step(&format!("format of {guests}"), &mut in_guests(guests, &["fmt", "--all", "--check"]))?;
    }
    for guests in ["guest-tools", "tests/guests"] {
        let lint = ["clippy", "--locked", "--all", "--target", "wasm32-wasip2", "--", "-D", "warnings"];
        step(&format!("clippy of {guests}"), &mut in_guests(guests, &lint))?;
    }
    // Only libFuzzer itself is left out, which takes a minute to compile and nothing here links.
    let mut fuzz = cargo(&["clippy", "--locked", "--all-targets", "--", "-D", "warnings"]);
    fuzz.current_dir(root().join("fuzz")).env("CARGO_TARGET_DIR", root().join("target/fuzz"));
    step("clippy of fuzz", fuzz.env("CUSTOM_LIBFUZZER_PATH", "/not/linked/libfuzzer.a"))?;
    step(
        "unit tests of the guests' pure parts",
        &mut in_guests("guest-tools", &["test", "--locked", "--all"]),
    )?;
    step("build the gateway", &mut cargo(&["build", "--locked", "-p", "cofferdam"]))?;
    let skipped = skipped_tests();
    // Of an earlier run.
    let _ = std::fs::remove_file(&skipped);
    let mut tests = cargo(&["test", "--locked", "--workspace"]);
    // Most tests wait for processes, disks and clocks: two for each processor keep it busy.
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        tests.env("RUST_TEST_THREADS", (2 * processors).to_string());
    }
    step("tests", &mut tests)?;
    let lint = ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    step("clippy", &mut cargo(&lint))?;
    let mut docs = cargo(&["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
    step("docs", docs.env("RUSTDOCFLAGS", "-D warnings"))?;
    for dir in [root(), root().join("guest-tools"), root().join("fuzz")] {
        dependency_rules(&dir, &deny.clone()?)?;
    }
    let skipped = std::fs::read_to_string(skipped).unwrap_or_default();
    println!("\nAll checks passed; {} tests were skipped.", skipped.lines().count());
    print!("{skipped}");
    Ok(())
}

/// Where tests that miss something say so, beside the program.
fn skipped_tests() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join("debug/skipped-tests.txt")
}

/// Bans, licences and sources; known vulnerabilities only where their database can be reached.
fn dependency_rules(dir: &Path, deny: &Path) -> Result<(), String> {
    // Those of other systems too: the rules look at every dependency in the lock file.
    step("fetch every dependency", cargo(&["fetch", "--locked", "--quiet"]).current_dir(dir))?;
    let check = |arguments: &[&str]| {
        let mut command = Command::new(deny);
        command.current_dir(dir).args(arguments).arg("--config").arg(root().join("deny.toml")).arg("check");
        command
    };
    let what = format!("dependency rules of {}", dir.display());
    step(&what, check(&["--offline"]).args(["bans", "licenses", "sources"]))?;
    let advisories = check(&[]).arg("advisories").output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&advisories.stderr);
    if advisories.status.success() {
        println!("    advisories: none");
        Ok(())
    } else if said.contains("failed to fetch advisory database") {
        println!("    advisories: not checked, their database cannot be reached from here");
        Ok(())
    } else {
        Err(format!("advisories of {}:\n{said}", dir.display()))
    }
}

fn in_guests(folder: &str, arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    // One target folder for all guests, shared with the host's build script.
    command.current_dir(root().join(folder)).env("CARGO_TARGET_DIR", root().join("target/guests"));
    command
}

/// The benchmarks, in release mode; `rest` goes to the benchmark program.
pub(crate) fn bench(rest: &[&str]) -> Result<(), String> {
    setup::guest_target()?;
    let mut arguments = vec!["bench", "--locked", "-p", "cofferdam", "--bench", "figures", "--"];
    arguments.extend(rest);
    step("build the gateway (release)", &mut cargo(&["build", "--locked", "--release", "-p", "cofferdam"]))?;
    step("benchmarks", &mut cargo(&arguments))
}
