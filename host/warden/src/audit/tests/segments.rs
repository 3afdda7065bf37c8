//! Checking a log of several files: as one chain, or files alone, and what was done to them.

use super::*;
use crate::audit::sign::{SecretKey, Statement};
use crate::audit::{RecordFault, TornEnd, verify as verify_source};

/// Three files of four records each, rotated as they are when they are full.
fn three() -> Fixture {
    let fixture = Fixture::new();
    let log = fixture.rotating(u64::MAX);
    for seq in 1..=12 {
        if seq == 5 || seq == 9 {
            fixture.rotating(1).append(outcome(None), Durability::Buffered).expect("appends");
        } else {
            log.append(outcome(None), Durability::Buffered).expect("appends");
        }
    }
    assert_eq!(fixture.names(), [FIRST, SECOND, ACTIVE]);
    assert_eq!((fixture.sound().records, fixture.sound().files.len()), (12, 3));
    fixture
}

const FIRST: &str = "audit-00000000000000000001.jsonl";
const SECOND: &str = "audit-00000000000000000005.jsonl";
const ACTIVE: &str = "audit.jsonl";

impl Fixture {
    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Changes the lines of one file.
    fn edit(&self, name: &str, change: impl FnOnce(&mut Vec<String>)) {
        let text = fs::read_to_string(self.at(name)).expect("reads");
        let mut lines = text.split_inclusive('\n').map(str::to_owned).collect();
        change(&mut lines);
        fs::write(self.at(name), lines.concat()).expect("writes");
    }

    fn bad_in(&self) -> (String, BadRecord) {
        match verify(&self.path(), None).expect("reads") {
            Verification::Bad { file, record } => {
                (file.file_name().expect("a name").to_str().expect("text").to_owned(), record)
            }
            Verification::Sound(report) => panic!("sound: {report:?}"),
        }
    }

    fn files_alone(&self, names: &[&str], kept: &[Kept]) -> Verification {
        let files: Vec<_> = names.iter().map(|name| self.at(name)).collect();
        verify_source(LogSelection::Files(&files), kept, Vec::new()).expect("reads")
    }
}

#[test]
fn what_was_done_to_files_is_found_and_named() {
    let check = |what: &str, file: &str, line: u64, seq: u64, tamper: &dyn Fn(&Fixture)| {
        let fixture = three();
        tamper(&fixture);
        let (named, bad) = fixture.bad_in();
        assert_eq!((named.as_str(), bad.line, bad.seq), (file, line, seq), "{what}: {}", bad.fault);
    };
    check("a missing middle file", FIRST, 5, 5, &|f| fs::remove_file(f.at(SECOND)).expect("removes"));
    check("a missing first file", SECOND, 1, 5, &|f| fs::remove_file(f.at(FIRST)).expect("removes"));
    check("two files exchanged", FIRST, 1, 5, &|f| {
        fs::rename(f.at(FIRST), f.at("x")).expect("renames");
        fs::rename(f.at(SECOND), f.at(FIRST)).expect("renames");
        fs::rename(f.at("x"), f.at(SECOND)).expect("renames");
    });
    check("a doubled file", "audit-00000000000000000003.jsonl", 1, 1, &|f| {
        fs::copy(f.at(FIRST), f.at("audit-00000000000000000003.jsonl")).expect("copies");
    });
    check("a file cut by a line", FIRST, 4, 4, &|f| f.edit(FIRST, |lines| drop(lines.pop())));
    check("a file cut by all but a line", SECOND, 2, 6, &|f| f.edit(SECOND, |lines| lines.truncate(1)));
    check("a file cut within a line", FIRST, 4, 4, &|f| {
        f.edit(FIRST, |lines| lines[3].truncate(100));
    });
    check("a file cut by its newline", FIRST, 4, 4, &|f| {
        f.edit(FIRST, |lines| assert_eq!(lines[3].pop(), Some('\n')))
    });
    check("an emptied file", SECOND, 1, 5, &|f| f.edit(SECOND, Vec::clear));
    check("a file without its first line", FIRST, 5, 5, &|f| f.edit(SECOND, |lines| drop(lines.remove(0))));
    check("the last record of a file changed", FIRST, 4, 4, &|f| {
        f.edit(FIRST, |lines| lines[3] = lines[3].replace("1234", "1235"));
    });
    check("a record in the middle changed", SECOND, 2, 6, &|f| {
        f.edit(SECOND, |lines| lines[1] = lines[1].replace("1234", "1235"));
    });
    check("garbage at the end of a file", SECOND, 5, 9, &|f| f.edit(SECOND, |l| l.push("garbage\n".into())));
    check("garbage at the start of a file", ACTIVE, 1, 9, &|f| f.edit(ACTIVE, |l| l.insert(0, "x\n".into())));
    check("a record moved to the next file", FIRST, 4, 4, &|f| {
        let mut moved = String::new();
        f.edit(FIRST, |lines| moved = lines.remove(3));
        f.edit(SECOND, |lines| lines.insert(1, moved));
    });
}

