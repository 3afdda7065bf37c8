//! Calls that write very many files: what their policy says, and whole.

use super::{answered, contents, refused};
use serde_json::json;
use support::home::Home;

/// The attacker where it may write below its path, with these limits.
fn below(profile: &str, limits: &str) -> Home {
    let policy = "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\n\
                  path = { path = \"write-below\" }\nbytes = \"value\"\n";
    let policy = format!("{policy}[limits]\ndeadline = \"120s\"\n{limits}");
    Home::new().tool("hostile", profile, "hostile", &policy)
}

fn many(count: u32) -> [String; 3] {
    ["behaviour=make_many".to_owned(), "path=/shared/many".to_owned(), format!("bytes={count}")]
}

#[test]
fn a_call_changes_so_much_by_default_and_as_its_policy_says() {
    for (limits, most) in [("", 16), ("changes = 3", 3), ("changes = 0", 0)] {
        let home = below("file-read-write", limits);
        let arguments = many(most + 1);
        let says =
            format!("one call may make {most} changes; make the rest in another call, or raise changes");
        refused(&home, &arguments.each_ref().map(String::as_str), "quota_exceeded", &says);
        assert_eq!(contents(&home).len(), 3, "the mounts alone");
        if most > 0 {
            assert_eq!(answered(&home, &many(most).each_ref().map(String::as_str)), json!({ "made": most }));
        }
    }
}

#[test]
fn a_call_that_may_writes_thousands_of_files() {
    let home = below("file-read-write", "changes = 10000");
    let made: u32 = 1050;
    assert_eq!(answered(&home, &many(made).each_ref().map(String::as_str)), json!({ "made": made }));
    for n in 0..made {
        let file = home.host(&format!("/shared/many/{:03}/{n}", n / 100));
        assert_eq!(std::fs::read(file).expect("published"), format!("file {n}").as_bytes());
    }
    let records = home.audit();
    let [intent, outcome] = &records[records.len() - 2..] else { panic!("two records") };
    assert_eq!((&intent["event"], &outcome["event"]), (&json!("intent"), &json!("outcome")));
    assert_eq!(intent["files"].as_array().map(Vec::len), Some(made as usize));
    assert_eq!((&intent["files"], &intent["seq"]), (&outcome["files"], &outcome["intent"]));
    let verified = home.run(&["audit", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
