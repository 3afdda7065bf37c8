//! `cargo xtask test`: every check that CI makes, format first, the rest beside the tests.

use crate::steps::{beside, cargo, root, step, target_dir};
use crate::{demo, guests, setup};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn run() -> Result<(), String> {
    setup::test_tools();
    setup::guest_target()?;
    step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    for guests in ["guest-tools", "tests/guests", "fuzz", "host/worker"] {
        step(&format!("format of {guests}"), &mut in_guests(guests, &["fmt", "--all", "--check"]))?;
    }
    let built = std::thread::scope(|scope| {
        // Mostly downloads, and done before the build is.
        let tools = scope.spawn(|| {
            setup::clients(beside);
            guests::install(beside);
        });
        let built = demo::run().and_then(|()| {
            step("build the tests", &mut cargo(&["test", "--locked", "--workspace", "--no-run"]))
        });
        built.and(tools.join().map_err(|_| "installing the guests' tools panicked".to_owned()))
    });
    built?;
    // Most tests wait for processes, disks and clocks; what only needs processors runs beside them.
    let (tests, rest) = std::thread::scope(|scope| {
        let rest = scope.spawn(checks_beside);
        (tests(), rest.join())
    });
    let skipped = tests?;
    rest.map_err(|_| "the checks beside the tests panicked")??;
    println!("\nAll checks passed; {} tests were skipped.", skipped.lines().count());
    print!("{skipped}");
    Ok(())
}

/// Installs into `target/tools` what some tests need and cargo does not bring: for who runs them by
/// `check` or by cargo.
pub(crate) fn tools() -> Result<(), String> {
    setup::test_tools();
    setup::clients(step);
    setup::guest_target()?;
    guests::install(step);
    Ok(())
}

/// Runs every test of the workspace; those that were skipped, and why.
fn tests() -> Result<String, String> {
    let skipped = skipped_tests();
    // Of an earlier run.
    let _ = std::fs::remove_file(&skipped);
    // Every failure of a run is told, not only that of the first program.
    let mut tests = cargo(&["test", "--locked", "--workspace", "--no-fail-fast"]);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        tests.env("RUST_TEST_THREADS", (2 * processors).to_string());
    }
    step("tests", &mut tests)?;
    Ok(std::fs::read_to_string(skipped).unwrap_or_default())
}

