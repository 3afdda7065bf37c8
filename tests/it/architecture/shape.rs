//! The shape of files: what each opens with, and how long it may grow.

use super::{Source, root, sources};

/// Every Rust source of the repository that people wrote.
fn all() -> Vec<Source> {
    let folders = ["host", "guest-tools", "tests", "xtask", "fuzz", "benches"];
    folders.into_iter().filter(|folder| root().join(folder).is_dir()).flat_map(sources).collect()
}

/// Tests may be longer: they are read one at a time.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/")
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.contains("/benches/")
}

#[test]
fn every_file_opens_with_its_one_job() {
    let all = all();
    assert!(all.len() > 100, "{} files: this test looks in the wrong place", all.len());
    let mut wrong = Vec::new();
    for source in &all {
        let first = source.text.lines().next().unwrap_or_default();
        if !first.starts_with("//! ") || first.contains("being written") {
            wrong.push(source.path.as_str());
        }
    }
    assert!(wrong.is_empty(), "these do not open with `//!` and what they are for:\n{}", wrong.join("\n"));
}

/// Lines of a file, the tests that it ends with apart: one idea is told in about 150.
const LINES_MAX: usize = 400;

#[test]
fn no_file_grows_beyond_reading() {
    let length = |source: &Source| {
        let told = source.text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        told.lines().count()
    };
    let all = all();
    let long: Vec<_> = all
        .iter()
        .filter(|source| !is_test(&source.path) && length(source) > LINES_MAX)
        .map(|source| format!("{} has {} lines", source.path, length(source)))
        .collect();
    assert!(long.is_empty(), "split by ideas what has over {LINES_MAX} lines:\n{}", long.join("\n"));
}

#[test]
fn main_only_hands_over() {
    let text = std::fs::read_to_string(root().join("host/src/main.rs")).expect("there is one");
    let lines = text.lines().count();
    assert!(lines <= 40, "host/src/main.rs has {lines} lines of at most 40");
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    let home = std::env::var("HOME").unwrap_or_else(|_| "/home/nobody".into());
    let repository = root().canonicalize().expect("the repository");
    let places = [format!("{}/", repository.display()), format!("{home}/.")];
    for source in all() {
        for place in &places {
            assert!(!source.text.contains(place), "{} names {place}", source.path);
        }
    }
}
