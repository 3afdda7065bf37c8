//! What people read of the audit: checks and records, literally.

use super::*;
use clap::Parser;
use cofferdam_core::audit::{
    CallFacts, Effect, EntryKind, Event, FileFacts, GENESIS, Intent, Moved, Outcome, Record, Recovered,
    Reload, ReloadState, Removed, VerdictKind,
};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::tool::ErrorCode;
use cofferdam_warden::audit::{AuditLog, Durability};
use serde_json::json;
use std::fs;
use std::path::PathBuf;

fn facts() -> CallFacts {
    let turn = TurnId::new("telegram-829110");
    CallFacts {
        call: turn.call(0),
        turn,
        session: None,
        own_workspace: false,
        caller: Caller { channel: "telegram".into(), sender: "123456789".into() },
        tool: "attachment_save".into(),
        component_sha256: None,
        policy_sha256: None,
        profile: None,
        arguments: json!({}),
        arguments_sha256: GENESIS.into(),
    }
}

fn outcome() -> Outcome {
    Outcome {
        facts: facts(),
        verdict: VerdictKind::Permit,
        reason: None,
        code: None,
        files: Vec::new(),
        intent: None,
        reconciled: false,
        duration_us: 850,
    }
}

fn file(path: &str) -> Effect {
    FileFacts { path: path.into(), bytes: 12, sha256: "0123456789abcdef".repeat(4) }.into()
}

fn denied() -> Outcome {
    let reason = Some("outside\n\u{202E}the mounts".into());
    Outcome { verdict: VerdictKind::Deny, code: Some(ErrorCode::PathDenied), reason, ..outcome() }
}

fn log(events: &[Event]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("audit.jsonl");
    let log = AuditLog::open(&path).expect("opens");
    for event in events {
        log.append(event.clone(), Durability::Buffered).expect("appends");
    }
    (dir, path)
}

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The exit code and the output of a command.
fn ran(path: &Path, words: &[&str]) -> (u8, String) {
    let cli = Cli::try_parse_from([&["audit"], words].concat()).expect("a command");
    let (mut out, mut notices) = (Vec::new(), Vec::new());
    let exit = run_on(path, None, cli.command, &mut out, &mut notices).expect("reads");
    (exit as u8, String::from_utf8(out).expect("UTF-8"))
}

#[test]
fn a_record_is_one_plain_line() {
    let check = |event: Event, expected: &str| {
        let time = "2026-01-02T03:04:05.678Z".into();
        let record = Record { v: 1, seq: 12, time, prev: GENESIS.into(), event };
        assert_eq!(row::row(&record), format!("2026-01-02T03:04:05.678Z     12 {expected}"));
    };
    let who = "telegram:123456789 attachment_save";
    let file_text = "/shared/a.txt 12 bytes sha256 0123456789ab";
    let files = vec![file("/shared/a.txt")];
    check(
        Event::Intent(Intent { facts: facts(), files: files.clone() }),
        &format!("intent   {who} {file_text}"),
    );
    check(Event::Outcome(outcome()), &format!("outcome  {who} done 850 µs"));
    let settled = Outcome { files, intent: Some(11), duration_us: 1_250, ..outcome() };
    check(Event::Outcome(settled.clone()), &format!("outcome  {who} done (intent 11) {file_text} 1.2 ms"));
    let reconciled = Outcome { reconciled: true, duration_us: 2_500_000, ..settled };
    check(
        Event::Outcome(reconciled),
        &format!("outcome  {who} done (intent 11, reconciled) {file_text} 2.5 s"),
    );
    check(
        Event::Outcome(denied()),
        &format!("outcome  {who} denied path_denied \"outside  the mounts\" 850 µs"),
    );
    let failed = Outcome { code: Some(ErrorCode::TimedOut), ..outcome() };
    check(Event::Outcome(failed), &format!("outcome  {who} failed timed_out 850 µs"));
    let moved = Effect::Moved(Moved {
        path: "/shared/b".into(),
        moved_from: "/tmp/a".into(),
        kind: EntryKind::File,
        inode: 7,
    });
    let removed = |removed, entries| Effect::Removed(Removed { path: "/shared/c".into(), removed, entries });
    let changed = vec![
        moved,
        removed(EntryKind::Directory, 12),
        removed(EntryKind::Directory, 1),
        removed(EntryKind::File, 1),
    ];
    check(
        Event::Intent(Intent { facts: facts(), files: changed }),
        &format!(
            "intent   {who} moved /tmp/a to /shared/b removed /shared/c, 12 entries removed /shared/c, 1 entry \
             removed /shared/c"
        ),
    );
    check(
        Event::Recovered(Recovered { torn_bytes: 57, torn_sha256: "ab".repeat(32) }),
        "recovered after a torn line of 57 bytes, sha256 abababababab",
    );
    let sha256 = |digits: &str| Some(digits.repeat(32));
    let reload = Reload {
        reload: ReloadState::Applied,
        config_sha256: sha256("ab"),
        policies_sha256: sha256("cd"),
        reason: None,
    };
    let refused = Reload {
        reload: ReloadState::Refused,
        policies_sha256: None,
        reason: Some("line\n7".into()),
        ..reload.clone()
    };
    check(
        Event::Reload(reload),
        "reload   applied configuration sha256 abababababab policies sha256 cdcdcdcdcdcd",
    );
    check(Event::Reload(refused), "reload   refused configuration sha256 abababababab \"line 7\"");
}

