//! What `audit verify` and `audit show` print.
//!
//! Text from the log is shown on one line without deceptive characters: a tool's caller chose it.

use crate::audit::{self, AuditError, BadRecord, Ending, Entry, Head, Report, Span, Verification};
use cofferdam_core::audit::{CallFacts, Effect, Event, Intent, Outcome, Record, Recovered, VerdictKind};
use cofferdam_core::text::one_line;
use serde_json::json;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Why a command did not finish.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuditCommandError {
    /// The log could not be read.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The output could not be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// What `audit verify` found, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Verified {
    /// The log is sound; a line torn by a crash at its end is part of that.
    Sound,
    /// A record is bad, and has been named.
    Bad,
}

/// Checks the log at `path`, against the head `kept` elsewhere if one is given, and prints the result.
///
/// # Errors
/// When the log cannot be read or the output not written.
pub(super) fn verify(
    path: &Path,
    kept: Option<&Head>,
    format: Format,
    out: &mut dyn Write,
) -> Result<Verified, AuditCommandError> {
    let (verified, text) = match (audit::verify(path, kept)?, format) {
        (Verification::Sound(report), Format::Text) => (Verified::Sound, sound(&report, kept)),
        (Verification::Sound(report), Format::Json) => (Verified::Sound, sound_json(&report)),
        (Verification::Bad(bad), Format::Text) => (Verified::Bad, bad_text(&bad)),
        (Verification::Bad(bad), Format::Json) => {
            let what = bad.fault.to_string();
            (
                Verified::Bad,
                json!({ "ok": false, "line": bad.line, "seq": bad.seq, "what": what }).to_string(),
            )
        }
    };
    writeln!(out, "{text}")?;
    Ok(verified)
}

/// Prints the entries of the log at `path`, newest last: a line each, or the log's own lines as JSON.
///
/// # Errors
/// When the log cannot be read or the output not written.
pub(super) fn show(
    path: &Path,
    span: Span,
    format: Format,
    out: &mut dyn Write,
) -> Result<(), AuditCommandError> {
    for entry in audit::show(path, span)? {
        match (entry?, format) {
            (Entry::Record { line, .. }, Format::Json) => writeln!(out, "{line}")?,
            (Entry::Record { record, .. }, Format::Text) => writeln!(out, "{}", row(&record))?,
            (Entry::Unreadable { offset, bytes, why }, Format::Json) => {
                writeln!(
                    out,
                    "{}",
                    json!({ "unreadable": { "offset": offset, "bytes": bytes, "why": why } })
                )?;
            }
            (Entry::Unreadable { offset, bytes, why }, Format::Text) => {
                writeln!(out, "unreadable: {bytes} bytes at offset {offset}: {}", one_line(&why, 200))?;
            }
        }
    }
    Ok(())
}

fn sound(report: &Report, kept: Option<&Head>) -> String {
    let Report { records, recovered, intents_open, ending, head } = report;
    let mut text = format!("audit ok: {records} records, head {head}");
    let mut line = |words: String| {
        text.push('\n');
        text.push_str(&words);
    };
    if let Ending::Torn { line: at, bytes } = ending {
        line(format!(
            "notice: line {at} was torn by a crash after {bytes} bytes; the next record says so and goes on"
        ));
    }
    if *recovered > 0 {
        line(format!("notice: torn lines that a `recovered` record names: {recovered}"));
    }
    if *intents_open > 0 {
        line(format!(
            "notice: intents without an outcome, under way or settled by the next start: {intents_open}"
        ));
    }
    match kept {
        Some(kept) => line(format!("It holds the head kept elsewhere, record {}.", kept.seq)),
        None => line(
            "Keep the head elsewhere, and give it to `audit verify --head`: without it, a cut tail, a changed \
             last record or a log written anew cannot be seen."
                .to_owned(),
        ),
    }
    text
}

