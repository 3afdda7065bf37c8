//! What a check of the chain and of signed heads found, for people and in JSON.

use super::name;
use cofferdam_warden::audit::sign::{Forged, Statement};
use cofferdam_warden::audit::{BadRecord, Head, Report, TornEnd};
use serde_json::{Value, json};
use std::path::Path;

/// The statements of a file, all believed.
pub struct SignedHeads {
    /// At least one.
    pub statements: Vec<Statement>,
    /// What a crash left of one more.
    pub torn: Option<TornEnd>,
}

/// The statements of a file, at least one, unless one of them is not believed. What a crash left at
/// the end says nothing, and is none.
///
/// # Errors
/// The first that is not, or that there is none, for people and in JSON.
pub fn statements(
    file: &Path,
    mut lines: Vec<Result<Statement, Forged>>,
) -> Result<SignedHeads, (String, Value)> {
    let bad = |line: Option<u64>, what: String| {
        let (file, at) = (name(file), line.map(|line| format!(" at line {line}")).unwrap_or_default());
        let text = format!("signatures BAD{at} of {file}: {what}");
        (text, json!({ "ok": false, "file": file, "line": line, "what": what }))
    };
    let torn = match lines.last() {
        Some(Err(Forged::Torn(bytes))) => Some(TornEnd { line: lines.len() as u64, bytes: *bytes }),
        _ => None,
    };
    lines.truncate(lines.len() - usize::from(torn.is_some()));
    if lines.is_empty() {
        return Err(bad(None, "there is no statement, so nothing is proven".to_owned()));
    }
    let believed =
        (1..).zip(lines).map(|(at, line)| line.map_err(|forged| bad(Some(at), forged.to_string())));
    Ok(SignedHeads { statements: believed.collect::<Result<_, _>>()?, torn })
}

/// What a sound log holds, for people; `kept` is the head that a person gave, `signed` are the
/// statements that were believed.
pub fn format_sound(report: &Report, kept: Option<&Head>, signed: Option<&SignedHeads>) -> String {
    let Report { records, recovered, intents_open, torn, head, .. } = report;
    let mut text = format!("audit ok: {records} records, head {head}");
    let mut line = |words: String| {
        text.push('\n');
        text.push_str(&words);
    };
    if let [first, .., last] = &report.files[..] {
        line(format!("In {} files, from {} to {}.", report.files.len(), name(first), name(last)));
    }
    if let Some(Head { seq, sha256 }) = &report.continues {
        line(format!(
            "notice: it begins with record {}, whose prev is {sha256}: what came before, up to record {seq}, is \
             not looked at, so its beginning is not proven",
            seq + 1
        ));
    }
    if let Some(TornEnd { line: at, bytes }) = torn {
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
    if report.unchecked > 0 {
        line(format!("notice: heads from before the first record here, not checked: {}", report.unchecked));
    }
    if let Some(TornEnd { line: at, bytes }) = signed.and_then(|signed| signed.torn) {
        line(format!(
            "notice: line {at} of the signed heads was torn by a crash after {bytes} bytes; the next signature \
             takes its place"
        ));
    }
    if let Some(SignedHeads { statements, .. }) = signed
        && let Some(newest) = statements.iter().max_by_key(|s| s.seq)
    {
        line(format!(
            "Signed heads: {}, all by this key; the newest is record {} at {}. Records after it: {}.",
            statements.len(),
            newest.seq,
            cofferdam_core::text::one_line(&newest.time, 40),
            head.seq.saturating_sub(newest.seq)
        ));
    }
    match kept {
        Some(kept) => line(format!("It holds the head kept elsewhere, record {}.", kept.seq)),
        None if signed.is_some() => {}
        None => line(
            "Keep the head elsewhere, and give it to `audit verify --head`: without it, a cut tail, a changed \
             last record or a log written anew cannot be seen."
                .to_owned(),
        ),
    }
    text
}

/// The same in JSON.
pub fn format_sound_json(report: &Report, signed: Option<&SignedHeads>) -> Value {
    let signed = signed.map(|SignedHeads { statements, torn }| {
        let newest = statements.iter().max_by_key(|s| s.seq);
        let newest = newest.map(|s| json!({ "seq": s.seq, "sha256": s.sha256, "time": s.time }));
        json!({ "statements": statements.len(), "newest": newest, "torn": torn })
    });
    json!({
        "ok": true, "records": report.records, "head": report.head, "recovered": report.recovered,
        "intents_open": report.intents_open, "torn": report.torn,
        "files": report.files.iter().map(|file| name(file)).collect::<Vec<_>>(),
        "continues": report.continues, "unchecked": report.unchecked, "signed": signed,
    })
}

/// The first bad record, for people and in JSON.
pub fn describe_bad(file: &Path, bad: &BadRecord) -> (String, Value) {
    let (file, what) = (name(file), bad.fault.to_string());
    let text = format!("audit BAD at line {} (seq {}) of {file}: {what}", bad.line, bad.seq);
    (text, json!({ "ok": false, "file": file, "line": bad.line, "seq": bad.seq, "what": what }))
}