#[test]
fn a_sound_log_and_its_head_are_told() {
    let intent = Event::Intent(Intent { facts: facts(), files: Vec::new() });
    let (_dir, path) = log(&[Event::Outcome(outcome()), intent]);
    let head = AuditLog::open(&path).expect("opens").head();
    let (found, text) = ran(&path, &["verify"]);
    assert_eq!(found, 0);
    assert_eq!(
        text,
        format!(
            "audit ok: 2 records, head {head}\n\
             notice: intents without an outcome, under way or settled by the next start: 1\n\
             Keep the head elsewhere, and give it to `audit verify --head`: without it, a cut tail, a \
             changed last record or a log written anew cannot be seen.\n"
        )
    );
    let (found, text) = ran(&path, &["verify", "--head", &head.to_string()]);
    assert_eq!(found, 0);
    assert!(text.ends_with("\nIt holds the head kept elsewhere, record 2.\n"), "{text}");

    let sha256 = head.sha256;
    fs::write(&path, [fs::read(&path).expect("reads"), b"{\"v\"".to_vec()].concat()).expect("writes");
    let (found, text) = ran(&path, &["verify"]);
    assert_eq!(found, 0);
    assert!(text.contains("\nnotice: line 3 was torn by a crash after 4 bytes;"), "{text}");
    let expected = format!(
        r#"{{"ok":true,"records":2,"head":{{"seq":2,"sha256":"{sha256}"}},"recovered":0,"intents_open":1,"torn":{{"line":3,"bytes":4}},"files":["audit.jsonl"],"continues":null,"unchecked":0,"signed":null}}"#
    );
    assert_eq!(ran(&path, &["verify", "--json"]), (0, expected + "\n"));
}

#[test]
fn the_first_bad_record_is_named() {
    let (_dir, path) = log(&[Event::Outcome(outcome()), Event::Outcome(denied())]);
    let text = fs::read_to_string(&path).expect("reads");
    fs::write(&path, text.replacen("123456789", "987654321", 1)).expect("writes");
    let what = "the record at line 2 holds another hash of it: one of the two was changed";
    let expected = format!("audit BAD at line 1 (seq 1) of audit.jsonl: {what}\n");
    assert_eq!(ran(&path, &["verify"]), (3, expected));
    let expected =
        format!("{{\"ok\":false,\"file\":\"audit.jsonl\",\"line\":1,\"seq\":1,\"what\":\"{what}\"}}\n");
    assert_eq!(ran(&path, &["verify", "--json"]), (3, expected));
}

#[test]
fn json_is_the_log_itself_and_always_json() {
    let (_dir, path) = log(&[Event::Outcome(denied())]);
    let text = fs::read_to_string(&path).expect("reads");
    fs::write(&path, format!("{text}\u{1b}[31m")).expect("writes");
    let json = ran(&path, &["show", "--json"]).1;
    assert!(json.starts_with(&text), "{json}");
    for line in json.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    }
    let shown = ran(&path, &["show"]).1;
    assert!(shown.lines().count() == 2 && !shown.contains(['\u{1b}', '\u{202E}']), "{shown}");
    assert!(shown.contains("\nunreadable: 5 bytes at offset "), "{shown}");
}
