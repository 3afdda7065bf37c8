//! `audit verify`: checks the chain and the signed heads.

use super::{Named, line};
use crate::cli::{Exit, Output};
use cofferdam_review::audit::{Signed, bad_json, bad_text, format_sound, format_sound_json, statements};
use cofferdam_warden::audit::sign::{self, PublicKey, SIGNATURES};
use cofferdam_warden::audit::{self, AuditError, Head, Kept, Verification, Witness};
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
    let as_json = arguments.output.json;
    let mut kept: Vec<Kept> = Vec::new();
    let mut signed = None;
    if let Some(key) = &arguments.public_key {
        let beside = named.sibling_path(SIGNATURES);
        let file = arguments.signatures.as_deref().unwrap_or(&beside);
        let lines = match sign::read(file, &PublicKey::parse(key)?) {
            // Anyone who cuts the log can delete it too; one that is named is to be there.
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
                signed = Some(Signed::from_statements(found));
            }
            Err(bad) => {
                line(out, if as_json { bad.json() } else { bad.text() })?;
                return Ok(Exit::ProblemFound);
            }
        }
    }
    kept.extend(arguments.head.clone().map(|head| Kept { head, by: Witness::Person }));
    match audit::verify(named.source(), &kept)? {
        Verification::Sound(report) => {
            let text = match as_json {
                false => format_sound(&report, arguments.head.as_ref(), signed.as_ref()),
                true => format_sound_json(&report, signed.as_ref()),
            };
            line(out, text)?;
            Ok(Exit::Done)
        }
        Verification::Bad { file, record } => {
            line(out, if as_json { bad_json(&file, &record) } else { bad_text(&file, &record) })?;
            Ok(Exit::ProblemFound)
        }
    }
}
