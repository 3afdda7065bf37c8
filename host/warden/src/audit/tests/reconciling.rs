//! Open intents: which are found, who is held off meanwhile, and what the checkpoint may change.

use super::*;
use crate::audit::{LINE_BYTES_MAX, OPEN_INTENTS_MAX};
use cofferdam_core::limits::Limits;
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

fn open(fixture: &Fixture) -> Vec<u64> {
    let log = fixture.log();
    let found = log.open_intents(NOW).expect("scans");
    found.intents().map(|(seq, _)| seq).collect()
}

fn append(fixture: &Fixture, event: AuditEvent) -> u64 {
    fixture.log().append(event, Durability::Buffered).expect("appends")
}

fn checkpoint(fixture: &Fixture) -> PathBuf {
    fixture.dir.path().join("audit.checkpoint")
}

#[test]
fn intents_without_an_outcome_are_found_and_settled() {
    let fixture = Fixture::new();
    assert!(open(&fixture).is_empty());
    append(&fixture, intent(0));
    append(&fixture, outcome(Some(1)));
    let second = append(&fixture, intent(1));
    let third = append(&fixture, intent(2));
    append(&fixture, outcome(None));
    assert_eq!(open(&fixture), [second, third]);

    let log = fixture.log();
    let mut found = log.open_intents(NOW).expect("scans");
    let (_, kept) = found.intents().next().expect("one is open");
    assert_eq!(kept.facts.call.as_str(), "telegram-829110/1");
    assert_eq!(found.settle(second, settled(None)).expect("settles"), 6);
    found.finish().expect("finishes");
    assert!(!checkpoint(&fixture).exists(), "one is still open");
    assert_eq!(open(&fixture), [third]);

    let mut found = log.open_intents(NOW).expect("scans");
    found.settle(third, settled(None)).expect("settles");
    found.finish().expect("finishes");
    assert!(checkpoint(&fixture).exists());
    assert!(open(&fixture).is_empty());
    let last = String::from_utf8(fixture.lines()[6].clone()).expect("UTF-8");
    assert!(last.contains(r#""intent":4,"reconciled":true"#), "{last}");
    assert_eq!((fixture.sound().records, fixture.sound().intents_open), (7, 0));
}

#[test]
fn an_intent_of_ten_thousand_files_is_found_and_settled() {
    let fixture = Fixture::with(2);
    let AuditEvent::Intent(mut large) = intent(1) else { panic!("an intent") };
    let file =
        |n| FileFacts { path: format!("/shared/photos/{n:090}.jpeg"), bytes: n, sha256: "ab".repeat(32) };
    large.files = (0..u64::from(Limits::CEILING.changes)).map(|n| file(n).into()).collect();
    let files = large.files.clone();
    append(&fixture, AuditEvent::Intent(large));
    append(&fixture, outcome(None));
    let log = fixture.log();
    let mut found = log.open_intents(NOW).expect("scans");
    assert_eq!(found.intents().next().expect("one is open").1.files, files);
    // As long as an outcome can be: the reason is cut, and the escapes of its characters are two
    // bytes.
    let mut outcome = settled(None);
    outcome.files = files;
    outcome.reason = Some("\"".repeat(1024));
    outcome.code = Some(cofferdam_core::tool::ErrorCode::DurabilityUnknown);
    assert_eq!(found.settle(3, outcome).expect("settles"), 5);
    found.finish().expect("finishes");
    assert!(open(&fixture).is_empty());
    assert_eq!((fixture.append(), fixture.sound().records, fixture.sound().intents_open), (6, 6, 0));
}

#[test]
fn open_intents_of_too_many_changes_are_reported_and_settled_ones_do_not_count() {
    let fixture = Fixture::new();
    append(&fixture, intent(0));
    append(&fixture, outcome(Some(1)));
    append(&fixture, intent(1));
    append(&fixture, intent(2));
    let log = fixture.log();
    let changes: usize = log.open_intents(NOW).expect("scans").intents().map(|(_, i)| i.files.len()).sum();
    assert!(changes > 0);
    assert_eq!(log.open_intents_of(NOW, changes).expect("as many as may be").intents().count(), 2);
    let refused = log.open_intents_of(NOW, changes - 1);
    assert!(matches!(refused, Err(AuditError::TooManyOpen)), "{refused:?}");
}

#[test]
fn whatever_intent_is_kept_its_outcome_is_kept_too() {
    let fixture = Fixture::with(1);
    let AuditEvent::Intent(mut large) = intent(0) else { panic!("an intent") };
    let file = |bytes| FileFacts { path: "x".repeat(bytes), bytes: 1, sha256: "ab".repeat(32) };
    let kept =
        |intent: &Intent| fixture.log().append(AuditEvent::Intent(intent.clone()), Durability::Buffered);
    large.files = vec![file(LINE_BYTES_MAX).into()];
    let Err(AuditError::TooLong { bytes, bytes_max }) = kept(&large) else { panic!("it was kept") };
    let most = LINE_BYTES_MAX - (bytes - bytes_max);
    for (bytes, fits) in [(most + 1, false), (most, true)] {
        large.files = vec![file(bytes).into()];
        assert_eq!(kept(&large).is_ok(), fits, "{bytes}");
    }
    let log = fixture.log();
    let mut found = log.open_intents(NOW).expect("scans");
    let mut outcome = settled(None);
    (outcome.facts, outcome.files) = (large.facts, large.files);
    outcome.reason = Some("\\".repeat(1024));
    outcome.code = Some(cofferdam_core::tool::ErrorCode::DurabilityUnknown);
    outcome.duration_us = u64::MAX;
    found.settle(2, outcome).expect("settles");
}

/// A log of two settled records with a checkpoint, then an open intent.
fn with_checkpoint() -> Fixture {
    let fixture = Fixture::with(2);
    fixture.log().open_intents(NOW).expect("scans").finish().expect("finishes");
    append(&fixture, intent(3));
    fixture
}

#[test]
fn the_checkpoint_spares_the_records_before_it() {
    let fixture = Fixture::with(4);
    fixture.log().open_intents(NOW).expect("scans").finish().expect("finishes");
    append(&fixture, intent(5));
    // An outcome garbled within its length: who reads there finds its intent open.
    let mut lines = fixture.lines();
    lines[1][0] = b'x';
    fixture.put_lines(&lines);
    assert_eq!(open(&fixture), [5]);
    fs::remove_file(checkpoint(&fixture)).expect("removes");
    assert_eq!(open(&fixture), [1, 5]);
}

#[test]
fn a_process_that_goes_on_notes_how_far_its_log_is_settled() {
    let fixture = Fixture::with(2);
    let log = fixture.log();
    let publishing = log.lock_publishing().expect("nobody reconciles");
    assert!(matches!(log.note_settled(NOW), Err(AuditError::Busy { .. })));
    drop(publishing);
    assert!(log.note_settled(NOW).expect("nobody publishes"));
    let noted = || fs::read_to_string(checkpoint(&fixture)).expect("reads");
    let before = noted();
    assert!(before.contains(r#""seq":2"#), "{before}");
    append(&fixture, intent(3));
    assert!(!log.note_settled(NOW).expect("nobody publishes"), "one is open");
    assert_eq!(noted(), before);
    append(&fixture, outcome(Some(3)));
    assert!(log.note_settled(NOW).expect("nobody publishes"));
    assert!(noted().contains(r#""seq":4"#), "{}", noted());
}

#[test]
fn a_checkpoint_that_the_log_does_not_bear_out_is_ignored() {
    let good = fs::read_to_string(checkpoint(&with_checkpoint())).expect("reads");
    let off = |from: &str, to: &str| {
        assert!(good.contains(from), "{good}");
        good.replace(from, to)
    };
    for text in [
        String::new(),
        "{".to_owned(),
        "\0".repeat(100),
        " ".repeat(100_000),
        off("\"seq\":2", "\"seq\":1"),
        off("\"seq\":2", "\"seq\":3"),
        off("\"offset\":", "\"offset\":1"),
        off("\"offset\":", "\"offset\":999999999"),
        off("\"offset\":", "\"more\":1,\"offset\":"),
        off("\"sha256\":\"", "\"sha256\":\"0"),
    ] {
        let fixture = with_checkpoint();
        fs::write(checkpoint(&fixture), &text).expect("writes");
        assert_eq!(open(&fixture), [3], "{text}");
    }
}

#[test]
fn a_checkpoint_of_a_longer_or_another_log_is_ignored() {
    let fixture = with_checkpoint();
    fixture.put(b"");
    assert!(open(&fixture).is_empty());
    append(&fixture, intent(0));
    append(&fixture, intent(1));
    append(&fixture, intent(2));
    assert_eq!(open(&fixture), [1, 2, 3]);
}

#[test]
fn whoever_reconciles_waits_for_publications_and_holds_them_off() {
    let fixture = Fixture::with(1);
    let file = OpenOptions::new().read(true).append(true).open(fixture.path()).expect("opens");
    let log = AuditLog::from_file(file, &fixture.path(), NOW).expect("opens");
    let other = fixture.log();
    let (one, two) =
        (log.lock_publishing().expect("publishes"), other.lock_publishing().expect("publishes as well"));
    assert!(matches!(log.open_intents(NOW), Err(AuditError::Busy { .. })));
    drop(one);
    assert!(matches!(other.open_intents(NOW), Err(AuditError::Busy { .. })));
    drop(two);
    let found = other.open_intents(NOW).expect("scans");
    assert!(matches!(log.lock_publishing(), Err(AuditError::Busy { .. })));
    assert!(matches!(log.open_intents(NOW), Err(AuditError::Busy { .. })));
    drop(found);
    let _publishing = log.lock_publishing().expect("publishes");
}

#[test]
fn an_intent_in_an_unfinished_line_counts_once_it_is_whole() {
    let fixture = Fixture::with(1);
    let bytes = fixture.bytes();
    fixture.put(&bytes[..bytes.len() - 1]);
    assert_eq!(open(&fixture), [1]);
    fixture.put(&bytes[..bytes.len() - 2]);
    assert!(open(&fixture).is_empty());
}

#[test]
fn more_open_intents_than_memory_is_meant_for_are_reported() {
    let fixture = Fixture::new();
    let log = fixture.log();
    for n in 0..OPEN_INTENTS_MAX {
        log.append(intent(n as u64), Durability::Buffered).expect("appends");
    }
    assert_eq!(log.open_intents(NOW).expect("scans").intents().count(), OPEN_INTENTS_MAX);
    log.append(intent(0), Durability::Buffered).expect("appends");
    assert!(matches!(log.open_intents(NOW), Err(AuditError::TooManyOpen)));
    assert_eq!(fixture.sound().intents_open, OPEN_INTENTS_MAX as u64 + 1);
}