#[test]
fn the_faults_between_files_say_what_is_missing() {
    let fixture = three();
    fs::remove_file(fixture.at(SECOND)).expect("removes");
    assert_eq!(fixture.bad_in().1.fault, RecordFault::MissingAfter { expected: 5, last: 8 });
    let fixture = three();
    fixture.edit(FIRST, |lines| lines[3] = lines[3].replace("1234", "1235"));
    assert_eq!(fixture.bad_in().1.fault, RecordFault::ChangedBeforeNext);
    let fixture = three();
    fixture.edit(SECOND, Vec::clear);
    assert_eq!(fixture.bad_in().1.fault, RecordFault::NoRecord);
    let fixture = three();
    fixture.edit(FIRST, |lines| lines[3].truncate(9));
    assert_eq!(fixture.bad_in().1.fault, RecordFault::CutFile);
}

#[test]
fn a_head_kept_elsewhere_is_looked_for_in_every_file() {
    let fixture = three();
    let text = fs::read(fixture.at(SECOND)).expect("reads");
    let line = text.split(|b| *b == b'\n').nth(1).expect("a line");
    let head = Head { seq: 6, sha256: cofferdam_core::audit::sha256_hex(line) };
    assert!(matches!(verify(&fixture.path(), Some(&head)), Ok(Verification::Sound(_))));
    let other = Head { seq: 6, sha256: "ab".repeat(32) };
    assert_eq!(bad(&fixture.path(), Some(&other)), BadRecord { line: 2, seq: 6, fault: other_head() });
    // The newest files gone: nothing but the head can tell.
    let last = fixture.sound().head;
    fs::remove_file(fixture.at(ACTIVE)).expect("removes");
    assert_eq!(fixture.sound().records, 8);
    let found = bad(&fixture.path(), Some(&last));
    assert_eq!(found, BadRecord { line: 5, seq: 9, fault: cut_tail(12) });
    fs::remove_file(fixture.at(SECOND)).expect("removes");
    let found = bad(&fixture.path(), Some(&last));
    assert_eq!(found, BadRecord { line: 5, seq: 5, fault: cut_tail(12) });
}

#[test]
fn files_alone_are_checked_and_their_beginning_is_not_claimed() {
    let fixture = three();
    let Verification::Sound(report) = fixture.files_alone(&[SECOND], &[]) else { panic!("bad") };
    assert_eq!((report.records, report.head.seq), (4, 8));
    let before = report.continues.expect("it does not begin");
    let Verification::Sound(first) = fixture.files_alone(&[FIRST], &[]) else { panic!("bad") };
    assert_eq!((before, first.continues), (first.head, None));
    let Verification::Sound(report) = fixture.files_alone(&[SECOND, ACTIVE], &[]) else { panic!("bad") };
    assert_eq!((report.records, report.head), (8, fixture.sound().head));
    let kept = [1, 6].map(|seq| Kept { head: Head { seq, sha256: "ab".repeat(32) }, by: Witness::Person });
    let Verification::Sound(report) = fixture.files_alone(&[SECOND], &kept[..1]) else { panic!("bad") };
    assert_eq!(report.unchecked, 1);
    assert!(matches!(fixture.files_alone(&[SECOND], &kept), Verification::Bad { .. }));
    for wrong in [&[FIRST, ACTIVE][..], &[SECOND, FIRST], &[ACTIVE, SECOND], &[FIRST, FIRST]] {
        assert!(matches!(fixture.files_alone(wrong, &[]), Verification::Bad { .. }), "{wrong:?}");
    }
    // A rotated file was whole when it was rotated, also where it is looked at alone.
    fixture.edit(SECOND, |lines| lines[3].truncate(40));
    assert!(matches!(fixture.files_alone(&[SECOND], &[]), Verification::Bad { .. }));
    fs::copy(fixture.at(SECOND), fixture.at("copy.jsonl")).expect("copies");
    let Verification::Sound(report) = fixture.files_alone(&["copy.jsonl"], &[]) else { panic!("bad") };
    assert_eq!(report.torn, Some(TornEnd { line: 4, bytes: 40 }));
}

#[test]
fn other_files_beside_the_log_are_none_of_it() {
    let fixture = three();
    for name in [
        "audit-5.jsonl",
        "audit-00000000000000000005.jsonl.gz",
        "other-00000000000000000005.jsonl",
        "audit-000000000000000000x5.jsonl",
        "audit-99999999999999999999.jsonl",
        "audit.signatures.jsonl",
    ] {
        fs::write(fixture.at(name), "none of the log").expect("writes");
    }
    assert_eq!(fixture.sound().records, 12);
    assert_eq!(fixture.append(), 13);
}

