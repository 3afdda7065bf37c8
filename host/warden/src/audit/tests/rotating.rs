//! Rotation: the chain goes on in the next file, with any number of writers and at any point of a
//! crash.

use super::*;
use crate::audit::{EntryRange, LandedCall, LogEntry, read_entries};
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::thread;
use std::time::Duration;

const NOW: Duration = Duration::ZERO;
/// About three records.
const SMALL: u64 = 2000;

fn append_some(log: &AuditLog, count: u64) {
    for _ in 0..count {
        log.append(outcome(None), Durability::Synced).expect("appends");
    }
}

/// The records of all files together, by `seq`.
fn seqs(fixture: &Fixture, span: EntryRange) -> Vec<u64> {
    let entries = read_entries(LogSelection::Log(&fixture.path()), span, None).expect("opens");
    entries
        .map(|entry| match entry.expect("reads") {
            LogEntry::Record { record, .. } => record.seq,
            LogEntry::Unreadable { .. } => 0,
        })
        .collect()
}

#[test]
fn a_full_file_is_rotated_before_the_next_append() {
    let fixture = Fixture::new();
    let log = fixture.rotating(SMALL);
    append_some(&log, 20);
    let names = fixture.names();
    assert!(names.len() > 4, "{names:?}");
    assert_eq!(names.last().map(String::as_str), Some("audit.jsonl"));
    let report = fixture.sound();
    assert_eq!((report.records, report.files.len()), (20, names.len()));
    assert_eq!(log.head(), report.head);
    for name in &names {
        let metadata = fs::metadata(fixture.dir.path().join(name)).expect("there");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(fixture.dir.path().join(name)).expect("reads");
        let first: serde_json::Value =
            serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        let named =
            name.strip_prefix("audit-").and_then(|rest| rest.strip_suffix(".jsonl")?.parse::<u64>().ok());
        assert!(named.is_none() || named == first["seq"].as_u64(), "{name}");
        if named.is_some() {
            let without_last = text[..text.len() - 1].rfind('\n').expect("two lines") + 1;
            assert!(text.len() as u64 >= SMALL && (without_last as u64) < SMALL, "{name}: {}", text.len());
        }
    }
    let all: Vec<u64> = (1..=20).collect();
    assert_eq!(seqs(&fixture, EntryRange::All), all);
    for count in 0..=21 {
        let count = usize::try_from(count).expect("small");
        assert_eq!(seqs(&fixture, EntryRange::Last(count as u64)), all[20 - count.min(20)..], "{count}");
    }
}

#[test]
fn others_notice_that_their_file_was_rotated_away() {
    let fixture = Fixture::new();
    let (one, two) = (fixture.rotating(SMALL), fixture.rotating(u64::MAX));
    append_some(&two, 1);
    append_some(&one, 5);
    append_some(&two, 1);
    append_some(&one, 4);
    assert_eq!(two.head().seq, 7);
    append_some(&two, 1);
    assert_eq!((fixture.sound().records, two.head()), (12, fixture.sound().head));
    assert!(fixture.names().len() >= 3);
    // A log that is opened later finds the head in any file.
    assert_eq!(fixture.log().head(), two.head());
}

#[test]
fn threads_and_handles_rotate_at_once() {
    let fixture = Fixture::new();
    let shared = fixture.rotating(SMALL);
    thread::scope(|scope| {
        for n in 0..4 {
            let (shared, fixture) = (&shared, &fixture);
            scope.spawn(move || {
                let own = fixture.rotating(SMALL);
                append_some(if n % 2 == 0 { shared } else { &own }, 40);
            });
        }
    });
    assert_eq!(fixture.sound().records, 160);
    assert!(fixture.names().len() > 20);
}

/// The first step of a rotation.
fn seal(path: &Path) {
    let mode = fs::metadata(path).expect("there").permissions().mode();
    fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o1000)).expect("ours");
}

