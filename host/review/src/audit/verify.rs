//! What a check of the chain and of signed heads found, for people and in JSON.

use super::name;
use cofferdam_warden::audit::sign::{Forged, Statement};
use cofferdam_warden::audit::{BadRecord, Head, Report, TornEnd};
use serde_json::{Value, json};
use std::path::Path;

/// What the statements came to: how many, and the newest head.
pub struct Signed {
    count: usize,
    newest: Option<Statement>,
}

impl Signed {
    /// The statements that were believed.
    pub fn from_statements(statements: Vec<Statement>) -> Self {
        Self { count: statements.len(), newest: statements.into_iter().max_by_key(|s| s.seq) }
    }
}

/// A statement that is not believed; no line when there is none at all.
pub struct BadStatement {
    file: String,
    at: Option<(u64, Forged)>,
}

impl BadStatement {
    fn what(&self) -> String {
        match &self.at {
            Some((_, forged)) => forged.to_string(),
            None => "there is no statement, so nothing is proven".to_owned(),
        }
    }

    /// In one line for people.
    pub fn text(&self) -> String {
        let at = self.at.as_ref().map(|(line, _)| format!(" at line {line}")).unwrap_or_default();
        format!("signatures BAD{at} of {}: {}", self.file, self.what())
    }

    /// The same in JSON.
    pub fn json(&self) -> Value {
        let line = self.at.as_ref().map(|(line, _)| *line);
        json!({ "ok": false, "file": self.file, "line": line, "what": self.what() })
    }
}

/// The statements of a file, at least one, unless one of them is not believed.
///
/// # Errors
/// The first that is not, or that there is none.
pub fn statements(
    file: &Path,
    lines: Vec<Result<Statement, Forged>>,
) -> Result<Vec<Statement>, BadStatement> {
    let bad = |at| BadStatement { file: name(file), at };
    if lines.is_empty() {
        return Err(bad(None));
    }
    let believed = (1..).zip(lines).map(|(at, line)| line.map_err(|forged| bad(Some((at, forged)))));
    believed.collect()
}

/// What a sound log holds, for people; `kept` is the head that a person gave.
pub fn format_sound(report: &Report, kept: Option<&Head>, signed: Option<&Signed>) -> String {
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
    if let Some(Signed { count, newest: Some(newest) }) = signed {
        line(format!(
            "Signed heads: {count}, all by this key; the newest is record {} at {}. Records after it: {}.",
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
pub fn format_sound_json(report: &Report, signed: Option<&Signed>) -> Value {
    let signed = signed.map_or(Value::Null, |Signed { count, newest }| {
        let newest = newest.as_ref().map(|s| json!({ "seq": s.seq, "sha256": s.sha256, "time": s.time }));
        json!({ "statements": count, "newest": newest })
    });
    json!({
        "ok": true, "records": report.records, "head": report.head, "recovered": report.recovered,
        "intents_open": report.intents_open, "torn": report.torn,
        "files": report.files.iter().map(|file| name(file)).collect::<Vec<_>>(),
        "continues": report.continues, "unchecked": report.unchecked, "signed": signed,
    })
}

/// The first bad record, for people.
pub fn bad_text(file: &Path, bad: &BadRecord) -> String {
    format!("audit BAD at line {} (seq {}) of {}: {}", bad.line, bad.seq, name(file), bad.fault)
}

/// The same in JSON.
pub fn bad_json(file: &Path, bad: &BadRecord) -> Value {
    let what = bad.fault.to_string();
    json!({ "ok": false, "file": name(file), "line": bad.line, "seq": bad.seq, "what": what })
}
