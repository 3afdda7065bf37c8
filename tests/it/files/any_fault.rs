//! Every system call of a save, one at a time, answers with an input/output error. Whatever the
//! answer is, it is true: saved and there, or failed and nothing changed.

use super::check::{tree, verified, works};
use super::scenario::scenario;
use super::tracer;
use std::fs;

fn everywhere(name: &str) {
    if !tracer::available(&format!("files::any_fault::{name}")) {
        return;
    }
    let scenario = scenario(name);
    let base = scenario.base();
    for point in scenario.seen(&base).iter().filter(|seen| !scenario.lacks(&seen.name)) {
        let home = scenario.home();
        let call = scenario.call(&home);
        let before = tree(&home.workspace());
        let met: Vec<_> = base.iter().cloned().chain([point.meets("error=EIO")]).collect();
        let ran = tracer::run(&home, &call, &met).ran;
        let there = scenario.is_new(&home);
        match ran.error().as_str() {
            "" => assert!(there, "{point:?}: {ran:?}"),
            "durability_unknown" => assert!(there, "{point:?}: {ran:?}"),
            "write_failed" | "internal" => {
                assert_eq!(tree(&home.workspace()), before, "{point:?}: {ran:?}");
            }
            _ => panic!("{point:?}: {ran:?}"),
        }
        verified(&home);
        works(&home);
        assert_eq!(scenario.is_new(&home), there, "settling changed the file: {point:?}");
        let (mut intents, mut outcomes) = (Vec::new(), Vec::new());
        for record in home.audit() {
            match record["event"].as_str() {
                Some("intent") => intents.push(record["seq"].clone()),
                _ if record["intent"].is_u64() => outcomes.push(record["intent"].clone()),
                _ => {}
            }
        }
        assert_eq!(intents, outcomes, "{point:?}");
        fs::remove_file(home.host("/tmp/next")).expect("the next call's");
    }
}

#[test]
fn a_new_file() {
    everywhere("a_new_file");
}

#[test]
fn a_replaced_file() {
    everywhere("a_replaced_file");
}

#[test]
fn a_new_file_staged_under_a_name() {
    everywhere("a_new_file_staged_under_a_name");
}

#[test]
fn a_replaced_file_staged_under_a_name() {
    everywhere("a_replaced_file_staged_under_a_name");
}
