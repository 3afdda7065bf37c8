//! The file of people: durable, whole, and safe to change from two processes.

use crate::people::*;
use std::os::unix::fs::PermissionsExt;

const HOUR: i64 = 3_600_000;

fn new(sender: &str, now: i64) -> NewCode {
    NewCode { channel: "telegram".into(), sender: sender.into(), name: "Eve".into(), expires_at: now + HOUR }
}

fn code(people: &People, sender: &str, now: i64) -> Option<WaitingStranger> {
    let mut edit = people.edit().expect("free");
    let code = edit.code(new(sender, now), now).expect("random numbers");
    edit.commit().expect("written");
    code
}

fn senders(people: &People) -> Vec<String> {
    people.load().expect("readable").paired.iter().map(|one| one.sender.clone()).collect()
}

#[test]
fn a_code_lets_its_person_in_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let people = People::new(dir.path());
    let first = code(&people, "7", 0).expect("a code");
    assert_eq!(code(&people, "7", 5), Some(first.clone()), "one a person");
    let other = People::new(dir.path());
    assert_eq!(senders(&other), Vec::<String>::new());
    let mut edit = other.edit().expect("free");
    let paired = edit.accept(&first.code, "cli:0", 6).expect("let in");
    assert_eq!((paired.sender.as_str(), paired.by.as_str(), paired.since), ("7", "cli:0", 6));
    assert!(matches!(edit.accept(&first.code, "cli:0", 6), Err(PeopleError::UnknownCode(_))));
    edit.commit().expect("written");
    assert_eq!(senders(&people), ["7"], "another handle sees it");
    let mode = std::fs::metadata(dir.path().join("people.json")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut edit = people.edit().expect("free");
    assert_eq!(edit.remove("8"), []);
    assert_eq!(edit.remove("7"), [paired]);
    drop(edit);
    assert_eq!(senders(&other), ["7"], "what is not committed has not happened");
    let mut edit = people.edit().expect("free");
    edit.remove("7");
    edit.commit().expect("written");
    assert_eq!(senders(&other), Vec::<String>::new());
}

#[test]
fn a_code_expires_and_so_many_wait_at_most() {
    let dir = tempfile::tempdir().expect("a folder");
    let people = People::new(dir.path());
    let first = code(&people, "1", 0).expect("a code");
    let mut edit = people.edit().expect("free");
    assert!(matches!(edit.accept(&first.code, "cli:0", HOUR), Err(PeopleError::UnknownCode(_))));
    drop(edit);
    let second = code(&people, "1", HOUR).expect("a code");
    assert_ne!(second.code, first.code);
    for n in 2..=CODES_MAX {
        assert!(code(&people, &n.to_string(), HOUR).is_some(), "{n}");
    }
    assert_eq!(code(&people, "more", HOUR), None);
    assert!(code(&people, "more", 2 * HOUR).is_some(), "room once they have expired");
    assert_eq!(people.load().expect("readable").waiting.len(), 1);
}

#[test]
fn a_code_of_a_clock_that_ran_ahead_is_none() {
    let dir = tempfile::tempdir().expect("a folder");
    let people = People::new(dir.path());
    let first = code(&people, "7", 9 * HOUR).expect("a code");
    let mut edit = people.edit().expect("free");
    assert!(matches!(edit.accept(&first.code, "cli:0", HOUR), Err(PeopleError::UnknownCode(_))));
    drop(edit);
    let second = code(&people, "7", HOUR).expect("a code");
    assert_ne!(second.code, first.code);
    assert_eq!(people.load().expect("readable").waiting, [second], "it makes room");
}

#[test]
fn so_many_are_let_in_at_most() {
    let dir = tempfile::tempdir().expect("a folder");
    let people = People::new(dir.path());
    let mut edit = people.edit().expect("free");
    for n in 0..PAIRED_MAX {
        let code = edit.code(new(&n.to_string(), 0), 0).expect("random numbers").expect("a code");
        edit.accept(&code.code, "cli:0", 0).expect("let in");
    }
    let code = edit.code(new("more", 0), 0).expect("random numbers").expect("a code");
    assert!(matches!(edit.accept(&code.code, "cli:0", 0), Err(PeopleError::TooMany)));
    assert_eq!(edit.list().paired.len(), PAIRED_MAX);
}

#[test]
fn what_cannot_be_read_lets_nobody_in_and_is_not_written_over() {
    let dir = tempfile::tempdir().expect("a folder");
    let people = People::new(dir.path());
    code(&people, "7", 0);
    let file = dir.path().join("people.json");
    for text in [
        "",
        "{",
        "[]",
        r#"{"paired":[],"waiting":[],"more":1}"#,
        r#"{"paired":[{"sender":"7"}],"waiting":[]}"#,
    ] {
        let new = dir.path().join("new");
        std::fs::write(&new, text).expect("writable");
        std::fs::rename(&new, &file).expect("writable");
        assert!(matches!(people.load(), Err(PeopleError::Foreign(..))), "{text}");
        assert!(people.edit().is_err(), "{text}");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), text);
    }
    std::fs::remove_file(&file).expect("there");
    std::os::unix::fs::symlink("/dev/null", &file).expect("a link");
    assert!(people.load().is_err(), "a link is not followed");
}

#[test]
fn who_changes_the_list_for_long_is_waited_for_only_so_long() {
    let dir = tempfile::tempdir().expect("a folder");
    let (people, other) = (People::new(dir.path()), People::new(dir.path()));
    let edit = people.edit().expect("free");
    let Err(busy) = other.edit() else { panic!("two change it") };
    assert!(matches!(busy, PeopleError::Busy(_)), "{busy}");
    assert!(busy.to_string().ends_with("for 5 s; try again"), "{busy}");
    drop(edit);
    assert!(code(&other, "7", 0).is_some());
}

#[test]
fn changes_at_the_same_time_all_count() {
    let dir = tempfile::tempdir().expect("a folder");
    std::thread::scope(|scope| {
        for n in 0..4 {
            let dir = dir.path();
            // Each with a handle of its own, as other processes have.
            scope.spawn(move || {
                for m in 0..5 {
                    code(&People::new(dir), &format!("{n}-{m}"), 0);
                }
            });
        }
    });
    assert_eq!(People::new(dir.path()).load().expect("readable").waiting.len(), 20);
}

/// Nobody waits for the other end of a FIFO.
#[test]
fn what_is_no_file_lets_in_nobody() {
    let dir = tempfile::tempdir().expect("a folder");
    let people = People::new(dir.path());
    let (file, mode) = (dir.path().join("people.json"), rustix::fs::Mode::from_raw_mode(0o600));
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, mode).expect("writable");
    assert!(matches!(people.load(), Err(PeopleError::Foreign(..))));
    assert!(matches!(people.edit(), Err(PeopleError::Foreign(..))));
}
