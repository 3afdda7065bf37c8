//! What people read of the audit: checks and entries, literally.

use super::*;
use clap::Parser;
use cofferdam_core::audit::{AuditEvent, CallFacts, CallOutcome, GENESIS, Intent, VerdictKind};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_core::text::is_deceptive;
use cofferdam_core::tool::ErrorCode;
use cofferdam_warden::audit::{AuditLog, Durability};
use serde_json::json;
use std::fs;

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

fn outcome() -> CallOutcome {
    CallOutcome {
        facts: facts(),
        verdict: VerdictKind::Permit,
        reason: None,
        code: None,
        files: Vec::new(),
        intent: None,
        reconciled: false,
        settled_by: None,
        duration_us: 850,
    }
}

fn denied() -> CallOutcome {
    let reason = Some("outside\n\u{202E}the mounts".into());
    CallOutcome { verdict: VerdictKind::Deny, code: Some(ErrorCode::PathDenied), reason, ..outcome() }
}

fn log(events: &[AuditEvent]) -> (tempfile::TempDir, PathBuf) {
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
    let state_dir = path.parent().expect("a folder");
    let exit = match &cli.command {
        Command::Verify(arguments) => verify::run(state_dir, arguments, &BTreeMap::new(), &mut out),
        Command::Show(arguments) => show::run(state_dir, arguments, &mut out, &mut notices),
        other => panic!("{other:?} is not run here"),
    };
    (exit.expect("reads") as u8, String::from_utf8(out).expect("UTF-8"))
}

#[test]
fn a_sound_log_and_its_head_are_told() {
    let intent = AuditEvent::Intent(Intent { facts: facts(), files: Vec::new() });
    let (_dir, path) = log(&[AuditEvent::Outcome(outcome()), intent]);
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
fn the_name_of_a_node_stays_on_its_line() {
    let told = BTreeMap::from([("b\u{1b}[2K\nc".to_owned(), format!("1:{GENESIS}"))]);
    let (_of_log, path) = log(&[AuditEvent::Heads { heads: told }]);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let folder = dir.path().join("node-a\n\u{1b}[2K\u{202e}");
    fs::create_dir(&folder).expect("writable");
    fs::copy(&path, folder.join("audit.jsonl")).expect("writable");
    for (words, found, told) in [
        (["verify"], 3, "node b [2K c: audit BAD: it is gone, with all up to the head that node a  [2K"),
        (["show"], 0, "a  [2K"),
    ] {
        let (exit, text) = ran(&dir.path().join("audit.jsonl"), &words);
        assert_eq!(exit, found, "{text:?}");
        assert!(text.lines().any(|line| line.starts_with(told)), "{text:?}");
        assert!(text.chars().all(|c| c == '\n' || !is_deceptive(c)), "{text:?}");
    }
}

#[test]
fn the_first_bad_record_is_named() {
    let (_dir, path) = log(&[AuditEvent::Outcome(outcome()), AuditEvent::Outcome(denied())]);
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
    let (_dir, path) = log(&[AuditEvent::Outcome(denied())]);
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
