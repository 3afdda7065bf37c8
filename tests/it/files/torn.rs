//! A record of the audit that was written in part: by a process that died meanwhile, or by a disk
//! that took no more. The chain stays provable, and what was torn is named.

use super::check::{home, saves, tree, verified, works};
use super::paused::{Call, Paused};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;
use support::home::{Home, Ran};
use support::needs;

/// Whether [`call_within`] can be.
fn has_limits(test: &str) -> bool {
    needs::available(test, "prlimit", needs::program("prlimit"))
}

/// A call during which its process may not make any file longer than this.
fn call_within(home: &Home, wrapper: &[&str], file_bytes_max: u64) -> Ran {
    let arguments = json!({ "index": 0, "path": "/shared/new/a" });
    let call = Call { tool: "attachment_save", arguments, attached: vec![home.file("sent", b"abc")] };
    let paused = Paused::start_under(home, wrapper, &call);
    let mut limit = Command::new("prlimit");
    limit.arg(format!("--pid={}", paused.pid())).arg(format!("--fsize={file_bytes_max}"));
    assert!(limit.status().expect("it starts").success());
    paused.go(&call)
}

/// Over its limit a process is killed, unless it ignores the signal: then writing fails.
const IGNORING: [&str; 4] = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];

#[test]
fn killed_in_the_middle_of_a_record() {
    if !has_limits("files::torn::killed_in_the_middle_of_a_record") {
        return;
    }
    let home = home();
    works(&home);
    let audit = home.state().join("audit.jsonl");
    let (before, length) = (tree(&home.workspace()), fs::metadata(&audit).expect("there").len());
    // The kernel writes what fits of the intent and kills the process over the rest.
    let ran = call_within(&home, &[], length + 300);
    assert_eq!(ran.code, None, "{ran:?}");
    assert_eq!(tree(&home.workspace()), before);
    let report = verified(&home);
    assert_eq!((&report["torn"]["bytes"], &report["records"]), (&300.into(), &2.into()), "{report}");
    works(&home);
    assert_eq!(verified(&home)["recovered"], 1);
    saves(&home, "/shared/new/a", "overwrite=false", b"abc");
    works(&home);
}

#[test]
fn a_record_that_does_not_fit_is_taken_back() {
    if !has_limits("files::torn::a_record_that_does_not_fit_is_taken_back") {
        return;
    }
    let home = home();
    works(&home);
    let audit = home.state().join("audit.jsonl");
    let (before, text) = (tree(&home.workspace()), fs::read_to_string(&audit).expect("there"));
    let ran = call_within(&home, &IGNORING, text.len() as u64 + 300);
    assert_eq!((ran.error().as_str(), ran.code), ("internal", Some(1)), "{ran:?}");
    assert_eq!(tree(&home.workspace()), before);
    assert_eq!(fs::read_to_string(&audit).expect("there"), text);
    works(&home);
}

#[test]
fn an_outcome_that_does_not_fit_is_settled_by_the_next_start() {
    if !has_limits("files::torn::an_outcome_that_does_not_fit_is_settled_by_the_next_start") {
        return;
    }
    let home = home();
    works(&home);
    let length = fs::metadata(home.state().join("audit.jsonl")).expect("there").len();
    let ran = call_within(&home, &IGNORING, length + 1000);
    // The intent is durable and the file is there: to report a failure would be a lie.
    assert_eq!((ran.code, &ran.json()["saved"]), (Some(0), &Value::Bool(true)), "{ran:?}");
    assert_eq!(verified(&home)["intents_open"], 1);
    works(&home);
    let settled = home.audit().into_iter().find(|r| r["reconciled"] == true).expect("settled");
    assert_eq!((&settled["files"][0]["path"], &settled["code"]), (&"/shared/new/a".into(), &Value::Null));
}

#[test]
fn verify_tells_a_torn_end_from_a_changed_record() {
    let home = home();
    works(&home);
    let audit = home.state().join("audit.jsonl");
    let sound = fs::read_to_string(&audit).expect("there");
    let mut file = OpenOptions::new().append(true).open(&audit).expect("writable");
    file.write_all(&sound.as_bytes()[..100]).expect("writable");
    assert_eq!(verified(&home)["torn"]["bytes"], 100);
    // The same with its newline was written whole, so no crash explains it.
    file.write_all(b"\n").expect("writable");
    let ran = home.run(&["audit", "verify", "--json"]);
    assert_eq!((ran.code, &ran.json()["ok"]), (Some(3), &Value::Bool(false)), "{ran:?}");
    fs::write(&audit, sound.replacen("/tmp/next", "/tmp/nexT", 1)).expect("writable");
    assert_eq!(home.run(&["audit", "verify"]).code, Some(3));
    fs::write(&audit, &sound).expect("writable");
    works(&home);
}
