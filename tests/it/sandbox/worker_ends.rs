//! The end of a worker, whoever brings it: a call that is stuck, a kill, its number of calls, the
//! gateway's own end. Nothing is published by it, and the next call works.

use super::chat::Chat;
use super::{begun, hostile, put};
use rustix::process::{Pid, Signal, kill_process};
use support::home::{Home, Ran};
use support::workers;

fn send(process: u32, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(process).expect("small")).expect("not 0");
    kill_process(process, signal).expect("ours to signal");
}

fn works(chat: &mut Chat) {
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
}

/// Waits until a call has staged a file, which then has no name yet.
fn until_staged(home: &Home, chat: &Chat) {
    let mount = home.host("/shared").to_string_lossy().into_owned();
    workers::until("a staged file", || {
        let open = workers::descriptors(chat.id());
        open.values().any(|open| open.target.starts_with(&mount) && open.target.ends_with("(deleted)"))
    });
}

#[test]
fn a_worker_that_does_not_move_any_more_is_killed_at_the_deadline() {
    let home = Home::new().hostile("deadline = \"1s\"");
    let mut chat = Chat::start(&home);
    works(&mut chat);
    for _ in 0..2 {
        // Stopped, it can neither look at its clock nor be interrupted, as if in a call that never
        // returns.
        let stopped = workers::of(chat.id());
        for worker in &stopped {
            send(*worker, Signal::STOP);
        }
        let said = chat.say("/hostile behaviour=stage_other path=/shared/late");
        assert_eq!(said, "timed_out: the tool did not finish within 1s; nothing was changed");
        workers::until("one of them to be gone", || stopped.iter().any(|worker| workers::is_gone(*worker)));
        for worker in stopped.iter().filter(|worker| !workers::is_gone(**worker)) {
            send(*worker, Signal::CONT);
        }
        works(&mut chat);
    }
    chat.end();
    assert!(!home.host("/shared/late").exists() && home.leftovers().is_empty());
}

#[test]
fn a_worker_whose_guest_waits_at_the_deadline_ends_the_call_and_lives_on() {
    let home = Home::new().hostile("deadline = \"1s\"");
    let mut chat = Chat::start(&home);
    works(&mut chat);
    // Again and again: on a busy machine a worker may not be heard in time, and is killed.
    let lived_on = (0..20).any(|_| {
        let before = workers::of(chat.id());
        let said = chat.say("/hostile behaviour=sleep");
        assert_eq!(said, "timed_out: the tool did not finish within 1s; nothing was changed");
        works(&mut chat);
        workers::of(chat.id()) == before
    });
    assert!(lived_on);
    chat.end();
}

#[test]
fn a_worker_that_is_killed_in_a_call_leaves_nothing() {
    let home = hostile();
    put(&home, "/shared/late", b"as it was");
    let mut chat = Chat::start(&home);
    for behaviour in ["spin_mid_write", "stage_then_spin"] {
        works(&mut chat);
        chat.begin(&format!("/hostile behaviour={behaviour} path=/shared/late"));
        until_staged(&home, &chat);
        let killed = workers::of(chat.id());
        for worker in &killed {
            send(*worker, Signal::KILL);
        }
        let said = chat.answer();
        let died = "trapped: the tool's sandbox process died (killed by signal 9) and nothing was changed";
        assert_eq!(said, died, "{behaviour}");
        works(&mut chat);
        assert!(workers::of(chat.id()).iter().all(|worker| !killed.contains(worker)));
    }
    chat.end();
    assert_eq!(std::fs::read(home.host("/shared/late")).expect("there"), b"as it was");
    assert!(home.leftovers().is_empty());
    let codes: Vec<_> = home.audit().into_iter().map(|record| record["code"].clone()).collect();
    assert_eq!(codes.iter().filter(|code| **code == "trapped").count(), 2, "{codes:?}");
}

/// What the guest left open is let go before the call ends: said afterwards, it would be a word
/// that nobody asked for.
#[test]
fn a_worker_whose_guest_forgot_a_file_serves_on() {
    let home = hostile();
    let mut chat = Chat::start(&home);
    works(&mut chat);
    let first = workers::of(chat.id());
    for _ in 0..20 {
        let said = chat.say("/hostile behaviour=stage_forget path=/shared/half");
        assert_eq!(said, r#"{"finished":false}"#);
        works(&mut chat);
        assert_eq!(workers::of(chat.id()), first);
    }
    chat.end();
    assert!(!home.host("/shared/half").exists() && home.leftovers().is_empty());
}

#[test]
fn idle_workers_that_are_gone_are_not_missed() {
    let home = hostile();
    let mut chat = Chat::start(&home);
    works(&mut chat);
    for worker in workers::of(chat.id()) {
        send(worker, Signal::KILL);
        workers::until("its end", || workers::is_gone(worker));
    }
    works(&mut chat);
    chat.end();
}

#[test]
fn a_worker_is_replaced_after_a_thousand_calls() {
    let home = hostile();
    let mut chat = Chat::start(&home);
    works(&mut chat);
    let first = workers::of(chat.id());
    for _ in 1..999 {
        works(&mut chat);
    }
    assert_eq!(workers::of(chat.id()), first, "999 calls");
    works(&mut chat);
    let is_replaced = || first.iter().any(|worker| workers::is_gone(*worker));
    workers::until("the end of the one that has run a thousand", is_replaced);
    works(&mut chat);
    let gone = first.iter().filter(|worker| workers::is_gone(**worker)).count();
    assert_eq!(gone, 1, "the one that only looks at components stays");
    chat.end();
}

#[test]
fn a_worker_that_nobody_wants_ends() {
    let home = hostile();
    let mut chat = Chat::start(&home);
    works(&mut chat);
    let all = workers::of(chat.id());
    assert!(!all.is_empty());
    workers::until("the end of those that wait", || all.iter().all(|worker| workers::is_gone(*worker)));
    works(&mut chat);
    chat.end();
}

#[test]
fn no_worker_outlives_its_gateway() {
    let home = Home::new().hostile("deadline = \"120s\"");
    for behaviour in ["ok", "spin", "sleep", "spin_mid_write path=/shared/late"] {
        let mut chat = Chat::start(&home);
        works(&mut chat);
        let before = workers::of(chat.id());
        let ticks = || before.iter().map(|worker| workers::ticks(*worker)).sum::<u64>();
        let used = ticks();
        chat.begin(&format!("/hostile behaviour={behaviour}"));
        if behaviour.starts_with("spin") {
            workers::until("a guest that spins", || ticks() > used + 5);
        }
        let all = workers::of(chat.id());
        assert!(!all.is_empty(), "{behaviour}: {all:?}");
        // Killed: it does nothing any more for its workers.
        drop(chat);
        workers::until("the end of them all", || all.iter().all(|worker| workers::is_gone(*worker)));
    }
    assert!(!home.host("/shared/late").exists());
}

#[test]
fn a_guest_sees_that_it_was_cancelled_and_ends_by_itself() {
    let home = Home::new().hostile("deadline = \"120s\"");
    let (child, mut log) = begun(home.command(&["call", "hostile", "behaviour=until_cancelled"]));
    assert!(log.any(|line| line.contains("guest: waiting")), "it runs");
    send(child.id(), Signal::INT);
    assert!(log.any(|line| line.contains("guest: let go")), "it saw");
    drop(log);
    let ran = Ran::from(child.wait_with_output().expect("ours"));
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "cancelled"), "{ran:?}");
}