#[test]
fn more_files_than_are_listed_are_reported() {
    use crate::audit::ROTATED_FILES_MAX;
    let fixture = Fixture::with(1);
    for n in 0..=ROTATED_FILES_MAX {
        fs::write(fixture.at(&format!("audit-{:020}.jsonl", n + 2)), "").expect("makes");
    }
    assert!(matches!(verify(&fixture.path(), None), Err(AuditError::TooManyFiles)));
}

#[test]
fn a_record_that_none_could_follow_is_none() {
    let fixture = Fixture::with(2);
    fixture.edit(ACTIVE, |lines| {
        let last = lines[1].replacen("\"seq\":2,", &format!("\"seq\":{},", u64::MAX), 1);
        *lines = vec![last; 2];
    });
    let Verification::Bad { record, .. } = fixture.files_alone(&[ACTIVE], &[]) else { panic!("sound") };
    let fault = RecordFault::NotARecord(format!("no record has seq {}", u64::MAX));
    assert_eq!(record, BadRecord { line: 1, seq: 1, fault });
}

#[test]
fn signed_heads_are_found_in_the_chain_or_missed() {
    let fixture = three();
    let key = SecretKey::generate().expect("random");
    let signed = |head: &Head, line: u64| {
        let statement = Statement::sign(&key, head, "2026-01-02T03:04:05.678Z".into());
        let checked = Statement::check(&statement.line(), &key.public()).expect("ours");
        Kept { head: checked.head(), by: Witness::Statement { line } }
    };
    let (old, new) = (fixture.sound().head, fixture.append());
    let kept = [signed(&old, 1), signed(&fixture.sound().head, 2)];
    let check =
        |kept: &[Kept]| verify_source(LogSelection::Log(&fixture.path()), kept, Vec::new()).expect("reads");
    assert!(matches!(check(&kept), Verification::Sound(_)));
    // The log cut behind the old head, then before it.
    fixture.edit(ACTIVE, |lines| drop(lines.pop()));
    let fault = |found| match found {
        Verification::Bad { record, .. } => record.fault,
        Verification::Sound(report) => panic!("{report:?}"),
    };
    assert_eq!(
        fault(check(&kept)),
        RecordFault::CutTail(format!("the signed head (statement 2, seq {new})"))
    );
    assert!(matches!(check(&kept[..1]), Verification::Sound(_)), "an old statement shows what it can");
    fixture.edit(ACTIVE, |lines| drop(lines.pop()));
    assert_eq!(fault(check(&kept)), RecordFault::CutTail("the signed head (statement 1, seq 12)".into()));
    // Written anew up to there.
    let mut other = settled(None);
    other.duration_us = 99;
    fixture.log().append(AuditEvent::Outcome(other), Durability::Buffered).expect("appends");
    assert_eq!(fault(check(&kept)), RecordFault::OtherHead("the signed head (statement 1)".into()));
}

#[test]
fn a_newest_file_that_was_replaced_is_found() {
    // What a crash tore right after a rotation.
    for torn in ["{", "{\"v\":1,\"se", "{\"v\":1,\"seq\":9,\"ti"] {
        let fixture = three();
        fs::write(fixture.at(ACTIVE), torn).expect("writes");
        let report = fixture.sound();
        assert_eq!((report.records, report.torn), (8, Some(TornEnd { line: 1, bytes: torn.len() as u64 })));
    }
    for noise in [b"\0\0\0\0".as_slice(), b"{\"v\":1,\"seq\":10,", b"{\"v\":2", b"noise"] {
        let fixture = three();
        fs::write(fixture.at(ACTIVE), noise).expect("writes");
        let (file, bad) = fixture.bad_in();
        assert_eq!((file.as_str(), bad.line, bad.seq), (ACTIVE, 1, 9), "{bad:?}");
        assert!(
            matches!(bad.fault, RecordFault::NothingButTorn { bytes, .. } if bytes == noise.len() as u64)
        );
    }
    // One that was emptied is what a rotation leaves; its records are missed by a head alone.
    let fixture = three();
    let head = fixture.sound().head;
    fs::write(fixture.at(ACTIVE), "").expect("writes");
    assert_eq!(fixture.sound().records, 8);
    let kept = Kept { head, by: Witness::Person };
    let found = verify_source(LogSelection::Log(&fixture.path()), &[kept], Vec::new()).expect("reads");
    assert!(matches!(
        found,
        Verification::Bad { record: BadRecord { fault: RecordFault::CutTail { .. }, .. }, .. }
    ));
}
