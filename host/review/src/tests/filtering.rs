//! Which records a filter lets through, alone and with others, from the last ones and over files.

use super::{facts, outcome};
use crate::audit::{Filter, PathPattern};
use cofferdam_core::audit::{
    AuditEvent, CallFacts, CallOutcome, Effect, EntryKind, FileFacts, Intent, Recovered, VerdictKind,
};
use cofferdam_core::id::{Caller, SessionId};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::tool::ErrorCode;
use cofferdam_warden::audit::{
    AuditLog, Config, Durability, EntryRange, LogEntry, LogSelection, read_entries,
};
use jiff::Timestamp;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A log in a directory of its own.
struct Fixture {
    dir: TempDir,
}

impl Fixture {
    /// With these records, in files of about this many bytes.
    fn with(events: impl IntoIterator<Item = AuditEvent>, bytes: u64) -> Self {
        let fixture = Self { dir: tempfile::tempdir().expect("a temporary directory") };
        let config = Config { rotate_bytes: ByteSize(bytes), ..Config::default() };
        for event in events {
            let log = AuditLog::open_with(&fixture.path(), &config).expect("opens");
            log.append(event, Durability::Buffered).expect("appends");
        }
        fixture
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("audit.jsonl")
    }

    /// How many files the log has.
    fn files(&self) -> usize {
        let entries = fs::read_dir(self.dir.path()).expect("reads");
        let names = entries.map(|e| e.expect("reads").file_name().into_string().expect("text"));
        names.filter(|name| name.ends_with(".jsonl")).count()
    }
}

/// Seven records over several files: what is asked about them is in the table below.
fn log() -> Fixture {
    let written =
        |path: &str| Effect::from(FileFacts { path: path.into(), bytes: 1, sha256: "ab".repeat(32) });
    let moved = Effect::Moved {
        path: "/shared/new".into(),
        moved_from: "/tmp/old".into(),
        kind: EntryKind::File,
        inode: 1,
    };
    let removed = Effect::Removed { path: "/tmp/dir".into(), removed: EntryKind::Directory, entries: 3 };
    let of = |n, channel: &str, sender: &str, tool: &str, arguments| CallFacts {
        caller: Caller { channel: channel.into(), sender: sender.into() },
        session: (sender == "7").then(|| SessionId::new("telegram-99:7/0")),
        tool: tool.into(),
        arguments,
        ..facts(n)
    };
    let ended = |facts, files| CallOutcome { facts, files, ..outcome() };
    let failed = |code, outcome| CallOutcome { code: Some(code), reason: Some("why".into()), ..outcome };
    let denied =
        |outcome| CallOutcome { verdict: VerdictKind::Deny, ..failed(ErrorCode::PathDenied, outcome) };
    let save = of(1, "telegram", "123", "attachment_save", json!({ "path": "/shared/a" }));
    let events = [
        AuditEvent::Intent(Intent { facts: save.clone(), files: vec![written("/shared/a")] }),
        AuditEvent::Outcome(ended(save, vec![written("/shared/a")])),
        AuditEvent::Outcome(denied(ended(
            of(2, "cli", "0", "file_read", json!({ "path": "/vault/k" })),
            vec![],
        ))),
        AuditEvent::Outcome(ended(of(3, "cli", "123", "file_move", json!({ "from": "x" })), vec![moved])),
        AuditEvent::Recovered(Recovered { torn_bytes: 1, torn_sha256: "ab".repeat(32) }),
        AuditEvent::Outcome(ended(of(4, "telegram", "123", "file_delete", json!({})), vec![removed])),
        AuditEvent::Outcome(failed(
            ErrorCode::TimedOut,
            ended(
                of(5, "telegram", "7", "file_search", json!({ "paths": [{ "at": "/shared/b/c" }] })),
                vec![],
            ),
        )),
    ];
    let fixture = Fixture::with(events, 2000);
    assert!(fixture.files() > 1);
    fixture
}

