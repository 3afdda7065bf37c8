//! Changes to a log: each is found, or only a head kept elsewhere can find it.

use super::*;
use crate::audit::{LINE_BYTES_MAX, RecordFault};
use cofferdam_core::audit::{Record, Recovered, sha256_hex};

#[test]
fn every_changed_byte_is_found() {
    let fixture = Fixture::with(3);
    let (whole, head) = (fixture.bytes(), fixture.sound().head);
    let file = OpenOptions::new().write(true).open(fixture.path()).expect("opens");
    let last_start = whole.len() - fixture.lines()[2].len();
    for at in 0..whole.len() {
        for flipped in [whole[at] ^ 1, whole[at] ^ 0x80, b'\n', b' ', b'0', b'"'] {
            if flipped == whole[at] {
                continue;
            }
            file.write_all_at(&[flipped], at as u64).expect("writes");
            let line = whole[..at].iter().filter(|b| **b == b'\n').count() as u64 + 1;
            match verify(&fixture.path(), Some(&head)).expect("reads") {
                // The pair of records that disagree begins with the changed one or the one before
                // it.
                Verification::Bad { record: bad, .. } => {
                    assert!(bad.line == line || bad.line + 1 == line, "{at}: {bad:?}");
                }
                Verification::Sound(_) => panic!("byte {at} as {flipped}: not found"),
            }
            match verify(&fixture.path(), None).expect("reads") {
                Verification::Bad { .. } => {}
                // Nothing holds the hash of the last record but a head kept elsewhere.
                Verification::Sound(report) => {
                    assert!(at >= last_start, "byte {at} as {flipped}");
                    assert!(report.head != head || report.torn.is_some());
                }
            }
        }
        file.write_all_at(&whole[at..=at], at as u64).expect("writes");
    }
}

#[test]
fn a_changed_record_is_named() {
    let fixture = Fixture::with(5);
    let mut lines = fixture.lines();
    let text = String::from_utf8(lines[2].clone()).expect("UTF-8").replace("\"bytes\":12", "\"bytes\":13");
    lines[2] = text.into_bytes();
    fixture.put_lines(&lines);
    assert_eq!(fixture.bad(), BadRecord { line: 3, seq: 3, fault: RecordFault::Changed(4) });
}

#[test]
fn deleted_moved_and_doubled_lines_are_named() {
    let check = |order: &[usize], line: u64, expected: u64, found: u64| {
        let fixture = Fixture::with(5);
        let lines = fixture.lines();
        let order: Vec<_> = order.iter().map(|n| lines[n - 1].clone()).collect();
        fixture.put_lines(&order);
        let fault = RecordFault::WrongSeq { expected, found };
        assert_eq!(fixture.bad(), BadRecord { line, seq: found, fault });
    };
    check(&[1, 3, 4, 5], 2, 2, 3);
    check(&[2, 3, 4, 5], 1, 1, 2);
    check(&[1, 3, 2, 4, 5], 2, 2, 3);
    check(&[1, 2, 3, 5, 4], 4, 4, 5);
    check(&[1, 2, 2, 3, 4, 5], 3, 3, 2);
    check(&[1, 2, 3, 4, 5, 5], 6, 6, 5);
    check(&[1, 2, 3, 4, 5, 1], 6, 6, 1);
}

#[test]
fn a_cut_tail_is_found_only_with_a_head_kept_elsewhere() {
    let fixture = Fixture::with(5);
    let (lines, head) = (fixture.lines(), fixture.sound().head);
    fixture.put_lines(&lines[..3]);
    assert_eq!(fixture.sound().records, 3);
    let found = bad(&fixture.path(), Some(&head));
    assert_eq!(found, BadRecord { line: 4, seq: 4, fault: cut_tail(5) });
    fixture.put(b"");
    assert_eq!(fixture.sound().records, 0);
    assert_eq!(bad(&fixture.path(), Some(&head)).fault, cut_tail(5));
}

#[test]
fn a_head_kept_elsewhere_stays_in_a_log_that_grows_but_not_in_another() {
    let fixture = Fixture::with(3);
    let head = fixture.sound().head;
    fixture.append();
    assert!(matches!(verify(&fixture.path(), Some(&head)).expect("reads"), Verification::Sound(_)));
    let mut other = settled(None);
    other.duration_us = 1;
    let another = Fixture::with(2);
    another.log().append(AuditEvent::Outcome(other), Durability::Buffered).expect("appends");
    another.append();
    let found = bad(&another.path(), Some(&head));
    assert_eq!(found, BadRecord { line: 3, seq: 3, fault: other_head() });
}

