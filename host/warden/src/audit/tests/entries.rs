//! Reading records back: the last ones exactly, for lines of any length.

use super::*;
use crate::audit::{EntryRange, LINE_BYTES_MAX, LogEntry, RecordFilter, read_entries};

fn seqs(fixture: &Fixture, span: EntryRange) -> Vec<u64> {
    let entries = read_entries(LogSelection::Log(&fixture.path()), span, None).expect("opens");
    let seq = |entry| match entry {
        LogEntry::Record { record, .. } => record.seq,
        LogEntry::Unreadable { .. } => 0,
    };
    entries.map(|entry| seq(entry.expect("reads"))).collect()
}

#[test]
fn the_last_entries_are_read_newest_last() {
    let fixture = Fixture::with(5);
    assert_eq!(seqs(&fixture, EntryRange::All), [1, 2, 3, 4, 5]);
    assert!(seqs(&fixture, EntryRange::Last(0)).is_empty());
    assert_eq!(seqs(&fixture, EntryRange::Last(1)), [5]);
    assert_eq!(seqs(&fixture, EntryRange::Last(3)), [3, 4, 5]);
    assert_eq!(seqs(&fixture, EntryRange::Last(5)), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(&fixture, EntryRange::Last(u64::MAX)), [1, 2, 3, 4, 5]);
    assert!(seqs(&Fixture::with(0), EntryRange::Last(3)).is_empty());
}

#[test]
fn long_lines_do_not_confuse_the_count() {
    let fixture = Fixture::with(1);
    let mut long = settled(None);
    for bytes in [LINE_BYTES_MAX - 2000, 10, LINE_BYTES_MAX - 1500, 40_000, 1] {
        long.reason = Some("x".repeat(bytes));
        append(&fixture, AuditEvent::Outcome(long.clone()));
    }
    for count in 1..=6 {
        let expected: Vec<u64> = (7 - count..=6).collect();
        assert_eq!(seqs(&fixture, EntryRange::Last(count)), expected);
    }
}

#[test]
fn what_is_no_record_is_an_entry_that_says_so() {
    let fixture = Fixture::with(2);
    let mut lines = fixture.lines();
    lines.insert(1, b"\xff\n".to_vec());
    lines.insert(2, [vec![b'x'; 2 * LINE_BYTES_MAX], b"\n".to_vec()].concat());
    lines.push(b"{\"torn".to_vec());
    fixture.put_lines(&lines);
    assert_eq!(seqs(&fixture, EntryRange::All), [1, 0, 0, 2, 0]);
    assert_eq!(seqs(&fixture, EntryRange::Last(2)), [2, 0]);
    let last = read_entries(LogSelection::Log(&fixture.path()), EntryRange::Last(1), None);
    let last = last.expect("opens").next().expect("one").expect("reads");
    assert!(matches!(last, LogEntry::Unreadable { bytes: 6, .. }), "{last:?}");
}

#[test]
fn lines_that_are_no_records_are_counted_where_certain_ones_are_wanted() {
    let fixture = Fixture::with(3);
    let mut lines = fixture.lines();
    lines.insert(1, b"garbage\n".to_vec());
    // A record to the quick look and not to the strict one is shown as what it is.
    let foreign =
        String::from_utf8(lines[2].clone()).expect("UTF-8").replacen("\"v\":1", "\"v\":1,\"more\":1", 1);
    lines[2] = foreign.into_bytes();
    fixture.put_lines(&lines);
    let wanted: RecordFilter = Box::new(|record| match &record.event {
        AuditEvent::Intent(Intent { facts, .. }) | AuditEvent::Outcome(CallOutcome { facts, .. }) => {
            facts.tool == "attachment_save"
        }
        _ => false,
    });
    let mut entries =
        read_entries(LogSelection::Log(&fixture.path()), EntryRange::All, Some(wanted)).expect("opens");
    let kinds: Vec<bool> =
        entries.by_ref().map(|entry| matches!(entry.expect("reads"), LogEntry::Record { .. })).collect();
    assert_eq!((kinds, entries.unreadable()), (vec![true, false, true], 1));
}

fn append(fixture: &Fixture, event: AuditEvent) {
    fixture.log().append(event, Durability::Buffered).expect("appends");
}
