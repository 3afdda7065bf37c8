//! `kill -9` before every system call by which a call changes anything: the file is the old one,
//! the new one or absent, never a part; the next start clears up and settles what the audit left
//! open.

use super::check::{verified, works};
use super::scenario::{Scenario, scenario};
use super::tracer::{self, Seen};
use serde_json::Value;
use std::fs;
use support::home::Home;

/// What changes something on disk; before anything else a kill finds the same state.
const CHANGES: &[&str] = &[
    "openat",
    "pwrite64",
    "copy_file_range",
    "fallocate",
    "write",
    "fsync",
    "fdatasync",
    "fchmod",
    "linkat",
    "renameat",
    "renameat2",
    "mkdirat",
    "unlinkat",
    "ftruncate",
];

fn killed_everywhere(name: &str) {
    if !tracer::available(&format!("files::crash::{name}")) {
        return;
    }
    let scenario = scenario(name);
    let base = scenario.base();
    let mut points = scenario.seen(&base);
    points.retain(|seen| CHANGES.contains(&&*seen.name) && !scenario.lacks(&seen.name));
    assert!(points.len() >= 8, "{points:#?}");
    let (mut old, mut new, mut left) = (0, 0, 0);
    for point in &points {
        let home = scenario.home();
        let mut met = base.clone();
        met.push(point.meets("signal=KILL"));
        let ran = tracer::run(&home, &scenario.call(&home), &met).ran;
        assert_eq!(ran.code, None, "{name} survived at {point:?}: {ran:?}");
        let there = scenario.is_new(&home);
        *(if there { &mut new } else { &mut old }) += 1;
        left += home.leftovers().len();
        settles(&home, &scenario, there, point);
    }
    assert!(old > 0 && new > 0, "{name}: {old} times old, {new} times new");
    // A file that never has a name but its own leaves none; the others were swept.
    assert_eq!(left > 0, name != "a_new_file", "{name}: {left} temporary names were left");
}

/// The audit is sound at once, and the next start settles what is open, as it is on disk.
fn settles(home: &Home, scenario: &Scenario, there: bool, point: &Seen) {
    let open = verified(home)["intents_open"].as_u64().expect("a number");
    assert!(open == 1 || !there, "published without an intent at {point:?}");
    let lines = home.audit().len();
    works(home);
    let settled: Vec<Value> =
        home.audit()[lines..].iter().filter(|r| r["reconciled"] == true).cloned().collect();
    assert_eq!(settled.len() as u64, open, "at {point:?}");
    if let [outcome] = &settled[..] {
        let told = (&outcome["files"][0]["path"], &outcome["code"]);
        let expected = if there {
            (&Value::from(scenario.path), &Value::Null)
        } else {
            (&Value::Null, &"cancelled".into())
        };
        assert_eq!(told, expected, "at {point:?}");
    }
    assert_eq!(scenario.is_new(home), there, "settling changed the file at {point:?}");
    let names = fs::read_dir(home.host("/shared")).expect("there").count();
    assert!(names <= 1, "{names} names are in the folder after {point:?}");
}

#[test]
fn a_new_file() {
    killed_everywhere("a_new_file");
}

#[test]
fn a_replaced_file() {
    killed_everywhere("a_replaced_file");
}

#[test]
fn a_new_file_staged_under_a_name() {
    killed_everywhere("a_new_file_staged_under_a_name");
}

#[test]
fn a_replaced_file_staged_under_a_name() {
    killed_everywhere("a_replaced_file_staged_under_a_name");
}

#[test]
fn what_settling_finds_is_on_disk_before_the_audit_has_it() {
    if !tracer::available("files::crash::what_settling_finds_is_on_disk_before_the_audit_has_it") {
        return;
    }
    let scenario = scenario("a_new_file");
    let last_sync = scenario.seen(&[]).into_iter().rfind(|seen| seen.name == "fsync").expect("the folder's");
    let settling = |rule: &[&str]| {
        let home = scenario.home();
        tracer::run(&home, &scenario.call(&home), &[last_sync.meets("signal=KILL")]);
        assert!(scenario.is_new(&home));
        let (log, folder) = (home.dir().join("settling"), home.host("/shared/n1/n2"));
        let mut traced = vec!["strace", "-f", "-yy", "-s", "8192", "-o", log.to_str().expect("text")];
        traced.extend(rule);
        // Only calls on these count.
        let audit = home.state().join("audit.jsonl");
        traced.extend(["-P", folder.to_str().expect("text"), "-P", audit.to_str().expect("text")]);
        let ran = home.command_under(&traced, &["call", "file_read", "path=/shared/a"]).output();
        ran.expect("strace starts");
        let settled = home.audit().into_iter().find(|r| r["reconciled"] == true).expect("settled");
        assert_eq!(settled["files"][0]["path"], scenario.path, "{settled}");
        (fs::read_to_string(log).expect("a log"), settled["code"].clone())
    };
    let (log, code) = settling(&["-e", "trace=fsync,write"]);
    assert_eq!(code, Value::Null);
    let at = |call: &str, part: &str| {
        log.lines().position(|line| line.contains(call) && line.contains(part)).expect("it happened")
    };
    assert!(at(" fsync(", "/shared/n1/n2>") < at(" write(", "reconciled"), "{log}");

    let (_, code) = settling(&["-e", "trace=fsync", "-e", "inject=fsync:error=EIO"]);
    assert_eq!(code, "durability_unknown");
}

#[test]
fn settling_itself() {
    if !tracer::available("files::crash::settling_itself") {
        return;
    }
    let scenario = scenario("a_new_file");
    let last_sync = scenario.seen(&[]).into_iter().rfind(|seen| seen.name == "fsync").expect("the folder's");
    // The outcome of the settled intent, its way to the disk, and the note of how far the log is
    // settled.
    for (last, of) in
        [("write", "audit.jsonl"), ("fdatasync", "audit.jsonl"), ("rename", "audit.checkpoint-new")]
    {
        let home = scenario.home();
        tracer::run(&home, &scenario.call(&home), &[last_sync.meets("signal=KILL")]);
        assert!(scenario.is_new(&home));
        let (rule, of) = (format!("inject={last}:signal=KILL:when=1"), home.state().join(of));
        let traced = ["strace", "-f", "-o", "/dev/null", "-e", &rule, "-P", of.to_str().expect("text")];
        let killed = home
            .command_under(&traced, &["call", "file_read", "path=/shared/a"])
            .output()
            .expect("strace starts");
        assert_eq!(killed.stdout, b"", "it was killed at {last}: {killed:?}");
        verified(&home);
        works(&home);
        let settled = home.audit().iter().filter(|r| r["reconciled"] == true && r["code"].is_null()).count();
        assert_eq!(settled, 1, "killed at {last}");
        assert!(scenario.is_new(&home));
    }
}