/// What a kill may leave, by the step it came before: each is settled by the next append.
#[test]
fn a_kill_at_any_step_loses_and_doubles_nothing() {
    type Step = fn(&Fixture, &Path);
    let steps: &[(&str, Step)] = &[
        ("nothing was done", |_, _| {}),
        ("sealed, and not renamed", |f, _| seal(&f.path())),
        ("renamed, and there is no new file", |f, rotated| {
            seal(&f.path());
            fs::rename(f.path(), rotated).expect("renames");
        }),
        ("the new file is there and empty", |f, rotated| {
            seal(&f.path());
            fs::rename(f.path(), rotated).expect("renames");
            fs::write(f.path(), "").expect("writes");
        }),
        ("a part of its first record is there", |f, rotated| {
            seal(&f.path());
            fs::rename(f.path(), rotated).expect("renames");
            fs::write(f.path(), "{\"v\":1,\"seq\":6,\"ti").expect("writes");
        }),
        ("its first record lacks its newline", |f, rotated| {
            append_some(&f.rotating(1), 1);
            assert!(rotated.exists());
            let text = fs::read(f.path()).expect("reads");
            fs::write(f.path(), &text[..text.len() - 1]).expect("writes");
        }),
        ("the full file is torn, so it is not rotated yet", |f, _| {
            let text = fs::read(f.path()).expect("reads");
            fs::write(f.path(), [&text[..], b"{\"v\":1,\"s"].concat()).expect("writes");
        }),
    ];
    for (what, step) in steps {
        // An intent is open in the file that is rotated away.
        let fixture = Fixture::new();
        let before = fixture.rotating(u64::MAX);
        append_some(&before, 4);
        let open = before.append(intent(9), Durability::Synced).expect("appends");
        let rotated = fixture.dir.path().join("audit-00000000000000000001.jsonl");
        step(&fixture, &rotated);
        let whole: Vec<u8> = fixture
            .names()
            .iter()
            .flat_map(|n| fs::read(fixture.dir.path().join(n)).expect("reads"))
            .collect();

        // Sound as it is, found by all who look, continued by who had it open and by who opens it.
        assert!(fixture.sound().records >= 5, "{what}");
        let found =
            fixture.log().open_intents(NOW).expect("scans").intents().map(|(seq, _)| seq).collect::<Vec<_>>();
        assert_eq!(found, [open], "{what}");
        append_some(&before, 1);
        let log = fixture.rotating(1);
        append_some(&log, 2);
        let mut reconcile = log.open_intents(NOW).expect("scans");
        reconcile.settle(open, settled(None)).expect("settles");
        reconcile.finish().expect("finishes");
        let report = fixture.sound();
        assert_eq!(report.intents_open, 0, "{what}");
        assert!(report.files.len() >= 3, "{what}: {:?}", report.files);
        let after: Vec<u8> = fixture
            .names()
            .iter()
            .flat_map(|n| fs::read(fixture.dir.path().join(n)).expect("reads"))
            .collect();
        assert!(after.starts_with(&whole), "{what}: what was there is there, in order");
        let count = seqs(&fixture, EntryRange::All).into_iter().filter(|seq| *seq > 0).collect::<Vec<_>>();
        assert_eq!(count, (1..=report.records).collect::<Vec<_>>(), "{what}");
    }
}

#[test]
fn a_checkpoint_in_a_file_that_was_rotated_away_still_spares_what_came_before() {
    let fixture = Fixture::with(4);
    fixture.log().open_intents(NOW).expect("scans").finish().expect("finishes");
    let log = fixture.rotating(1);
    append_some(&log, 1);
    let open = log.append(intent(1), Durability::Synced).expect("appends");
    append_some(&log, 1);
    let first = fixture.dir.path().join("audit-00000000000000000001.jsonl");
    // An outcome garbled within its length: who reads there finds its intent open.
    let mut bytes = fs::read(&first).expect("reads");
    let second = bytes.iter().position(|b| *b == b'\n').expect("it has lines") + 1;
    bytes[second] = b'x';
    fs::write(&first, bytes).expect("writes");
    let found = || -> Vec<u64> {
        fixture.log().open_intents(NOW).expect("scans").intents().map(|(seq, _)| seq).collect()
    };
    assert_eq!(found(), [open]);
    fs::remove_file(fixture.dir.path().join("audit.checkpoint")).expect("removes");
    assert_eq!(found(), [1, open]);
}

#[test]
fn a_call_is_found_in_whatever_file_tells_of_it_last() {
    let fixture = Fixture::new();
    let log = fixture.rotating(1);
    let call = facts(0).call;
    assert_eq!(log.find_landed(&call).expect("reads"), None);
    append_some(&log, 2);
    log.append(intent(5), Durability::Buffered).expect("appends");
    assert_eq!(log.find_landed(&call).expect("reads"), Some(LandedCall::All(files())));
    assert_eq!(log.find_landed(&facts(5).call).expect("reads"), None, "an intent is no outcome");
    let code = Some(ErrorCode::TimedOut);
    let nothing = CallOutcome { code, files: Vec::new(), ..settled(None) };
    log.append(AuditEvent::Outcome(nothing), Durability::Buffered).expect("appends");
    log.append(intent(6), Durability::Buffered).expect("appends");
    assert_eq!(log.find_landed(&call).expect("reads"), None);
    let failed = CallOutcome { code, reason: Some("why".into()), ..settled(None) };
    log.append(AuditEvent::Outcome(failed), Durability::Buffered).expect("appends");
    let error = ToolError::new(ErrorCode::TimedOut, "why");
    assert_eq!(log.find_landed(&call).expect("reads"), Some(LandedCall::Failed { error, done: files() }));
}