/// Lints, documents, dependency rules, and the guests' unit tests. What uses the target folder of
/// the tests comes last: cargo locks it while it compiles, and the tests have begun by then.
fn checks_beside() -> Result<(), String> {
    beside(
        "unit tests of the guests' pure parts",
        &mut in_guests("guest-tools", &["test", "--locked", "--all"]),
    )?;
    // As the gateway's build script builds it, so that wasmtime is there already: `cargo clippy`
    // would check it anew, which takes minutes of processor time.
    ensure_lints_are_found()?;
    let mut worker = in_worker(&["test", "--release", "--locked"]);
    worker.envs([("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"), DENIED]);
    beside("clippy and unit tests of the worker", &mut worker)?;
    // What the tests alone use counts as used there. Cargo tells again what it told when it built.
    let built = in_worker(&["build", "--release", "--locked"]).output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() || said.contains("generated") {
        return Err(format!("the worker is built with warnings:\n{said}"));
    }
    // By the profile that they are built with: what their macros are made of is there already.
    const LINT: &str = "clippy --release --locked --all --target wasm32-wasip2 -- -D warnings";
    for guests in ["guest-tools", "tests/guests"] {
        let lint: Vec<&str> = LINT.split(' ').collect();
        beside(&format!("clippy of {guests}"), &mut in_guests(guests, &lint))?;
    }
    let lint = ["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
    beside("clippy", &mut cargo(&lint))?;
    // With the profiles of the workspace, so that what it depends on was checked just now. Only
    // libFuzzer itself is left out, which takes a minute to compile and nothing here links.
    let profiles = root().join("Cargo.toml");
    let mut fuzz = cargo(&["clippy", "--locked", "--all-targets", "--config"]);
    fuzz.arg(profiles).args(["--", "-D", "warnings"]);
    fuzz.current_dir(root().join("fuzz")).env("CARGO_TARGET_DIR", target_dir());
    beside("clippy of fuzz", fuzz.env("CUSTOM_LIBFUZZER_PATH", "/not/linked/libfuzzer.a"))?;
    let mut docs = cargo(&["doc", "--locked", "--workspace", "--no-deps", "--document-private-items"]);
    beside("docs", docs.env("RUSTDOCFLAGS", "-D warnings"))?;
    let deny = setup::cargo_deny()?;
    for dir in [root(), root().join("guest-tools"), root().join("fuzz"), root().join("host/worker")] {
        dependency_rules(&dir, &deny)?;
    }
    Ok(())
}

/// As `cargo clippy -- -D warnings` says it to the compiler that lints.
const DENIED: (&str, &str) = ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings");

/// Refuses a compiler that would let a lint pass.
fn ensure_lints_are_found() -> Result<(), String> {
    let source = target_dir().join("lint.rs");
    let linted = || {
        std::fs::write(
            &source,
            "pub fn is_it(it: bool) -> bool { if it == true { true } else { false } }\n",
        )?;
        let mut lint = Command::new("clippy-driver");
        lint.args(["rustc", "--crate-type", "lib", "--emit", "metadata", "-o"]);
        lint.arg(source.with_extension("rmeta")).arg(&source).envs([DENIED]).output()
    };
    let said = linted().map_err(|error| format!("cannot run clippy-driver: {error}"))?;
    let found = String::from_utf8_lossy(&said.stderr).contains("clippy::bool-comparison");
    if said.status.success() || !found {
        return Err(format!("clippy-driver denies no lint: {}", String::from_utf8_lossy(&said.stderr)));
    }
    Ok(())
}

/// Where tests that miss something say so, beside the program.
fn skipped_tests() -> PathBuf {
    target_dir().join("debug/skipped-tests.txt")
}

/// Bans, licences and sources; known vulnerabilities only where their database can be reached.
fn dependency_rules(dir: &Path, deny: &Path) -> Result<(), String> {
    // Those of other systems too: the rules look at every dependency in the lock file.
    beside("fetch every dependency", cargo(&["fetch", "--locked", "--quiet"]).current_dir(dir))?;
    let check = |arguments: &[&str]| {
        let mut command = Command::new(deny);
        command.current_dir(dir).args(arguments).arg("--config").arg(root().join("deny.toml")).arg("check");
        command
    };
    let what = format!("dependency rules of {}", dir.display());
    beside(&what, check(&["--offline"]).args(["bans", "licenses", "sources"]))?;
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

pub(crate) fn in_guests(folder: &str, arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    // One target folder for all guests, shared with the host's build script.
    command.current_dir(root().join(folder)).env("CARGO_TARGET_DIR", target_dir().join("guests"));
    command
}

pub(crate) fn in_worker(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.current_dir(root().join("host/worker")).env("CARGO_TARGET_DIR", target_dir().join("worker"));
    command
}

/// The benchmarks, in release mode; `rest` goes to the benchmark program.
pub(crate) fn bench(rest: &[&str]) -> Result<(), String> {
    setup::guest_target()?;
    let (bench, rest) = match rest {
        ["mcp", rest @ ..] => {
            setup::mcp_clients(step);
            guests::install(step);
            if let Err(why) = guests::native_ripgrep(step) {
                println!("    {why}; there is nothing to compare ripgrep with");
            }
            ("mcp", rest)
        }
        rest => ("figures", rest),
    };
    let mut arguments = vec!["bench", "--locked", "-p", "cofferdam", "--bench", bench, "--"];
    arguments.extend(rest);
    step("build the gateway (release)", &mut cargo(&["build", "--locked", "--release", "-p", "cofferdam"]))?;
    step("benchmarks", &mut cargo(&arguments))
}
