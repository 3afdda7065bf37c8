//! Appending: the chain it makes, and what it refuses.

use super::*;
use crate::audit::{LINE_BYTES_MAX, NESTING_MAX};
use cofferdam_core::audit::sha256_hex;
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::thread;
use std::time::Duration;

#[test]
fn each_record_holds_the_hash_of_the_line_before() {
    let fixture = Fixture::with(3);
    let mut prev = GENESIS.to_owned();
    for (seq, line) in (1_u64..).zip(fixture.lines()) {
        let line = line.strip_suffix(b"\n").expect("a newline");
        let value: Value = serde_json::from_slice(line).expect("JSON");
        assert_eq!((&value["v"], &value["seq"], &value["prev"]), (&json!(1), &json!(seq), &json!(prev)));
        let time = value["time"].as_str().expect("a time");
        assert!(time.len() == "2026-01-02T03:04:05.678Z".len() && time.ends_with('Z'), "{time}");
        prev = sha256_hex(line);
    }
    let head = Head { seq: 3, sha256: prev };
    assert_eq!(fixture.log().head(), head);
    assert_eq!(fixture.sound().head, head);
    assert_eq!(fixture.sound().intents_open, 1);
}

#[test]
fn a_new_log_is_private_and_empty() {
    let fixture = Fixture::new();
    assert_eq!(fixture.log().head(), Head::genesis());
    let mode = fs::metadata(fixture.path()).expect("exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!((fixture.sound().records, fixture.sound().head), (0, Head::genesis()));
}

#[test]
fn only_a_regular_file_is_opened() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path()).expect("makes a directory");
    assert!(matches!(AuditLog::open(&fixture.path()), Err(AuditError::Open { .. })));
    assert!(matches!(verify(&fixture.path(), None), Err(AuditError::NotAFile { .. })));

    let fixture = Fixture::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, fixture.path(), rustix::fs::FileType::Fifo, mode, 0)
        .expect("makes a FIFO");
    assert!(matches!(AuditLog::open(&fixture.path()), Err(AuditError::NotAFile { .. })));
    assert!(matches!(verify(&fixture.path(), None), Err(AuditError::NotAFile { .. })));

    let fixture = Fixture::new();
    symlink("/dev/null", fixture.path()).expect("links");
    assert!(matches!(AuditLog::open(&fixture.path()), Err(AuditError::Open { .. })));
}

#[test]
fn several_handles_and_threads_keep_one_chain() {
    const THREADS: u64 = 6;
    const EACH: u64 = 50;
    let fixture = Fixture::new();
    let shared = fixture.log();
    thread::scope(|scope| {
        for n in 0..THREADS {
            let (shared, path) = (&shared, fixture.path());
            scope.spawn(move || {
                let own = AuditLog::open(&path).expect("opens");
                let log = if n % 2 == 0 { shared } else { &own };
                for i in 0..EACH {
                    let durability = if i % 10 == 0 { Durability::Synced } else { Durability::Buffered };
                    log.append(outcome(None), durability).expect("appends");
                }
            });
        }
    });
    assert_eq!(fixture.sound().records, THREADS * EACH);
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_no_trace() {
    let fixture = Fixture::with(1);
    let (log, before) = (fixture.log(), fixture.bytes());
    let mut long = settled(None);
    long.facts.arguments = json!({ "text": "x".repeat(LINE_BYTES_MAX) });
    let refused = log.append(AuditEvent::Outcome(long), Durability::Synced);
    assert!(matches!(refused, Err(AuditError::TooLong { .. })));

    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let mut deep = settled(None);
    deep.facts.arguments = nested(NESTING_MAX + 1);
    let refused = log.append(AuditEvent::Outcome(deep.clone()), Durability::Synced);
    assert!(matches!(refused, Err(AuditError::TooDeep)));
    assert_eq!(fixture.bytes(), before);

    deep.facts.arguments = nested(NESTING_MAX);
    assert_eq!(log.append(AuditEvent::Outcome(deep), Durability::Synced).expect("appends"), 2);
    assert_eq!(fixture.sound().records, 2);
}

#[test]
fn the_longest_line_is_kept_and_found_again() {
    let fixture = Fixture::with(1);
    let mut long = settled(None);
    long.reason = Some(String::new());
    fixture.log().append(AuditEvent::Outcome(long.clone()), Durability::Buffered).expect("appends");
    let empty = fixture.lines()[1].len() - 1;
    for (room, fits) in [(LINE_BYTES_MAX - empty, true), (LINE_BYTES_MAX - empty + 1, false)] {
        long.reason = Some("x".repeat(room));
        let appended = fixture.log().append(AuditEvent::Outcome(long.clone()), Durability::Buffered);
        assert_eq!(appended.is_ok(), fits);
    }
    assert_eq!(fixture.append(), 4);
    assert_eq!(fixture.sound().records, 4);
}

#[test]
fn a_full_disk_is_an_error_and_changes_nothing() {
    let fixture = Fixture::new();
    let full = OpenOptions::new().read(true).append(true).open("/dev/full").expect("opens");
    let log = AuditLog::from_file(full, &fixture.path(), Duration::ZERO).expect("opens");
    for _ in 0..2 {
        assert!(matches!(log.append(intent(1), Durability::Synced), Err(AuditError::Write(_))));
        assert_eq!(log.head(), Head::genesis());
    }
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_and_changes_nothing() {
    let fixture = Fixture::with(2);
    let before = fixture.bytes();
    let file = File::open(fixture.path()).expect("opens");
    let log = AuditLog::from_file(file, &fixture.path(), Duration::ZERO).expect("opens");
    assert!(matches!(log.append(intent(1), Durability::Synced), Err(AuditError::Write(_))));
    assert_eq!(fixture.bytes(), before);
    assert_eq!(fixture.append(), 3);
    assert_eq!(fixture.sound().records, 3);
}

#[test]
fn nothing_is_appended_after_an_unconfirmed_record() {
    let fixture = Fixture::new();
    // Accepts every write, and cannot synchronize.
    let null = OpenOptions::new().read(true).append(true).open("/dev/null").expect("opens");
    let log = AuditLog::from_file(null, &fixture.path(), Duration::ZERO).expect("opens");
    assert!(matches!(log.append(intent(1), Durability::Synced), Err(AuditError::Sync(_))));
    assert!(matches!(log.append(intent(1), Durability::Synced), Err(AuditError::Unconfirmed)));
    assert!(matches!(log.append(intent(1), Durability::Buffered), Err(AuditError::Unconfirmed)));
}

#[test]
fn a_deleted_log_is_not_written_into_the_void() {
    let fixture = Fixture::with(1);
    let log = fixture.log();
    fs::remove_file(fixture.path()).expect("removes");
    assert!(matches!(log.append(intent(1), Durability::Buffered), Err(AuditError::Deleted)));
}

#[test]
fn another_holder_is_waited_for_only_so_long() {
    let fixture = Fixture::with(1);
    let file = OpenOptions::new().read(true).append(true).open(fixture.path()).expect("opens");
    let log = AuditLog::from_file(file, &fixture.path(), Duration::from_millis(5)).expect("opens");
    let holder = File::open(fixture.path()).expect("opens");
    holder.lock().expect("locks");
    assert!(matches!(log.append(intent(1), Durability::Buffered), Err(AuditError::Busy { .. })));
    holder.unlock().expect("unlocks");
    assert_eq!(log.append(intent(1), Durability::Buffered).expect("appends"), 2);
}
