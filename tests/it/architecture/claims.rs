//! `docs/threat-model.md` against the tests: every claim names tests, and they are there.

use super::{crates, root};
use std::path::{Path, PathBuf};

/// The files that a module's path may stand for.
fn files(module: &str) -> Vec<PathBuf> {
    let mut folders = vec!["tests/it".to_owned()];
    folders.extend(crates().map(|folder| folder.to_owned()));
    let mut found = files_in(&folders, module);
    // Those of a crate may be named by the crate: `store::postgres::config`.
    let (krate, rest) = module.split_once("::").unwrap_or((module, "lib"));
    found.extend(files_in(&[format!("host/{krate}/src")], rest));
    found
}

fn files_in(folders: &[String], module: &str) -> Vec<PathBuf> {
    let path = module.replace("::", "/");
    // Unit tests lie in a folder of their own: those of `audit::rotating` in
    // `audit/tests/rotating.rs`.
    let apart = path.rsplit_once('/').map(|(room, name)| format!("{room}/tests/{name}"));
    let places = folders.iter().flat_map(|folder| {
        let place = root().join(folder).join(&path);
        let apart = apart.as_ref().map(|apart| root().join(folder).join(apart).with_extension("rs"));
        let tests = ["mod.rs", "tests.rs", "tests/mod.rs"].map(|file| place.join(file));
        let beside = root().join(folder).join("tests").join(&path).with_extension("rs");
        let here = [place.with_extension("rs")].into_iter().chain(tests);
        here.chain(apart).chain([beside])
    });
    places.filter(|place| place.is_file()).collect()
}

fn has_function(files: &[PathBuf], name: &str) -> bool {
    let has = |file: &Path| {
        let text = std::fs::read_to_string(file).expect("UTF-8");
        text.contains(&format!("fn {name}("))
    };
    files.iter().any(|file| has(file))
}

/// The claims of a document: the last cell of each row of its table of claims.
fn claims(document: &str) -> Vec<&str> {
    let rows = document.split("| Claim | Shown by |").nth(1).expect("a table of claims").lines();
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').next_back().expect("a cell")).collect()
}

#[test]
fn every_claim_names_tests_that_are_there() {
    let document = std::fs::read_to_string(root().join("docs/threat-model.md")).expect("there");
    let claims = claims(&document);
    assert!(claims.len() > 40, "{} claims: this test reads the table wrongly", claims.len());
    let mut missing = Vec::new();
    for claim in claims {
        let names: Vec<&str> =
            claim.split('`').skip(1).step_by(2).filter(|name| !name.contains(['/', ' '])).collect();
        if names.is_empty() {
            missing.push(format!("no test shows {claim}"));
        }
        let mut module = String::new();
        for name in names {
            let whole = name.trim_end_matches("::*");
            // A module, a test in one, or another test of the module that was named before.
            let within = whole.rsplit_once("::").unwrap_or((&module, whole));
            let there = !files(whole).is_empty() || has_function(&files(within.0), within.1);
            if !there {
                missing.push(format!("{name} of {claim}"));
            }
            module = if whole.contains("::") && has_function(&files(within.0), within.1) {
                within.0.to_owned()
            } else {
                module
            };
        }
    }
    assert!(
        missing.is_empty(),
        "docs/threat-model.md names tests that are not there:\n{}",
        missing.join("\n")
    );
}
