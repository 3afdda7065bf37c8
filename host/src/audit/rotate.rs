//! Rotation: the full active file gets another name, and a new one goes on with the chain.
//!
//! Two steps, both under the lock of the old file: the rename, then the new file. Between them a kill
//! leaves no active file, and whoever opens the log next makes it. It never renames over a file, and it
//! never fails an append: a log that cannot be rotated goes on in the file that it has.

use super::lines::Lines;
use super::log::Current;
use super::reading::{Reading, read};
use super::tail::{Rest, Tail};
use super::{AuditError, AuditLog, files, open};
use rustix::fs::{RenameFlags, renameat_with};
use std::fs::File;
use std::path::Path;

/// How much longer a file grows before a rotation that failed is tried again.
pub(super) const RETRY_BYTES: u64 = 1 << 20;

/// The tail of the active file, `end` bytes long. Where it holds no record, the newest rotated file's head
/// is the one to go on from.
pub(super) fn tail(path: &Path, folder: &File, file: &File, end: u64) -> Result<Tail, AuditError> {
    if end == 0 {
        // Before the first record, so that the file's name, and the one that the file before it was
        // rotated to, are as durable as what they lead to.
        folder
            .sync_all()
            .map_err(|source| AuditError::Open { path: files::folder(path).to_owned(), source })?;
    }
    let mut tail = Tail::read(file, end)?;
    if tail.head.seq == 0
        && let Some(newest) = files::newest(path)?
    {
        let file = open::for_reading(&newest)?;
        let rotated = Tail::read(&file, file.metadata().map_err(AuditError::Read)?.len())?;
        if rotated.rest != Rest::Whole || rotated.head.seq == 0 {
            return Err(AuditError::RotatedEnd { path: newest });
        }
        tail.head = rotated.head;
    }
    Ok(tail)
}

/// Renames the active file, which is on the disk and ends with a whole record, and signs its head.
/// `false` when it keeps its name.
pub(super) fn away(log: &AuditLog, current: &Current) -> bool {
    let Ok(Some(first)) = first_seq(&current.file, current.tail.end) else {
        tracing::warn!("the audit file holds no record that it could be named by; it is not rotated");
        return false;
    };
    let (from, to) = (log.path.file_name().unwrap_or_default(), files::rotated_name(&log.path, first));
    if let Err(errno) = renameat_with(&log.folder, from, &log.folder, &to, RenameFlags::NOREPLACE) {
        let error = std::io::Error::from(errno);
        tracing::warn!(%error, to = %to.display(), "the audit file cannot be rotated; it goes on growing");
        return false;
    }
    log.sign_in_passing(&current.tail.head);
    true
}

/// The `seq` of the first record of a file.
fn first_seq(file: &File, end: u64) -> Result<Option<u64>, AuditError> {
    let mut lines = Lines::new(file, 0, end);
    while let Some(line) = lines.next()? {
        if let Reading::Record(record) = read(line.bytes) {
            return Ok(Some(record.seq));
        }
    }
    Ok(None)
}