fn sound_json(report: &Report) -> String {
    let torn = match report.ending {
        Ending::Whole => json!(null),
        Ending::Torn { line, bytes } => json!({ "line": line, "bytes": bytes }),
    };
    json!({
        "ok": true, "records": report.records, "head": report.head, "recovered": report.recovered,
        "intents_open": report.intents_open, "torn": torn,
    })
    .to_string()
}

fn bad_text(bad: &BadRecord) -> String {
    format!("audit BAD at line {} (seq {}): {}", bad.line, bad.seq, bad.fault)
}

/// One record on one line: time, seq, event, sender, tool, what came of it, files, duration.
fn row(record: &Record) -> String {
    let told = match &record.event {
        Event::Intent(Intent { facts, files }) => format!("intent   {}{}", who(facts), all(files)),
        Event::Outcome(outcome) => format!("outcome  {} {}", who(&outcome.facts), end(outcome)),
        Event::Recovered(Recovered { torn_bytes, torn_sha256 }) => {
            format!("recovered after a torn line of {torn_bytes} bytes, sha256 {}", short(torn_sha256))
        }
    };
    format!("{} {:>6} {told}", one_line(&record.time, 40), record.seq)
}

fn who(facts: &CallFacts) -> String {
    let (channel, sender) = (&facts.caller.channel, &facts.caller.sender);
    one_line(&format!("{channel}:{sender} {}", facts.tool), 200)
}

fn end(outcome: &Outcome) -> String {
    let mut text = match (outcome.verdict, outcome.code) {
        (VerdictKind::Permit, None) => "done".to_owned(),
        (VerdictKind::Permit, Some(code)) => format!("failed {code}"),
        (VerdictKind::Deny, None) => "denied".to_owned(),
        (VerdictKind::Deny, Some(code)) => format!("denied {code}"),
    };
    if let Some(seq) = outcome.intent {
        let _ = write!(text, " (intent {seq}{})", if outcome.reconciled { ", reconciled" } else { "" });
    }
    text.push_str(&all(&outcome.files));
    if let Some(reason) = &outcome.reason {
        let _ = write!(text, " {:?}", one_line(reason, 200));
    }
    text + " " + &duration(outcome.duration_us)
}

fn all(files: &[Effect]) -> String {
    let one = |effect: &Effect| {
        let path = one_line(effect.path(), 4096);
        match effect {
            Effect::Written(f) => format!(" {path} {} bytes sha256 {}", f.bytes, short(&f.sha256)),
            Effect::Moved(m) => format!(" {path} moved from {}", one_line(&m.moved_from, 4096)),
            Effect::Removed(r) => format!(" {path} removed, {} entries", r.entries),
        }
    };
    files.iter().map(one).collect()
}

/// The first 12 digits; the log has them all.
fn short(sha256: &str) -> String {
    one_line(sha256, 64).chars().take(12).collect()
}

