//! What the audit keeps and what a check of it finds, on real files in a directory of its own.

mod appending;
mod chains;
mod document;
mod entries;
mod processes;
mod reconciling;
mod rotating;
mod segments;
mod tampering;
mod torn;

use super::{
    AuditError, AuditLog, BadRecord, Config, Durability, Head, Kept, LogSelection, RecordFault, Report,
    Verification, Witness,
};
use cofferdam_core::audit::{
    AuditEvent, CallFacts, CallOutcome, Effect, FileFacts, GENESIS, Intent, VerdictKind,
};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::limits::ByteSize;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A log in a directory of its own.
struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// With `count` records: an intent and its outcome in turn.
    fn with(count: u64) -> Self {
        let fixture = Self::new();
        let log = fixture.log();
        for seq in 1..=count {
            let event = if seq % 2 == 1 { intent(seq) } else { outcome(Some(seq - 1)) };
            assert_eq!(log.append(event, Durability::Buffered).expect("appends"), seq);
        }
        fixture
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("audit.jsonl")
    }

    fn log(&self) -> AuditLog {
        AuditLog::open(&self.path()).expect("opens")
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).expect("reads")
    }

    fn put(&self, bytes: &[u8]) {
        // In place: ext4 writes a file out that is emptied and written again, and these tests do
        // that often.
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(self.path());
        let file = file.expect("opens");
        file.write_all_at(bytes, 0).and_then(|()| file.set_len(bytes.len() as u64)).expect("writes");
    }

    /// The lines with their newlines.
    fn lines(&self) -> Vec<Vec<u8>> {
        self.bytes().split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
    }

    fn put_lines(&self, lines: &[Vec<u8>]) {
        self.put(&lines.concat());
    }

    fn sound(&self) -> Report {
        sound(&self.path())
    }

    fn bad(&self) -> BadRecord {
        bad(&self.path(), None)
    }

    /// The log with files of about this many bytes.
    fn rotating(&self, bytes: u64) -> AuditLog {
        let config = Config { rotate_bytes: ByteSize(bytes), ..Config::default() };
        AuditLog::open_with(&self.path(), &config).expect("opens")
    }

    /// The names of the log's files, in the order of the chain.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).expect("reads");
        let names = entries.map(|e| e.expect("reads").file_name().into_string().expect("text"));
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".jsonl")).collect();
        names.sort();
        names
    }

    fn append(&self) -> u64 {
        self.log().append(outcome(None), Durability::Buffered).expect("appends")
    }
}

fn sound(path: &Path) -> Report {
    match verify(path, None).expect("reads") {
        Verification::Sound(report) => report,
        Verification::Bad { file, record } => {
            panic!("{file:?} bad at line {}: {}", record.line, record.fault)
        }
    }
}

/// The check of a whole log, and of a head that a person kept.
fn verify(path: &Path, kept: Option<&Head>) -> Result<Verification, AuditError> {
    let kept: Vec<_> =
        kept.into_iter().map(|head| Kept { head: head.clone(), by: Witness::Person }).collect();
    super::verify(LogSelection::Log(path), &kept, Vec::new())
}

fn bad(path: &Path, kept: Option<&Head>) -> BadRecord {
    match verify(path, kept).expect("reads") {
        Verification::Bad { record, .. } => record,
        Verification::Sound(report) => panic!("sound: {report:?}"),
    }
}

fn facts(n: usize) -> CallFacts {
    let turn = TurnId::new("telegram-829110");
    CallFacts {
        call: turn.call(n),
        turn,
        session: None,
        own_workspace: false,
        caller: Caller { channel: "telegram".into(), sender: "123456789".into() },
        tool: "attachment_save".into(),
        component_sha256: Some(GENESIS.into()),
        policy_sha256: Some(GENESIS.into()),
        profile: Some("file-read-write".into()),
        arguments: json!({ "index": 0, "path": "/shared/a.txt", "ratio": 0.1, "big": 1e300, "none": null }),
        arguments_sha256: GENESIS.into(),
    }
}

fn files() -> Vec<Effect> {
    vec![FileFacts { path: "/shared/ä.txt".into(), bytes: 12, sha256: "ab".repeat(32) }.into()]
}

fn intent(n: u64) -> AuditEvent {
    AuditEvent::Intent(Intent { facts: facts(usize::try_from(n).expect("small")), files: files() })
}

fn settled(intent: Option<u64>) -> CallOutcome {
    CallOutcome {
        facts: facts(0),
        verdict: VerdictKind::Permit,
        reason: None,
        code: None,
        files: files(),
        intent,
        reconciled: false,
        settled_by: None,
        duration_us: 1234,
    }
}

fn outcome(intent: Option<u64>) -> AuditEvent {
    AuditEvent::Outcome(settled(intent))
}

/// What is said where the chain ends before the head that a person has kept.
fn cut_tail(seq: u64) -> RecordFault {
    RecordFault::CutTail(format!("the head kept elsewhere (seq {seq})"))
}

/// What is said where it has another record there.
fn other_head() -> RecordFault {
    RecordFault::OtherHead("the head kept elsewhere".into())
}
