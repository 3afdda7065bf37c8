//! Open intents: which are found, who is held off meanwhile, and what the checkpoint may change.

use super::*;
use crate::audit::OPEN_INTENTS_MAX;
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

fn open(fixture: &Fixture) -> Vec<u64> {
    let log = fixture.log();
    let found = log.open_intents(NOW).expect("scans");
    found.intents().map(|(seq, _)| seq).collect()
}

fn append(fixture: &Fixture, event: Event) -> u64 {
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

/// A log of two settled records with a checkpoint, then an open intent.
fn with_checkpoint() -> Fixture {
    let fixture = Fixture::with(2);
    fixture.log().open_intents(NOW).expect("scans").finish().expect("finishes");
    append(&fixture, intent(3));
    fixture
}

#[test]
fn the_checkpoint_spares_the_records_before_it() {
    let fixture = with_checkpoint();
    // Garbled within its length, so that reading it would be seen.
    let mut bytes = fixture.bytes();
    bytes[0] = b'x';
    fixture.put(&bytes);
    let log = fixture.log();
    let found = log.open_intents(NOW).expect("scans");
    assert_eq!((found.intents().count(), found.unreadable()), (1, 0));
    drop(found);
    fs::remove_file(checkpoint(&fixture)).expect("removes");
    let found = log.open_intents(NOW).expect("scans");
    assert_eq!((found.intents().count(), found.unreadable()), (1, 1));
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
    let log = AuditLog::over(file, &fixture.path(), NOW).expect("opens");
    let other = fixture.log();
    let (one, two) = (log.publishing().expect("publishes"), other.publishing().expect("publishes as well"));
    assert!(matches!(log.open_intents(NOW), Err(AuditError::Busy { .. })));
    drop(one);
    assert!(matches!(other.open_intents(NOW), Err(AuditError::Busy { .. })));
    drop(two);
    let found = other.open_intents(NOW).expect("scans");
    assert!(matches!(log.publishing(), Err(AuditError::Busy { .. })));
    assert!(matches!(log.open_intents(NOW), Err(AuditError::Busy { .. })));
    drop(found);
    let _publishing = log.publishing().expect("publishes");
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
