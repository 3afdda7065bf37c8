//! Files that were staged by a call which did not succeed, or were never sealed: nobody ever sees
//! them.

use super::chat::Chat;
use super::{answered, contents, hostile, put, refused};

const NOTHING: &str = "nothing was changed";

#[test]
fn a_call_that_fails_after_staging_changes_nothing() {
    let home = hostile();
    put(&home, "/shared/old", b"old");
    let before = contents(&home);
    for path in ["path=/shared/new", "path=/shared/old", "path=/shared/deep/er/new", "path=/tmp/new"] {
        refused(&home, &["behaviour=trap_mid_write", path], "trapped", NOTHING);
        refused(&home, &["behaviour=stage_then_trap", path], "trapped", NOTHING);
        refused(&home, &["behaviour=stage_then_exit", path], "trapped", NOTHING);
        refused(&home, &["behaviour=stage_then_error", path], "write_failed", "changed its mind");
    }
    let made = |(name, _): &(String, _)| !["tmp", "vault"].contains(&name.as_str());
    assert_eq!(contents(&home).into_iter().filter(made).collect::<Vec<_>>(), before);
    assert!(
        home.audit().iter().all(|record| record["event"] != "intent"),
        "nothing was about to be published"
    );
}

#[test]
fn what_is_not_sealed_is_gone() {
    let home = hostile();
    for behaviour in ["behaviour=stage_never_finish", "behaviour=stage_forget"] {
        assert_eq!(answered(&home, &[behaviour, "path=/shared/half"])["finished"], false);
        assert!(!home.host("/shared/half").exists(), "{behaviour}");
    }
}

#[test]
fn none_of_it_comes_back_with_the_next_call_of_the_process() {
    let home = hostile();
    let mut chat = Chat::start(&home);
    for behaviour in
        ["trap_mid_write", "stage_forget", "stage_then_error", "stage_then_trap", "stage_then_exit"]
    {
        chat.say(&format!("/hostile behaviour={behaviour} path=/shared/gone"));
    }
    let saved = chat.say("/hostile behaviour=stage_create path=/shared/kept");
    assert!(saved.starts_with(r#"{"bytes":31,"#), "{saved}");
    assert!(home.host("/shared/kept").exists() && !home.host("/shared/gone").exists());
    assert!(home.leftovers().is_empty());
    chat.end();
}
