//! `audit verify`: what a check of the chain and of signed heads found.

use super::{Format, Named, line, name};
use crate::cli::{Exit, Output};
use cofferdam_warden::audit::sign::{self, Forged, PublicKey, SIGNATURES, Statement};
use cofferdam_warden::audit::{
    self, AuditError, BadRecord, Ending, Head, Kept, Report, Verification, Witness,
};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) const EXAMPLE: &str = "\
Examples:
  cofferdam audit verify
  cofferdam audit verify --head 42:9f86d081…  (all 64 digits, as printed by an earlier check)
  cofferdam audit verify /mnt/copy --public-key key.pem.pub
  cofferdam audit verify audit-00000000000000000001.jsonl";

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The folder of a log, or files of one in their order [default: the log in the state folder]
    #[arg(value_name = "FILE|DIR")]
    files: Vec<PathBuf>,
    /// A head kept elsewhere, which the chain must still contain: finds a cut tail
    #[arg(long, value_name = "SEQ:SHA256")]
    head: Option<Head>,
    /// Whose signed heads the chain must still contain: a PEM file, or 32 bytes as base64 or hex
    #[arg(long, value_name = "KEY")]
    public_key: Option<String>,
    /// The signed heads [default: audit.signatures.jsonl beside the log]
    #[arg(long, value_name = "FILE", requires = "public_key")]
    signatures: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// Checks a whole log, told as JSON.
pub(super) fn check(active: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let output = Output { json: true };
    let whole = Arguments { files: Vec::new(), head: None, public_key: None, signatures: None, output };
    run(active, &whole, out)
}

pub(super) fn run(active: &Path, arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let named = Named::new(active, &arguments.files);
    let format = Format::from(arguments.output);
    let mut kept: Vec<Kept> = Vec::new();
    let mut signed = None;
    if let Some(key) = &arguments.public_key {
        let beside = named.beside(SIGNATURES);
        let file = arguments.signatures.as_deref().unwrap_or(&beside);
        let lines = match sign::read(file, &PublicKey::named(key)?) {
            // Whoever cuts the log can delete it too; one that is named is to be there.
            Err(AuditError::Open { source, .. })
                if arguments.signatures.is_none() && source.kind() == io::ErrorKind::NotFound =>
            {
                Vec::new()
            }
            lines => lines?,
        };
        match statements(file, lines) {
            Ok(found) => {
                kept.extend((1..).zip(&found).map(|(line, statement)| Kept {
                    head: statement.head(),
                    by: Witness::Statement { line },
                }));
                signed = Some(Signed::of(found));
            }
            Err(bad) => {
                line(out, if format == Format::Json { bad.json() } else { bad.text() })?;
                return Ok(Exit::ProblemFound);
            }
        }
    }
    kept.extend(arguments.head.clone().map(|head| Kept { head, by: Witness::Person }));
    match audit::verify(named.source(), &kept)? {
        Verification::Sound(report) => {
            let text = match format {
                Format::Text => sound(&report, arguments.head.as_ref(), signed.as_ref()),
                Format::Json => sound_json(&report, signed.as_ref()),
            };
            line(out, text)?;
            Ok(Exit::Done)
        }
        Verification::Bad { file, record } => {
            line(
                out,
                if format == Format::Json { bad_json(&file, &record) } else { bad_text(&file, &record) },
            )?;
            Ok(Exit::ProblemFound)
        }
    }
}

/// What the statements came to: how many, and the newest head.
struct Signed {
    count: usize,
    newest: Option<Statement>,
}

impl Signed {
    fn of(statements: Vec<Statement>) -> Self {
        Self { count: statements.len(), newest: statements.into_iter().max_by_key(|s| s.seq) }
    }
}

/// A statement that is not believed; no line when there is none at all.
struct BadStatement {
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

    fn text(&self) -> String {
        let at = self.at.as_ref().map(|(line, _)| format!(" at line {line}")).unwrap_or_default();
        format!("signatures BAD{at} of {}: {}", self.file, self.what())
    }

    fn json(&self) -> String {
        let line = self.at.as_ref().map(|(line, _)| *line);
        json!({ "ok": false, "file": self.file, "line": line, "what": self.what() }).to_string()
    }
}

/// The statements, at least one, unless one of them is not believed.
fn statements(file: &Path, lines: Vec<Result<Statement, Forged>>) -> Result<Vec<Statement>, BadStatement> {
    let bad = |at| BadStatement { file: name(file), at };
    if lines.is_empty() {
        return Err(bad(None));
    }
    let believed = (1..).zip(lines).map(|(at, line)| line.map_err(|forged| bad(Some((at, forged)))));
    believed.collect()
}

fn sound(report: &Report, kept: Option<&Head>, signed: Option<&Signed>) -> String {
    let Report { records, recovered, intents_open, ending, head, .. } = report;
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

fn sound_json(report: &Report, signed: Option<&Signed>) -> String {
    let torn = match report.ending {
        Ending::Whole => json!(null),
        Ending::Torn { line, bytes } => json!({ "line": line, "bytes": bytes }),
    };
    let signed = signed.map_or(Value::Null, |Signed { count, newest }| {
        let newest = newest.as_ref().map(|s| json!({ "seq": s.seq, "sha256": s.sha256, "time": s.time }));
        json!({ "statements": count, "newest": newest })
    });
    json!({
        "ok": true, "records": report.records, "head": report.head, "recovered": report.recovered,
        "intents_open": report.intents_open, "torn": torn,
        "files": report.files.iter().map(|file| name(file)).collect::<Vec<_>>(),
        "continues": report.continues, "unchecked": report.unchecked, "signed": signed,
    })
    .to_string()
}

fn bad_text(file: &Path, bad: &BadRecord) -> String {
    format!("audit BAD at line {} (seq {}) of {}: {}", bad.line, bad.seq, name(file), bad.fault)
}

fn bad_json(file: &Path, bad: &BadRecord) -> String {
    let what = bad.fault.to_string();
    json!({ "ok": false, "file": name(file), "line": bad.line, "seq": bad.seq, "what": what }).to_string()
}
