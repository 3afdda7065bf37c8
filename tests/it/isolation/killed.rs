//! A worker that dies, or does not end, during a call: the call says so, nothing was changed, and
//! the next one runs in another worker.

use crate::sandbox::chat::Chat;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};
use support::home::Home;

/// The workers of a gateway.
fn workers(gateway: u32) -> BTreeSet<i32> {
    let tasks = fs::read_dir(format!("/proc/{gateway}/task")).expect("it runs");
    let children = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids: Vec<String> = children.collect();
    pids.join(" ").split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
}

fn signal(pids: &BTreeSet<i32>, signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(*pid)) {
        // One that was not needed any more may have ended.
        let _ = kill_process(pid, signal);
    }
}

/// Waits until this is so.
fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "{what}: not so after a minute");
        std::thread::yield_now();
    }
}

/// Waits until the gateway holds a staged file: the guest is in the middle of its call.
fn wait_for_staging(gateway: u32) {
    wait_until("the guest stages", || {
        let handles = fs::read_dir(format!("/proc/{gateway}/fd")).expect("it runs");
        let mut links = handles.flatten().filter_map(|handle| fs::read_link(handle.path()).ok());
        links.any(|link| link.to_string_lossy().contains("/shared/#"))
    });
}

fn hostile(deadline: &str) -> Home {
    let home = Home::new().hostile(&format!("memory = \"16 MiB\"\ndeadline = \"{deadline}\""));
    fs::create_dir_all(home.host("/shared")).expect("writable");
    fs::write(home.host("/shared/a"), "old").expect("writable");
    home
}

/// What holds whatever became of the worker.
fn unchanged(home: &Home, chat: &mut Chat, gone: &BTreeSet<i32>, code: &str) {
    assert_eq!(fs::read_to_string(home.host("/shared/a")).expect("there"), "old");
    assert!(home.leftovers().is_empty());
    let outcome = home.audit().pop().expect("a record");
    assert_eq!((&outcome["event"], &outcome["code"]), (&"outcome".into(), &code.into()), "{outcome}");
    // Of those that were killed, the ones that were idle are found out when they are needed.
    wait_until("the worker is gone", || !gone.is_subset(&workers(chat.id())));
    let said = chat.say("/hostile behaviour=stage_create path=/shared/next");
    assert!(said.starts_with(r#"{"bytes":31,"#), "{said}");
    fs::remove_file(home.host("/shared/next")).expect("published");
}

#[test]
fn a_worker_that_is_killed_in_a_call_changes_nothing() {
    let home = hostile("60s");
    let mut chat = Chat::start(&home);
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    for behaviour in ["spin_mid_write", "stage_then_spin"] {
        for by in [Signal::KILL, Signal::SYS, Signal::ABORT] {
            chat.begin(&format!("/hostile behaviour={behaviour} path=/shared/a"));
            wait_for_staging(chat.id());
            let running = workers(chat.id());
            signal(&running, by);
            let said = chat.answer();
            assert!(said.starts_with("trapped: the tool's sandbox process died"), "{said}");
            assert!(said.contains("nothing was changed"), "{said}");
            unchanged(&home, &mut chat, &running, "trapped");
        }
    }
    chat.end();
}

#[test]
fn a_worker_that_died_between_calls_is_not_asked() {
    let home = hostile("60s");
    let mut chat = Chat::start(&home);
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    let idle = workers(chat.id());
    assert!(!idle.is_empty());
    signal(&idle, Signal::KILL);
    wait_until("they are dead", || {
        let state = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        idle.iter().all(|pid| state(pid).is_empty() || state(pid).contains(") Z "))
    });
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    chat.end();
}

#[test]
fn a_worker_that_stands_still_is_killed_at_its_deadline() {
    let home = hostile("1s");
    let mut chat = Chat::start(&home);
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    chat.begin("/hostile behaviour=stage_then_spin path=/shared/a");
    wait_for_staging(chat.id());
    let running = workers(chat.id());
    // It does not run any more, so it cannot end by itself.
    signal(&running, Signal::STOP);
    let said = chat.answer();
    assert!(said.starts_with("timed_out: "), "{said}");
    // Those that were idle stand still too, and nobody has a reason to kill them yet.
    signal(&running, Signal::CONT);
    assert_eq!(fs::read_to_string(home.host("/shared/a")).expect("there"), "old");
    assert!(home.leftovers().is_empty());
    wait_until("the worker is gone", || !running.is_subset(&workers(chat.id())));
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    chat.end();
}
