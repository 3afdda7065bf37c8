//! A statement about a head: one line of JSON, in one form only, and what its signature covers.
//!
//! A statement that differs in a byte from what was signed and written is refused.

use super::super::Head;
use super::super::lines::{LineEnd, PositionedReader};
use super::super::reading::{self, LineKind};
use super::super::{AuditError, open};
use super::key::{PublicKey, SecretKey};
use super::signer::can_be_torn;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::json::parse_strict;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// More statements than this are not held in memory, but reported.
pub const STATEMENTS_MAX: usize = 65_536;

/// The version of the layout, and of what is signed.
const VERSION: u32 = 1;

/// What is signed about a chain: that at this time its last record was this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    v: u32,
    /// The head's position.
    pub seq: u64,
    /// SHA-256 of its line, lower-case hex.
    pub sha256: String,
    /// When it was signed: UTC, RFC 3339, by the clock of the machine that signed.
    pub time: String,
    public_key: String,
    signature: String,
}

/// Why a statement is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forged {
    /// The line is not one that this version writes.
    #[error("it is not a statement as they are written")]
    NotAStatement,
    /// It names another key.
    #[error("it was signed with another key ({0})")]
    OtherKey(String),
    /// The signature is not over this.
    #[error("its signature is not of this key over these values: one of them was changed")]
    BadSignature,
    /// The file ends within the line, as a crash leaves one: so many bytes, which say nothing.
    #[error("a crash tore it after {0} bytes")]
    Torn(u64),
}

impl Statement {
    /// The statement that `head` is the last record, made at `time`.
    pub(in super::super) fn sign(key: &SecretKey, head: &Head, time: String) -> Self {
        let Head { seq, sha256 } = head.clone();
        let signature = STANDARD.encode(key.sign(&signed_bytes(seq, &sha256, &time)));
        Self { v: VERSION, seq, sha256, time, public_key: key.public().to_string(), signature }
    }

    /// The statement on a line, if `key` signed it.
    ///
    /// # Errors
    /// [`Forged`].
    pub fn check(line: &str, key: &PublicKey) -> Result<Self, Forged> {
        let parsed = parse_strict(line).ok().and_then(|value| Self::deserialize(value).ok());
        let statement = parsed.filter(|s| s.v == VERSION && s.line() == line).ok_or(Forged::NotAStatement)?;
        if statement.public_key != key.to_string() {
            return Err(Forged::OtherKey(cofferdam_core::text::one_line(&statement.public_key, 60)));
        }
        let bytes = signed_bytes(statement.seq, &statement.sha256, &statement.time);
        let signature = STANDARD.decode(&statement.signature).unwrap_or_default();
        if key.is_signed(&bytes, &signature) { Ok(statement) } else { Err(Forged::BadSignature) }
    }

    /// The head that it is about.
    pub fn head(&self) -> Head {
        Head { seq: self.seq, sha256: self.sha256.clone() }
    }

    /// Its one form, without a newline.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }
}

/// The statements in a file, each line with what was found; lines are counted from 1.
///
/// # Errors
/// When the file cannot be read, or holds more than [`STATEMENTS_MAX`].
pub fn read(path: &Path, key: &PublicKey) -> Result<Vec<Result<Statement, Forged>>, AuditError> {
    let file = open::open_for_read(path)?;
    let end = file.metadata().map_err(AuditError::Read)?.len();
    let mut lines = PositionedReader::new(&file, 0, end);
    let mut found = Vec::new();
    while let Some(line) = lines.next()? {
        if found.len() == STATEMENTS_MAX {
            return Err(AuditError::TooManyStatements(path.to_owned()));
        }
        let text = std::str::from_utf8(line.bytes).map_err(|_| Forged::NotAStatement);
        let checked = text.and_then(|text| Statement::check(text, key));
        // As in the log itself, what is whole JSON was not torn.
        let is_torn = line.end == LineEnd::EndOfFile
            && can_be_torn(line.bytes)
            && matches!(reading::read(line.bytes), LineKind::Torn(_));
        found.push(if is_torn { Err(Forged::Torn(line.len)) } else { checked });
    }
    Ok(found)
}

/// What is signed. No value holds a newline, so no two heads have the same bytes.
fn signed_bytes(seq: u64, sha256: &str, time: &str) -> Vec<u8> {
    format!("cofferdam audit head v{VERSION}\nseq {seq}\nsha256 {sha256}\ntime {time}\n").into_bytes()
}
