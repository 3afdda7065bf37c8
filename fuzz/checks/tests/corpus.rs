//! Every target's check over its committed corpus and mutations of it, and that the parts of
//! `fuzz/` fit.

use cofferdam_checks::{CHECKS, HOST_TARGETS, corpus};
use std::collections::BTreeSet;
use std::fs;

fn check(target: &str) {
    let (_, check) = CHECKS.iter().find(|(name, _)| *name == target).expect("a check of this name");
    assert!(corpus::run(target, check) > corpus::MUTATIONS);
}

#[test]
fn addendum() {
    check("addendum");
}

#[test]
fn arguments() {
    check("arguments");
}

#[test]
fn argv() {
    check("argv");
}

#[test]
fn audit_lines() {
    check("audit_lines");
}

#[test]
fn guest_paths() {
    check("guest_paths");
}

#[test]
fn host_calls() {
    check("host_calls");
}

#[test]
fn policy_files() {
    check("policy_files");
}

#[test]
fn recipients() {
    check("recipients");
}

#[test]
fn schemas() {
    check("schemas");
}

#[test]
fn wit_values() {
    check("wit_values");
}

#[test]
fn workflow_files() {
    check("workflow_files");
}

#[test]
fn workflow_patterns() {
    check("workflow_patterns");
}

#[test]
fn workflow_templates() {
    check("workflow_templates");
}

/// The names in a folder, without an ending.
fn names(folder: &str) -> BTreeSet<String> {
    let folder = corpus::folder().join("..").join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let name = |entry: fs::DirEntry| entry.path().file_stem().expect("a name").to_string_lossy().into_owned();
    entries.map(|entry| name(entry.expect("readable"))).collect()
}

#[test]
fn every_target_has_a_check_a_corpus_and_a_program() {
    let targets: BTreeSet<String> =
        CHECKS.iter().map(|(name, _)| *name).chain(HOST_TARGETS.iter().copied()).map(str::to_owned).collect();
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("corpus"), targets);
    let manifest = fs::read_to_string(corpus::folder().join("../Cargo.toml")).expect("there");
    for target in &targets {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "fuzz/Cargo.toml lacks {target}");
    }
}

#[test]
fn corpora_stay_small() {
    let mut bytes = 0;
    for target in names("corpus") {
        let entries = corpus::entries(&target);
        assert!((1..=100).contains(&entries.len()), "{target} has {} entries", entries.len());
        bytes += entries.iter().map(|(_, entry)| entry.len()).sum::<usize>();
    }
    assert!(bytes <= 200 << 10, "{bytes} bytes; minimize with cargo fuzz cmin");
}
