//! Reading records back: the last ones exactly, whatever the lengths of lines.

use super::*;
use crate::audit::{Entry, Filter, LINE_BYTES_MAX, Span, show};

fn seqs(fixture: &Fixture, span: Span) -> Vec<u64> {
    let entries = show(Source::Log(&fixture.path()), span, Filter::default()).expect("opens");
    let seq = |entry| match entry {
        Entry::Record { record, .. } => record.seq,
        Entry::Unreadable { .. } => 0,
    };
    entries.map(|entry| seq(entry.expect("reads"))).collect()
}

#[test]
fn the_last_entries_are_shown_newest_last() {
    let fixture = Fixture::with(5);
    assert_eq!(seqs(&fixture, Span::All), [1, 2, 3, 4, 5]);
    assert!(seqs(&fixture, Span::Last(0)).is_empty());
    assert_eq!(seqs(&fixture, Span::Last(1)), [5]);
    assert_eq!(seqs(&fixture, Span::Last(3)), [3, 4, 5]);
    assert_eq!(seqs(&fixture, Span::Last(5)), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(&fixture, Span::Last(u64::MAX)), [1, 2, 3, 4, 5]);
    assert!(seqs(&Fixture::with(0), Span::Last(3)).is_empty());
}

#[test]
fn long_lines_do_not_confuse_the_count() {
    let fixture = Fixture::with(1);
    let mut long = settled(None);
    for bytes in [LINE_BYTES_MAX - 2000, 10, LINE_BYTES_MAX - 1500, 40_000, 1] {
        long.reason = Some("x".repeat(bytes));
        append(&fixture, Event::Outcome(long.clone()));
    }
    for count in 1..=6 {
        let expected: Vec<u64> = (7 - count..=6).collect();
        assert_eq!(seqs(&fixture, Span::Last(count)), expected);
    }
}

#[test]
fn what_is_no_record_is_shown_as_that() {
    let fixture = Fixture::with(2);
    let mut lines = fixture.lines();
    lines.insert(1, b"\xff\n".to_vec());
    lines.insert(2, [vec![b'x'; 2 * LINE_BYTES_MAX], b"\n".to_vec()].concat());
    lines.push(b"{\"torn".to_vec());
    fixture.put_lines(&lines);
    assert_eq!(seqs(&fixture, Span::All), [1, 0, 0, 2, 0]);
    assert_eq!(seqs(&fixture, Span::Last(2)), [2, 0]);
    let last = show(Source::Log(&fixture.path()), Span::Last(1), Filter::default());
    let last = last.expect("opens").next().expect("one").expect("reads");
    assert!(matches!(last, Entry::Unreadable { bytes: 6, .. }), "{last:?}");
}

fn append(fixture: &Fixture, event: Event) {
    fixture.log().append(event, Durability::Buffered).expect("appends");
}