fn duration(us: u64) -> String {
    match us {
        0..=999 => format!("{us} µs"),
        1_000..=999_999 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{AuditLog, Durability};
    use cofferdam_core::audit::GENESIS;
    use cofferdam_core::id::{Caller, TurnId};
    use cofferdam_core::tool::ErrorCode;
    use std::fs;
    use std::path::PathBuf;

    fn facts() -> CallFacts {
        let turn = TurnId::new("telegram-829110");
        CallFacts {
            call: turn.call(0),
            turn,
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

    fn file(path: &str) -> FileFacts {
        FileFacts { path: path.into(), bytes: 12, sha256: "0123456789abcdef".repeat(4) }
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

    fn verified(path: &Path, kept: Option<&Head>, format: Format) -> (Verified, String) {
        let mut out = Vec::new();
        let verified = verify(path, kept, format, &mut out).expect("reads");
        (verified, String::from_utf8(out).expect("UTF-8"))
    }

    fn shown(path: &Path, format: Format) -> String {
        let mut out = Vec::new();
        show(path, Span::All, format, &mut out).expect("reads");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_record_is_one_plain_line() {
        let check = |event: Event, expected: &str| {
            let time = "2026-01-02T03:04:05.678Z".into();
            let record = Record { v: 1, seq: 12, time, prev: GENESIS.into(), event };
            assert_eq!(row(&record), format!("2026-01-02T03:04:05.678Z     12 {expected}"));
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
        check(
            Event::Outcome(settled.clone()),
            &format!("outcome  {who} done (intent 11) {file_text} 1.2 ms"),
        );
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
        check(
            Event::Recovered(Recovered { torn_bytes: 57, torn_sha256: "ab".repeat(32) }),
            "recovered after a torn line of 57 bytes, sha256 abababababab",
        );
    }

    #[test]
    fn a_sound_log_and_its_head_are_told() {
        let intent = Event::Intent(Intent { facts: facts(), files: Vec::new() });
        let (_dir, path) = log(&[Event::Outcome(outcome()), intent]);
        let head = AuditLog::open(&path).expect("opens").head();
        let (found, text) = verified(&path, None, Format::Text);
        assert_eq!(found, Verified::Sound);
        assert_eq!(
            text,
            format!(
                "audit ok: 2 records, head {head}\n\
                 notice: intents without an outcome, under way or settled by the next start: 1\n\
                 Keep the head elsewhere, and give it to `audit verify --head`: without it, a cut tail, a \
                 changed last record or a log written anew cannot be seen.\n"
            )
        );
        let (found, text) = verified(&path, Some(&head), Format::Text);
        assert_eq!(found, Verified::Sound);
        assert!(text.ends_with("\nIt holds the head kept elsewhere, record 2.\n"), "{text}");

        let sha256 = head.sha256;
        fs::write(&path, [fs::read(&path).expect("reads"), b"{\"v\"".to_vec()].concat()).expect("writes");
        let (found, text) = verified(&path, None, Format::Text);
        assert_eq!(found, Verified::Sound);
        assert!(text.contains("\nnotice: line 3 was torn by a crash after 4 bytes;"), "{text}");
        let expected = format!(
            r#"{{"ok":true,"records":2,"head":{{"seq":2,"sha256":"{sha256}"}},"recovered":0,"intents_open":1,"torn":{{"line":3,"bytes":4}}}}"#
        );
        assert_eq!(verified(&path, None, Format::Json), (Verified::Sound, expected + "\n"));
    }

    #[test]
    fn the_first_bad_record_is_named() {
        let (_dir, path) = log(&[Event::Outcome(outcome()), Event::Outcome(denied())]);
        let text = fs::read_to_string(&path).expect("reads");
        fs::write(&path, text.replacen("123456789", "987654321", 1)).expect("writes");
        let what = "the record at line 2 holds another hash of it: one of the two was changed";
        let expected = format!("audit BAD at line 1 (seq 1): {what}\n");
        assert_eq!(verified(&path, None, Format::Text), (Verified::Bad, expected));
        let expected = format!("{{\"ok\":false,\"line\":1,\"seq\":1,\"what\":\"{what}\"}}\n");
        assert_eq!(verified(&path, None, Format::Json), (Verified::Bad, expected));
    }

    #[test]
    fn json_is_the_log_itself_and_always_json() {
        let (_dir, path) = log(&[Event::Outcome(denied())]);
        let text = fs::read_to_string(&path).expect("reads");
        fs::write(&path, format!("{text}\u{1b}[31m")).expect("writes");
        let json = shown(&path, Format::Json);
        assert!(json.starts_with(&text), "{json}");
        for line in json.lines() {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON");
        }
        let shown = shown(&path, Format::Text);
        assert!(shown.lines().count() == 2 && !shown.contains(['\u{1b}', '\u{202E}']), "{shown}");
        assert!(shown.contains("\nunreadable: 5 bytes at offset "), "{shown}");
    }
}
