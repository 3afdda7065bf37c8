//! `cargo xtask check [CRATE]...`: the fast loop. Format, clippy and the tests of what differs from
//! the last commit; `cargo xtask test` is the whole of it.
//!
//! A crate's dependents are linted, which shows that they still compile; their tests are the
//! gate's. Of the integration tests those run that changed, and those that read the sources.

use crate::steps::{output_of, root, step};
use crate::test::{in_guests, in_worker};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Workspaces of their own.
const APART: [&str; 4] = ["fuzz", "guest-tools", "host/worker", "tests/guests"];
/// The crate of the integration tests.
const TESTS: &str = "cofferdam-tests";

/// A crate of the workspace.
struct Crate {
    name: String,
    /// Below the repository.
    folder: String,
    /// The crates that its manifest names.
    below: BTreeSet<String>,
}

/// Checks what differs from the last commit, or these crates.
pub(crate) fn run(named: &[&str]) -> Result<(), String> {
    let crates = crates()?;
    let files = changed_files()?;
    let changed: BTreeSet<&str> = if named.is_empty() {
        files.iter().filter_map(|file| owner(&crates, file)).collect()
    } else {
        named.iter().map(|name| find(&crates, name)).collect::<Result<_, _>>()?
    };
    let apart: Vec<&str> = match named {
        [] => APART.into_iter().filter(|folder| files.iter().any(|file| is_below(file, folder))).collect(),
        _ => Vec::new(),
    };
    if changed.is_empty() && apart.is_empty() && !files.iter().any(|file| file.ends_with(".md")) {
        println!("Nothing differs from the last commit; name a crate to check it all the same.");
        return Ok(());
    }
    step("format", &mut fast(&["fmt", "--all", "--check"]))?;
    for folder in apart {
        workspace_apart(folder)?;
    }
    if !changed.is_empty() {
        in_workspace(&crates, &changed, &files)?;
    }
    let rules = ["test", "--locked", "-p", TESTS, "--test", "it", "--", "architecture"];
    step("rules of the sources and documents", &mut fast(&rules))
}

fn in_workspace(crates: &[Crate], changed: &BTreeSet<&str>, files: &[String]) -> Result<(), String> {
    let with_dependents = dependents(crates, changed);
    println!("\nchanged: {}", list(changed));
    let mut lint = fast(&["clippy", "--locked", "--all-targets"]);
    lint.args(with_dependents.iter().flat_map(|name| ["-p", name])).args(["--", "-D", "warnings"]);
    step(&format!("clippy of {}", list(&with_dependents)), &mut lint)?;
    let units: BTreeSet<&str> = changed.iter().copied().filter(|name| *name != TESTS).collect();
    if !units.is_empty() {
        let mut tests = fast(&["test", "--locked"]);
        tests.args(units.iter().flat_map(|name| ["-p", name]));
        // The benchmarks of the program are no tests of it.
        let targets: &[&str] = if units.contains("cofferdam") { &["--lib", "--bins"] } else { &[] };
        step(&format!("unit tests of {}", list(&units)), tests.args(targets))?;
    }
    let rooms: BTreeSet<String> = files.iter().filter_map(|file| room(file)).collect();
    if changed.contains(TESTS) && !rooms.is_empty() {
        step("the program that they start", &mut fast(&["build", "--locked", "-p", "cofferdam"]))?;
        let mut tests = fast(&["test", "--locked", "-p", TESTS, "--test", "it", "--"]);
        step("integration tests that changed", tests.args(&rooms))?;
    }
    Ok(())
}

fn workspace_apart(folder: &str) -> Result<(), String> {
    step(&format!("format of {folder}"), &mut in_guests(folder, &["fmt", "--all", "--check"]))?;
    match folder {
        "host/worker" => {
            let lint = ["clippy", "--release", "--locked", "--all-targets", "--", "-D", "warnings"];
            step("clippy of the worker", &mut in_worker(&lint))?;
            step("unit tests of the worker", &mut in_worker(&["test", "--release", "--locked"]))
        }
        // Of libFuzzer's targets `cargo xtask test` has the lints; their checks are a crate.
        "fuzz" => Ok(()),
        guests => {
            let lint = ["clippy", "--locked", "--all", "--target", "wasm32-wasip2", "--", "-D", "warnings"];
            step(&format!("clippy of {guests}"), &mut in_guests(guests, &lint))
        }
    }
}

/// Cargo as everybody calls it: what was built in part is gone on with.
fn fast(arguments: &[&str]) -> Command {
    let mut command = crate::steps::cargo(arguments);
    command.env_remove("CARGO_INCREMENTAL");
    command
}

/// Tracked files that differ from the last commit, and new ones.
fn changed_files() -> Result<Vec<String>, String> {
    let root = root();
    let root = root.to_str().ok_or("the repository's path is no text")?;
    let git = |arguments: &[&str]| {
        let arguments = [&["-C", root], arguments].concat();
        output_of("git", &arguments).ok_or_else(|| format!("git {} fails", arguments.join(" ")))
    };
    let changed = git(&["diff", "--name-only", "HEAD"])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).map(str::to_owned).collect())
}

fn crates() -> Result<Vec<Crate>, String> {
    let read = |path: &str| fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"));
    let workspace = read("Cargo.toml")?;
    let members = workspace.split_once("members = [").and_then(|(_, rest)| rest.split_once(']'));
    let members = members.ok_or("Cargo.toml lists no members")?.0;
    let folders = members.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
    let one = |folder: &str| {
        let manifest = read(&format!("{folder}/Cargo.toml"))?;
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let name = name.ok_or_else(|| format!("{folder}/Cargo.toml names no package"))?.to_owned();
        let words = manifest.lines().filter_map(|line| line.split([' ', '.', '=']).next());
        let below = words.filter(|word| word.starts_with("cofferdam")).map(str::to_owned).collect();
        Ok(Crate { name, folder: folder.to_owned(), below })
    };
    folders.map(one).collect()
}

/// The crate that a file belongs to; none of documents and of workspaces apart.
fn owner<'a>(crates: &'a [Crate], file: &str) -> Option<&'a str> {
    if file.ends_with(".md")
        || APART.iter().any(|folder| is_below(file, folder)) && !is_below(file, "fuzz/checks")
    {
        return None;
    }
    let found = crates.iter().filter(|one| is_below(file, &one.folder));
    found.max_by_key(|one| one.folder.len()).map(|one| one.name.as_str())
}

fn find<'a>(crates: &'a [Crate], named: &str) -> Result<&'a str, String> {
    let is_it = |one: &&Crate| one.name == named || one.name.strip_prefix("cofferdam-") == Some(named);
    let known = || crates.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = crates.iter().find(is_it).map(|one| one.name.as_str());
    found.ok_or_else(|| format!("there is no crate {named:?}; name one of {}", known()))
}

/// These crates and all that are built of them.
fn dependents<'a>(crates: &'a [Crate], changed: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let mut all = changed.clone();
    loop {
        let uses = |one: &&Crate| one.below.iter().any(|name| all.contains(name.as_str()));
        let more: Vec<&str> = crates.iter().filter(uses).map(|one| one.name.as_str()).collect();
        let before = all.len();
        all.extend(more);
        if all.len() == before {
            return all;
        }
    }
}

/// The module of the integration tests that a file is, or belongs to where it only helps others.
fn room(file: &str) -> Option<String> {
    let path = file.strip_prefix("tests/it/")?.strip_suffix(".rs")?;
    (path != "main").then(|| format!("{}::", path.trim_end_matches("/mod").replace('/', "::")))
}

fn is_below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn list(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}
