//! Components that are asked what they are: each in a process that was asked of no other, since
//! what took that over could lie about those that come after it.

use std::fs;
use support::home::{Home, Ran};
use support::needs;

/// A gateway with two tools from outside, whose code is there and of which nothing else is known.
fn unasked() -> Home {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"";
    let home = Home::new().tool("hello", "file-read-only", "minimal", policy).hostile("");
    assert_eq!(home.run(&["tools"]).code, Some(0));
    for entry in fs::read_dir(home.state().join("cache")).expect("warmed").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "said") {
            fs::remove_file(entry.path()).expect("ours");
        }
    }
    home
}

#[test]
fn no_process_is_asked_of_two_components() {
    let test = "sandbox::described::no_process_is_asked_of_two_components";
    if !needs::available(test, "root and strace", needs::root() && needs::program("strace")) {
        return;
    }
    let home = unasked();
    let log = home.dir().join("strace");
    let file = log.to_str().expect("text");
    let strace = ["strace", "-f", "-e", "trace=execve", "-o", file];
    let started = || {
        let ran = Ran::from(home.command_under(&strace, &["tools"]).output().expect("strace starts"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let log = fs::read_to_string(&log).expect("a log");
        (log.lines().filter(|line| line.contains("[\"cofferdam-worker\"]")).count(), ran)
    };
    let (asked, ran) = started();
    // What they said is known now, so none is asked again.
    let (again, same) = started();
    assert_eq!((asked, same), (again + 2, ran), "a process for each");
}