#[test]
fn what_a_crash_let_happen_is_told_with_what_was_planned() {
    // In one file, and with a rotation between the intent and its outcome.
    for rotate_bytes in [SMALL * 10, 1] {
        let fixture = Fixture::new();
        let log = fixture.rotating(rotate_bytes);
        let two = || {
            [files(), vec![FileFacts { path: "/shared/b".into(), bytes: 1, sha256: "b".into() }.into()]]
                .concat()
        };
        let plan = |files| AuditEvent::Intent(Intent { facts: facts(0), files });
        log.append(plan(files()), Durability::Buffered).expect("appends");
        let seq = log.append(plan(two()), Durability::Buffered).expect("appends");
        let code = Some(ErrorCode::WriteFailed);
        let found = CallOutcome { code, reconciled: true, ..settled(Some(seq)) };
        log.append(AuditEvent::Outcome(found), Durability::Buffered).expect("appends");
        log.append(intent(5), Durability::Buffered).expect("appends");
        let landed = log.find_landed(&facts(0).call).expect("reads");
        assert_eq!(landed, Some(LandedCall::Part { planned: two(), done: files() }), "{rotate_bytes}");
    }
}

#[test]
fn nothing_is_ever_renamed_over() {
    let fixture = Fixture::new();
    let log = fixture.rotating(SMALL);
    append_some(&log, 2);
    let taken = fixture.dir.path().join("audit-00000000000000000001.jsonl");
    fs::write(&taken, "somebody's").expect("writes");
    append_some(&log, 6);
    assert_eq!(fs::read_to_string(&taken).expect("reads"), "somebody's");
    assert_eq!(log.head().seq, 8);
    let mode = fs::metadata(fixture.path()).expect("there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600, "it is not sealed");
    // The log went on in the file it had, and rotates when that is possible again.
    fs::remove_file(&taken).expect("removes");
    assert_eq!(fixture.sound().records, 8);
    append_some(&fixture.rotating(SMALL), 1);
    assert_eq!((fixture.sound().records, fixture.sound().files.len()), (9, 2));
}

#[test]
fn a_folder_that_takes_no_new_name_stops_no_append() {
    let fixture = Fixture::with(5);
    let log = fixture.rotating(SMALL);
    // A longer name than any folder takes makes every rename fail.
    let long = fixture.dir.path().join(format!("{}.jsonl", "n".repeat(245)));
    fs::rename(fixture.path(), &long).expect("renames");
    drop(log);
    let config = Config { rotate_bytes: ByteSize(1), ..Config::default() };
    let log = AuditLog::open_with(&long, &config).expect("opens");
    append_some(&log, 3);
    assert_eq!(sound(&long).records, 8);
    assert_eq!(fixture.names().len(), 1);
}

#[test]
fn a_log_that_is_cut_in_use_is_not_continued() {
    let fixture = Fixture::with(3);
    let log = fixture.log();
    fixture.put_lines(&fixture.lines()[..2]);
    let before = fixture.bytes();
    let refused = log.append(outcome(None), Durability::Buffered);
    assert!(matches!(refused, Err(AuditError::WentBack { known: 3, found: 2 })), "{refused:?}");
    assert_eq!(fixture.bytes(), before);
}

#[test]
fn a_rotated_file_that_was_cut_is_not_gone_on_from() {
    let fixture = Fixture::with(4);
    append_some(&fixture.rotating(1), 1);
    let rotated = fixture.dir.path().join("audit-00000000000000000001.jsonl");
    let text = fs::read(&rotated).expect("reads");
    fs::write(fixture.path(), "").expect("writes");
    for cut in [text.len() - 1, text.len() - 30, 10, 0] {
        fs::write(&rotated, &text[..cut]).expect("writes");
        let opened = AuditLog::open(&fixture.path());
        assert!(matches!(opened, Err(AuditError::RotatedEnd { .. })), "cut to {cut}: {opened:?}");
    }
    fs::write(&rotated, &text).expect("writes");
    assert_eq!(fixture.append(), 5);
}

#[test]
fn readers_see_one_moment_of_a_log_that_is_rotated_meanwhile() {
    let fixture = Fixture::new();
    append_some(&fixture.rotating(SMALL), 1);
    thread::scope(|scope| {
        let writer = scope.spawn(|| append_some(&fixture.rotating(SMALL), 300));
        let mut seen = 0;
        while !writer.is_finished() {
            let report = fixture.sound();
            assert!(report.records >= seen, "{} after {seen}", report.records);
            seen = report.records;
            let last = seqs(&fixture, EntryRange::Last(10));
            assert!(last.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{last:?}");
        }
    });
    assert_eq!(fixture.sound().records, 301);
}

#[test]
fn the_rotated_file_is_the_same_file_under_another_name() {
    let fixture = Fixture::with(2);
    let inode = fs::metadata(fixture.path()).expect("there").ino();
    append_some(&fixture.rotating(1), 1);
    let rotated = fs::metadata(fixture.dir.path().join("audit-00000000000000000001.jsonl")).expect("there");
    assert_eq!((rotated.ino(), rotated.nlink()), (inode, 1));
}