#[test]
fn a_chain_without_its_start_is_found() {
    let fixture = Fixture::new();
    fixture.put_lines(&[line(1, &"ab".repeat(32), outcome(None))]);
    assert_eq!(fixture.bad(), BadRecord { line: 1, seq: 1, fault: RecordFault::WrongStart });
}

#[test]
fn unknown_fields_events_and_versions_are_found() {
    let fixture = Fixture::with(1);
    let good = String::from_utf8(fixture.lines()[0].clone()).expect("UTF-8");
    let check = |text: String| {
        assert_ne!(text, good);
        fixture.put(text.as_bytes());
        let found = fixture.bad();
        assert!(
            matches!(found, BadRecord { line: 1, seq: 1, fault: RecordFault::NotARecord(_) }),
            "{found:?}"
        );
    };
    check(good.replace("\"seq\"", "\"extra\":1,\"seq\""));
    check(good.replace("\"bytes\":12", "\"bytes\":12,\"extra\":1"));
    check(good.replace("\"event\":\"intent\"", "\"event\":\"intention\""));
    check(good.replace("\"v\":1", "\"v\":2"));
    check(good.replace("\"v\":1,", ""));
    check(good.replace("\"seq\":1", "\"seq\":1,\"seq\":1"));
    check(good.replace("\"seq\":1", "\"seq\":1.0"));
    check(good.replace("\"seq\":1", "\"seq\":\"1\""));
    check(good.replace('\n', " \n"));
    check(format!(" {good}"));
}

#[test]
fn garbage_between_records_is_found() {
    let long = [vec![b'x'; LINE_BYTES_MAX + 1], b"\n".to_vec()].concat();
    let longer = [vec![b'x'; 3 * LINE_BYTES_MAX], b"\n".to_vec()].concat();
    for garbage in
        [b"\n".to_vec(), b"\xff\xfe\x00\n".to_vec(), b"{\n".to_vec(), b"null\n".to_vec(), long, longer]
    {
        let fixture = Fixture::with(4);
        let mut lines = fixture.lines();
        lines.insert(2, garbage);
        fixture.put_lines(&lines);
        let found = fixture.bad();
        assert!(
            matches!(found, BadRecord { line: 3, seq: 3, fault: RecordFault::NotARecord(_) }),
            "{found:?}"
        );
    }
}

#[test]
fn a_recovery_fits_the_torn_line_before_it_or_is_found() {
    let torn = b"{\"v\":1,".to_vec();
    let check = |torn_line: &[u8], bytes: u64, sha256: String, expected: Option<BadRecord>| {
        let fixture = Fixture::with(1);
        let first = fixture.lines()[0].clone();
        let prev = sha256_hex(&first[..first.len() - 1]);
        let recovered = AuditEvent::Recovered(Recovered { torn_bytes: bytes, torn_sha256: sha256 });
        fixture.put_lines(&[first, torn_line.to_vec(), line(2, &prev, recovered)]);
        match expected {
            None => assert_eq!((fixture.sound().records, fixture.sound().recovered), (2, 1)),
            Some(expected) => assert_eq!(fixture.bad(), expected),
        }
    };
    let with_newline = [torn.as_slice(), b"\n"].concat();
    check(&with_newline, 7, sha256_hex(&torn), None);
    let other = BadRecord { line: 3, seq: 2, fault: RecordFault::OtherTornLine };
    check(&with_newline, 8, sha256_hex(&torn), Some(other.clone()));
    check(&with_newline, 7, sha256_hex(b"other"), Some(other));
    let none = BadRecord { line: 2, seq: 2, fault: RecordFault::NoTornLine };
    check(b"", 0, sha256_hex(b""), Some(none.clone()));
    check(b"", 7, sha256_hex(&torn), Some(none));
}

/// A line as a forger would write it.
fn line(seq: u64, prev: &str, event: AuditEvent) -> Vec<u8> {
    let time = "2026-01-02T03:04:05.678Z".to_owned();
    let record = Record { v: 1, seq, time, prev: prev.to_owned(), event };
    let mut bytes = serde_json::to_vec(&record).expect("encodes");
    bytes.push(b'\n');
    bytes
}
