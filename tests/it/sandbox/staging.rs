//! `workspace-write` used as no tool should: other paths, twice, too often, under an open stream.

use super::{answered, contents, hostile, refused, unjudged};

#[test]
fn only_the_judged_path_can_be_staged() {
    let home = unjudged();
    for path in ["/shared/a", "/tmp/a", "/vault/a", "/etc/passwd", "/shared"] {
        let says = format!("{path} was not judged for writing in this call");
        refused(&home, &["behaviour=stage_other", &format!("path={path}")], "path_denied", &says);
    }
    for path in ["", "shared/a", "/shared/../vault/a", "/shared/./a", "/shared/a/", "/shared/.cofferdam-a"] {
        refused(&home, &["behaviour=stage_other", &format!("path={path}")], "path_denied", "");
    }
    let files = contents(&home).len();
    assert_eq!(files, 3, "the mounts alone");
}

#[test]
fn what_the_judge_denies_never_reaches_the_guest() {
    let home = hostile();
    for path in ["/vault/a", "/etc/passwd", "/shared", "/shared/../vault/a"] {
        refused(&home, &["behaviour=stage_other", &format!("path={path}")], "path_denied", "");
        assert_eq!(home.audit().pop().expect("a record")["verdict"], "deny", "{path}");
    }
}

#[test]
fn of_one_path_sealed_twice_the_last_is_published() {
    let home = hostile();
    let said = answered(&home, &["behaviour=stage_twice", "path=/shared/twice"]);
    assert_eq!((&said["first_sealed"], &said["second_sealed"]), (&6.into(), &7.into()));
    assert_eq!(std::fs::read(home.host("/shared/twice")).expect("published"), b"second\n");
    let outcome = home.audit().pop().expect("an outcome");
    assert_eq!(outcome["files"].as_array().map(Vec::len), Some(2), "both are told: {outcome}");
}

#[test]
fn a_call_stages_so_many_files_and_no_more() {
    let home = hostile();
    let said = answered(&home, &["behaviour=stage_many", "path=/shared/many", "bytes=16"]);
    assert_eq!((&said["sealed"], &said["error"]), (&16.into(), &serde_json::Value::Null));
    let said = answered(&home, &["behaviour=stage_many", "path=/shared/more", "bytes=1000"]);
    assert_eq!((&said["staged"], &said["error"]), (&16.into(), &"quota_exceeded".into()));
}

#[test]
fn a_body_stream_is_held_alone() {
    let home = hostile();
    let file = home.file("one.txt", b"one");
    for (behaviour, says) in [
        (
            "body_twice",
            "it asked for a second body stream of a staged file while it held the file's body stream",
        ),
        ("append_under_body", "it appended an attachment to a staged file while it held"),
        ("finish_under_body", "it sealed a staged file while it held"),
    ] {
        let arguments = [&format!("behaviour={behaviour}"), "path=/shared/a", "--attach", &file];
        refused(&home, &arguments, "trapped", says);
    }
    assert!(!home.host("/shared/a").exists());
}

#[test]
fn an_existing_file_is_not_created_again() {
    let home = hostile();
    answered(&home, &["behaviour=stage_create", "path=/shared/a"]);
    let before = contents(&home);
    refused(&home, &["behaviour=stage_create", "path=/shared/a"], "already_exists", "/shared/a exists");
    assert_eq!(contents(&home), before);
}
