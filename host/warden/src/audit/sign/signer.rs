//! Signing heads while the gateway runs: at every rotation, and when it stops.
//!
//! A statement that cannot be written fails no call: the log is whole without it, and the next one
//! covers all that it would have covered.

use super::super::log::now;
use super::super::{AuditError, AuditLog, Head};
use super::key::SecretKey;
use super::statement::Statement;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The file beside the log that statements are appended to.
pub const SIGNATURES: &str = "audit.signatures.jsonl";

/// A statement is shorter, so what a crash left of one is too.
const TORN_BYTES_MAX: u64 = 4096;

/// How every statement's line begins.
const LINE_START: &[u8] = b"{\"v\":1,\"seq\":";

impl SecretKey {
    /// A statement about a head, made now.
    ///
    /// # Errors
    /// [`AuditError::NoHead`] for the head of an empty log.
    pub fn sign_head(&self, head: &Head) -> Result<Statement, AuditError> {
        if head.seq == 0 { Err(AuditError::NoHead) } else { Ok(Statement::sign(self, head, now())) }
    }
}

impl AuditLog {
    /// Signs the head, as far as this process knows the log, into the file beside it; nothing
    /// without a configured key or without a record.
    ///
    /// # Errors
    /// When the disk does not confirm the head, or the statement cannot be written.
    pub fn sign_head(&self) -> Result<(), AuditError> {
        let Some(key) = self.sign_key.as_ref().filter(|_| self.head().seq > 0) else { return Ok(()) };
        // A power loss must not take what is signed: that would be the proof that somebody cut the
        // log.
        let head = self.head();
        self.confirm(head.seq)?;
        append(&self.sibling_path(SIGNATURES), &key.sign_head(&head)?)
    }

    /// The same for a head at a rotation, which the disk has confirmed, and where nothing may fail
    /// for it.
    pub(in super::super) fn sign_in_passing(&self, head: &Head) {
        let Some(key) = &self.sign_key else { return };
        let signed =
            key.sign_head(head).and_then(|statement| append(&self.sibling_path(SIGNATURES), &statement));
        if let Err(error) = signed {
            tracing::error!(error = &error as &dyn std::error::Error, "a head of the audit was not signed");
        }
    }
}

/// Adds a statement to a file of them, durably; the file is made if it is not there.
///
/// # Errors
/// [`AuditError::StatementNotWritten`].
pub fn append(path: &Path, statement: &Statement) -> Result<(), AuditError> {
    let file = File::options().read(true).append(true).create(true).mode(0o600).open(path);
    file.and_then(|file| write(&file, statement))
        .map_err(|cause| AuditError::StatementNotWritten { path: path.to_owned(), cause })
}

fn write(mut file: &File, statement: &Statement) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return file.write_all((statement.line() + "\n").as_bytes());
    }
    // Until the file is closed.
    flock(file, FlockOperation::LockExclusive)?;
    drop_torn(file)?;
    file.write_all((statement.line() + "\n").as_bytes())?;
    file.sync_all()
}

/// Takes back the part of a line that a crash left at the end: it says nothing, and would spoil the
/// next.
fn drop_torn(file: &File) -> io::Result<()> {
    let end = file.metadata()?.len();
    let start = end.saturating_sub(TORN_BYTES_MAX);
    let mut last = vec![0; usize::try_from(end - start).unwrap_or_default()];
    file.read_exact_at(&mut last, start)?;
    if last.last().is_none_or(|b| *b == b'\n') {
        return Ok(());
    }
    let torn = last.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    // A file of something else, named by mistake, keeps what it has.
    if !can_be_torn(&last[torn..]) {
        return Err(io::Error::other("it does not end as a file of statements does"));
    }
    file.set_len(start + torn as u64)
}

/// Whether bytes without a newline can be what a crash left of a statement.
pub(super) fn can_be_torn(fragment: &[u8]) -> bool {
    fragment.len() as u64 <= TORN_BYTES_MAX
        && (fragment.starts_with(LINE_START) || LINE_START.starts_with(fragment))
}
