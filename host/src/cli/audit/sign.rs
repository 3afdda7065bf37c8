//! `audit sign` and `audit keygen`: a head that its owner vouches for, and the key to do it with.
//!
//! Signing looks at the whole chain first: a log that is not sound gets no statement.

use crate::cli::Exit;
use anyhow::bail;
use cofferdam_review::audit::name;
use cofferdam_warden::audit::sign::{self, SecretKey};
use cofferdam_warden::audit::{self, LogSelection, Verification};
use std::io::Write;
use std::path::Path;

pub(super) const SIGN_EXAMPLE: &str = "\
Example: cofferdam audit sign --key key.pem --out /mnt/elsewhere/signatures.jsonl
A statement helps where whoever writes the log does not write: keep it elsewhere.";
pub(super) const KEYGEN_EXAMPLE: &str = "\
Example: cofferdam audit keygen --out key.pem
Then set sign_key_file in [audit], and keep key.pem.pub elsewhere.";

/// Appends the statement to `file`; without one it goes to `out`.
pub(super) fn sign(
    active: &Path,
    key: Option<&Path>,
    file: Option<&Path>,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let Some(key) = key else {
        bail!("there is no key to sign with; give --key FILE, or set sign_key_file in [audit]");
    };
    let key = SecretKey::load(key)?;
    let report = match audit::verify(LogSelection::Log(active), &[], Vec::new())? {
        Verification::Sound(report) => report,
        Verification::Bad { file, record } => {
            let (at, file) = (record.line, name(&file));
            writeln!(out, "audit BAD at line {at} of {file}, so nothing is signed: {}", record.fault)?;
            return Ok(Exit::ProblemFound);
        }
    };
    let statement = key.sign_head(&report.head)?;
    match file {
        Some(file) => sign::append(file, &statement)?,
        None => writeln!(out, "{}", statement.line())?,
    }
    Ok(Exit::Done)
}

pub(super) fn keygen(file: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let key = SecretKey::generate()?;
    key.write(file)?;
    writeln!(out, "{}", key.public())?;
    Ok(Exit::Done)
}