fn seqs(fixture: &Fixture, span: EntryRange, filter: &Filter) -> Vec<u64> {
    let entries =
        read_entries(LogSelection::Log(&fixture.path()), span, filter.clone().to_predicate()).expect("opens");
    entries
        .map(|entry| match entry.expect("reads") {
            LogEntry::Record { record, .. } => record.seq,
            LogEntry::Unreadable { .. } => 0,
        })
        .collect()
}

#[test]
fn each_condition_lets_through_what_it_says() {
    let fixture = log();
    let none = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    let path = |text: &str| Filter { path: Some(PathPattern::parse(text).expect("a pattern")), ..none() };
    let time = |text: &str| Some(text.parse::<Timestamp>().expect("a time"));
    let (past, future) = (time("2020-01-01T00:00:00Z"), time("2200-01-01T00:00:00Z"));
    let cases: &[(Filter, &[u64])] = &[
        (none(), &[1, 2, 3, 4, 5, 6, 7]),
        (Filter { tool: text("attachment_save"), ..none() }, &[1, 2]),
        (Filter { tool: text("attachment"), ..none() }, &[]),
        (Filter { sender: text("123"), ..none() }, &[1, 2, 4, 6]),
        (Filter { channel: text("cli"), ..none() }, &[3, 4]),
        (Filter { sender: text("123"), channel: text("cli"), ..none() }, &[4]),
        (Filter { verdict: Some(VerdictKind::Deny), ..none() }, &[3]),
        (Filter { verdict: Some(VerdictKind::Permit), ..none() }, &[2, 4, 6, 7]),
        (Filter { code: Some(ErrorCode::TimedOut), ..none() }, &[7]),
        (Filter { code: Some(ErrorCode::TimedOut), verdict: Some(VerdictKind::Deny), ..none() }, &[]),
        (Filter { call: text("telegram-829110/1"), ..none() }, &[1, 2]),
        (Filter { session: text("telegram-99:7/0"), ..none() }, &[7]),
        (Filter { session: text("telegram-99:7"), ..none() }, &[]),
        (path("/shared"), &[1, 2, 4, 7]),
        (path("/tmp"), &[4, 6]),
        (path("/tmp/*"), &[4, 6]),
        (path("/vault"), &[3]),
        (path("/shared/b"), &[7]),
        (path("/shared/?"), &[1, 2]),
        (path("/**/c"), &[7]),
        (path("/shared/aa"), &[]),
        (Filter { since: past, ..none() }, &[1, 2, 3, 4, 5, 6, 7]),
        (Filter { before: past, ..none() }, &[]),
        (Filter { since: future, ..none() }, &[]),
        (Filter { since: past, before: future, tool: text("file_read"), ..none() }, &[3]),
    ];
    for (filter, expected) in cases {
        assert_eq!(seqs(&fixture, EntryRange::All, filter), *expected, "{filter:?}");
        // The last ones are counted among those that match, whatever file they are in.
        for count in 0..=expected.len() + 1 {
            let last = &expected[expected.len() - count.min(expected.len())..];
            assert_eq!(seqs(&fixture, EntryRange::Last(count as u64), filter), last, "{count} of {filter:?}");
        }
        assert_eq!(seqs(&fixture, EntryRange::Last(u64::MAX), filter), *expected);
    }
}

#[test]
fn times_bound_from_the_first_to_before_the_last() {
    let fixture = Fixture::with((0..3).map(|_| AuditEvent::Outcome(outcome())), 1 << 20);
    let text = fs::read_to_string(fixture.path()).expect("reads");
    let records: Vec<cofferdam_core::audit::Record> =
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    let at: Timestamp = records[1].time.parse().expect("a time");
    let same =
        |record: &&cofferdam_core::audit::Record| record.time.parse::<Timestamp>().is_ok_and(|t| t >= at);
    let expected: Vec<u64> = records.iter().filter(same).map(|record| record.seq).collect();
    let since = Filter { since: Some(at), ..Filter::default() };
    assert_eq!(seqs(&fixture, EntryRange::All, &since), expected);
    let before = Filter { before: Some(at), ..Filter::default() };
    assert_eq!(seqs(&fixture, EntryRange::All, &before).len(), 3 - expected.len());
}
