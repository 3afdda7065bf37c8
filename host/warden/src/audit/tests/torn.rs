//! Lines torn by a crash: recognized, recorded, continued; never hidden, never mistaken.

use super::*;
use crate::audit::{LINE_BYTES_MAX, RecordFault, TornEnd};
use cofferdam_core::audit::{Recovered, sha256_hex};

#[test]
fn every_cut_of_the_last_record_is_recognized_and_continued() {
    let fixture = Fixture::with(3);
    let (whole, lines) = (fixture.bytes(), fixture.lines());
    let last = lines[2].len();
    for cut in 1..=last {
        let kept = &whole[..whole.len() - cut];
        fixture.put(kept);
        let report = fixture.sound();
        // Cut by exactly its newline, the record is whole; cut by all of it, there is nothing torn.
        let (records, torn) = if cut == 1 { (3, 0) } else { (2, last - cut) };
        assert_eq!(report.records, records);
        let torn = (torn > 0).then_some(TornEnd { line: 3, bytes: torn as u64 });
        assert_eq!(report.torn, torn, "cut {cut}");

        let recovered = u64::from(torn.is_some());
        assert_eq!(fixture.append(), records + recovered + 1);
        let report = fixture.sound();
        assert_eq!((report.records, report.recovered), (records + recovered + 1, recovered));
        assert_eq!(report.torn, None);
        assert!(fixture.bytes().starts_with(kept), "nothing is hidden");
    }
}

#[test]
fn the_recovery_names_the_torn_bytes() {
    let fixture = Fixture::with(2);
    let torn = br#"{"v":1,"seq":3,"ti"#;
    fixture.put(&[&fixture.bytes(), torn.as_slice()].concat());
    fixture.append();
    let line = String::from_utf8(fixture.lines()[3].clone()).expect("UTF-8");
    let expected = Recovered { torn_bytes: 18, torn_sha256: sha256_hex(torn) };
    let record: cofferdam_core::audit::Record = serde_json::from_str(&line).expect("a record");
    assert_eq!((record.seq, record.event), (3, AuditEvent::Recovered(expected)));
}

#[test]
fn every_cut_of_a_recovery_is_recognized_and_continued() {
    let fixture = Fixture::with(2);
    let torn = [fixture.bytes(), b"{\"v\":1,\"se".to_vec()].concat();
    fixture.put(&torn);
    fixture.append();
    let whole = fixture.bytes();
    for end in torn.len()..whole.len() {
        fixture.put(&whole[..end]);
        fixture.append();
        let report = fixture.sound();
        assert!(report.recovered >= 1 && report.torn.is_none(), "cut to {end}: {report:?}");
        assert!(fixture.bytes().starts_with(&whole[..end]), "nothing is hidden");
    }
}

#[test]
fn a_log_that_is_torn_from_its_start_is_continued() {
    for torn in [b"{".as_slice(), b"\0\0\0", b"\n", b"\xff\xfe\n\x80", b"garbage\ngarbage"] {
        let fixture = Fixture::new();
        fixture.put(torn);
        // Nobody can tell it from a log that was replaced, until the next record names it.
        let bad = fixture.bad();
        assert_eq!((bad.line, bad.seq), (1, 1), "{bad:?}");
        let bytes = torn.len() as u64;
        match bad.fault {
            RecordFault::NotARecord(_) => assert_eq!(torn, b"\n", "its line is whole"),
            fault => {
                assert!(
                    matches!(fault, RecordFault::NothingButTorn { bytes: n, .. } if n == bytes),
                    "{fault}"
                )
            }
        }
        assert_eq!(fixture.append(), 2);
        assert_eq!((fixture.sound().records, fixture.sound().recovered), (2, 1));
    }
}

#[test]
fn what_another_process_tore_is_recorded_by_an_open_log() {
    let fixture = Fixture::with(1);
    let log = fixture.log();
    fixture.put(&[fixture.bytes(), b"{\"v\"".to_vec()].concat());
    assert_eq!(log.append(outcome(None), Durability::Synced).expect("appends"), 3);
    assert_eq!((fixture.sound().records, fixture.sound().recovered), (3, 1));
}

#[test]
fn a_long_torn_end_is_continued_up_to_what_a_crash_explains() {
    for (bytes, continued) in [(8 * 1024, true), (4 * LINE_BYTES_MAX, true), (6 * LINE_BYTES_MAX, false)] {
        let fixture = Fixture::with(2);
        fixture.put(&[fixture.bytes(), vec![0; bytes]].concat());
        if continued {
            assert_eq!(fixture.sound().torn, Some(TornEnd { line: 3, bytes: bytes as u64 }));
        } else {
            let fault = RecordFault::TooMuchTorn(bytes as u64);
            assert_eq!(fixture.bad(), BadRecord { line: 3, seq: 3, fault });
        }
        match AuditLog::open(&fixture.path()) {
            Ok(log) => {
                assert!(continued);
                assert_eq!(log.append(outcome(None), Durability::Buffered).expect("appends"), 4);
                assert_eq!(fixture.sound().recovered, 1);
            }
            Err(e) => assert!(!continued && matches!(e, AuditError::Unrecognizable), "{e}"),
        }
    }
}

#[test]
fn a_complete_line_that_is_no_record_is_never_continued() {
    for line in [r#"{"v":2,"seq":3,"new":true}"#, r#"{"a":1}"#, "5", r#"{"v":1,"v":1}"#] {
        for end in ["\n", ""] {
            let fixture = Fixture::with(2);
            let bytes = [fixture.bytes(), line.as_bytes().to_vec(), end.as_bytes().to_vec()].concat();
            fixture.put(&bytes);
            assert!(matches!(AuditLog::open(&fixture.path()), Err(AuditError::Foreign { .. })), "{line}");
            assert!(matches!(
                fixture.bad(),
                BadRecord { line: 3, seq: 3, fault: RecordFault::NotARecord(_) }
            ));
            assert_eq!(fixture.bytes(), bytes);
        }
    }
}

#[test]
fn a_line_with_its_newline_was_not_torn_by_a_crash() {
    let fixture = Fixture::with(2);
    fixture.put(&[fixture.bytes(), b"garbage\n".to_vec()].concat());
    assert!(matches!(fixture.bad(), BadRecord { line: 3, seq: 3, fault: RecordFault::NotARecord(_) }));
    // An append names it all the same, so that the log goes on and the reader sees it.
    assert_eq!(fixture.append(), 4);
    assert_eq!(fixture.sound().recovered, 1);
}
