//! What a fresh machine lacks: the guests' target, and the tools that some tests need.

use crate::steps::{Step, beside, output_of, step};
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-wasip2";

/// Adds the guests' target if it is missing, and says so.
pub(crate) fn guest_target() -> Result<(), String> {
    if has_target() {
        return Ok(());
    }
    println!("The {TARGET} target is missing; adding it with rustup.");
    step("rustup target add", Command::new("rustup").args(["target", "add", TARGET]))?;
    if has_target() {
        Ok(())
    } else {
        Err(format!("{TARGET} is still missing; run: rustup target add {TARGET}"))
    }
}

fn has_target() -> bool {
    let libdir = output_of("rustc", &["--print", "target-libdir", "--target", TARGET]);
    libdir.is_some_and(|dir| Path::new(dir.trim()).exists())
}

/// Installs what some tests need from Debian, where that is possible. A test that misses
/// something skips itself and says so; in CI that is a failure.
pub(crate) fn test_tools() {
    let wanted = [
        ("strace", &["--version"][..], "strace"),
        ("systemd-analyze", &["--version"], "systemd"),
        ("npm", &["--version"], "npm"),
        // Debian keeps what makes an environment apart from Python.
        ("python3", &["-c", "import ensurepip, venv"], "python3-venv"),
    ];
    for (program, asked, package) in wanted {
        if output_of(program, asked).is_some() {
            continue;
        }
        println!("{program} ({package}) is missing; trying apt-get install {package}.");
        let installed =
            step("apt-get update", Command::new("apt-get").args(["update", "-qq"])).and_then(|()| {
                step("apt-get install", Command::new("apt-get").args(["install", "-y", "-qq", package]))
            });
        if let Err(why) = installed {
            println!("    {why}; the tests that need {program} will be skipped");
        }
    }
}

/// Installs the model's server that nobody here wrote, as its lock file pins it, into `target/tools/aimock` once.
/// Without npm or the registry its test skips itself and says so; in CI that is a failure.
pub(crate) fn aimock() {
    let (from, to) =
        (crate::steps::root().join("tests/aimock"), crate::steps::root().join("target/tools/aimock"));
    if to.join("node_modules/@copilotkit/aimock/dist/cli.js").exists() {
        return;
    }
    let files = ["package.json", "package-lock.json"];
    let copied = std::fs::create_dir_all(&to)
        .and_then(|()| files.iter().try_for_each(|f| std::fs::copy(from.join(f), to.join(f)).map(drop)));
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]).current_dir(&to);
    let installed =
        copied.map_err(|e| e.to_string()).and_then(|()| step("npm ci of aimock (once)", &mut npm));
    if let Err(why) = installed {
        println!("    {why}; the tests that need it will be skipped");
    }
}

/// Installs the Telegram client that nobody here wrote, as its list pins it, into `target/tools/aiogram` once.
/// Without Python or the registry its test skips itself and says so; in CI that is a failure.
pub(crate) fn aiogram() {
    let (from, to) =
        (crate::steps::root().join("tests/aiogram"), crate::steps::root().join("target/tools/aiogram"));
    let (python, whole) = (to.join("bin/python"), to.join("installed.txt"));
    let list = from.join("requirements.txt");
    // The list that is installed: another one is another installation.
    let wanted = std::fs::read(&list).unwrap_or_default();
    if std::fs::read(&whole).is_ok_and(|installed| installed == wanted) {
        return;
    }
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&to);
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]);
    pip.args(["--no-deps", "--only-binary", ":all:", "--requirement"]).arg(&list);
    let installed = step("python3 -m venv for aiogram (once)", &mut venv)
        .and_then(|()| step("pip install of aiogram (once)", &mut pip))
        .and_then(|()| std::fs::write(&whole, wanted).map_err(|e| e.to_string()));
    if let Err(why) = installed {
        // Half an installation would fail the test that it is there for.
        let _ = std::fs::remove_dir_all(&to);
        println!("    {why}; the tests that need it will be skipped");
    }
}

/// `cargo deny`, installed into `target/tools` once.
pub(crate) fn cargo_deny() -> Result<PathBuf, String> {
    tool("cargo-deny", DENY_VERSION, beside)
}

/// `cargo fuzz`, installed into `target/tools` once.
pub(crate) fn cargo_fuzz() -> Result<PathBuf, String> {
    tool("cargo-fuzz", FUZZ_VERSION, step)
}

fn tool(name: &str, version: &str, step: Step) -> Result<PathBuf, String> {
    if output_of(name, &["--version"]).is_some() {
        return Ok(name.into());
    }
    let tools = crate::steps::root().join("target/tools");
    let program = tools.join("bin").join(name);
    if !program.exists() {
        let root = tools.display().to_string();
        let arguments = ["install", "--locked", "--quiet", "--root", &root, name, "--version", version];
        // A profile of its own keeps the one-time build short; it is run for seconds.
        let mut install = crate::steps::cargo(&arguments);
        install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0").env("CARGO_PROFILE_RELEASE_LTO", "off");
        install.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        step(&format!("install {name} (once, a few minutes)"), &mut install)?;
    }
    Ok(program)
}

const DENY_VERSION: &str = "0.20.2";
const FUZZ_VERSION: &str = "0.13.2";
