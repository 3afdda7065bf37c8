//! Rotation: the full active file gets another name, and a new one goes on with the chain.
//!
//! Three steps, all under the lock of the old file: the seal, the rename, the new file. The seal is
//! a bit of the file's mode, so that a process that has the file open sees it with its length.
//! Killed after it, a file that is sealed and still has its name is rotated by the next append;
//! killed after the rename, there is no active file, and the next process that opens the log makes
//! it. It never renames over a file, and it never fails an append: a log that cannot be rotated
//! goes on in the file that it has.

use super::lines::PositionedReader;
use super::log::ActiveFile;
use super::reading::{LineKind, read};
use super::tail::{LogTail, TailRest};
use super::{AuditError, AuditLog, files, open};
use rustix::fs::{AtFlags, RenameFlags, renameat_with, statat};
use rustix::io::Errno;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// How much longer a file grows before a rotation that failed is tried again.
pub(super) const RETRY_BYTES: u64 = 1 << 20;

/// The tail of the active file, `end` bytes long. Where it holds no record, the newest rotated
/// file's head is the one to go on from.
pub(super) fn tail(path: &Path, folder: &File, file: &File, end: u64) -> Result<LogTail, AuditError> {
    if end == 0 {
        // Before the first record, so that the file's name, and the one that the file before it was
        // rotated to, are as durable as what they lead to.
        folder
            .sync_all()
            .map_err(|source| AuditError::Open { path: files::folder(path).to_owned(), source })?;
    }
    let mut tail = LogTail::read(file, end)?;
    if tail.head.seq == 0
        && let Some(newest) = files::newest(path)?
    {
        let file = open::open_for_read(&newest)?;
        let rotated = LogTail::read(&file, file.metadata().map_err(AuditError::Read)?.len())?;
        if rotated.rest != TailRest::Whole || rotated.head.seq == 0 {
            return Err(AuditError::RotatedEnd(newest));
        }
        tail.head = rotated.head;
    }
    Ok(tail)
}

/// The sticky bit, which means nothing else on a regular file.
const SEAL: u32 = 0o1000;

/// Whether a file is about to be rotated away, or was.
pub(super) fn is_sealed(file: &Metadata) -> bool {
    file.mode() & SEAL != 0
}

/// Whether the file that is open has the name of the active one.
pub(super) fn is_active(log: &AuditLog, current: &ActiveFile) -> Result<bool, AuditError> {
    match statat(&log.folder, log.path.file_name().unwrap_or_default(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => Ok((there.st_dev, there.st_ino) == current.id),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(AuditError::Read(errno.into())),
    }
}

/// Seals and renames the active file, which is on the disk and ends with a whole record, and signs
/// its head. `false` when it keeps its name.
pub(super) fn rotate_away(log: &AuditLog, current: &ActiveFile) -> bool {
    match rename_active(log, current) {
        Ok(()) => {
            log.sign_in_passing(&current.tail.head);
            true
        }
        Err(error) => {
            tracing::warn!(%error, "the audit file cannot be rotated; it goes on growing");
            if let Err(error) = set_mode(&current.file, |mode| mode & !SEAL) {
                // Each append tries to rotate it then.
                tracing::warn!(%error, "the audit file stays sealed");
            }
            false
        }
    }
}

fn rename_active(log: &AuditLog, current: &ActiveFile) -> io::Result<()> {
    let first = first_seq(&current.file, current.tail.end).map_err(io::Error::other)?;
    let first = first.ok_or_else(|| io::Error::other("it holds no record that it could be named by"))?;
    set_mode(&current.file, |mode| mode | SEAL)?;
    if !is_sealed(&current.file.metadata()?) {
        return Err(io::Error::other("its file system does not keep modes"));
    }
    let (from, to) = (log.path.file_name().unwrap_or_default(), files::rotated_name(&log.path, first));
    Ok(renameat_with(&log.folder, from, &log.folder, &to, RenameFlags::NOREPLACE)?)
}

fn set_mode(file: &File, change: impl FnOnce(u32) -> u32) -> io::Result<()> {
    let mode = change(file.metadata()?.mode() & 0o7777);
    file.set_permissions(Permissions::from_mode(mode))
}

/// The `seq` of the first record of a file.
fn first_seq(file: &File, end: u64) -> Result<Option<u64>, AuditError> {
    let mut lines = PositionedReader::new(file, 0, end);
    while let Some(line) = lines.next()? {
        if let LineKind::Record(record) = read(line.bytes) {
            return Ok(Some(record.seq));
        }
    }
    Ok(None)
}
