//! How the files of the audit are opened, and read to a length that stays: regular files only,
//! created private, never blocking.

use super::lock::{self, LockScope};
use super::{AuditError, LOCK_WAIT};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file for reading and appending, created with mode 0600 when absent; not through a symlink.
pub(super) fn open_for_append(path: &Path) -> Result<File, AuditError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    open_nonblocking(path, flags, OpenOptions::new().read(true).append(true).create(true).mode(0o600))
}

/// The file for reading; a reviewer may point a symlink at it.
pub(super) fn open_for_read(path: &Path) -> Result<File, AuditError> {
    open_nonblocking(path, OFlags::NONBLOCK, OpenOptions::new().read(true))
}

/// The length up to which the log is whole: no append is half done there, and none is taken back
/// below.
pub(super) fn settled_length(file: &File) -> Result<u64, AuditError> {
    let _lock = lock::log(file, LockScope::Shared, LOCK_WAIT)?;
    Ok(file.metadata().map_err(AuditError::Read)?.len())
}

/// Has the disk hold what was read, so that no power loss takes what is told of it. Needs no right
/// to write.
///
/// A file system that has no synchronization, as that of a read-only medium, has nothing to lose.
pub(super) fn confirm_read(file: &File) -> Result<(), AuditError> {
    match file.sync_data() {
        Err(error) if !matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::ROFS)) => {
            Err(AuditError::Sync(error))
        }
        _ => Ok(()),
    }
}

/// Without blocking, because opening a FIFO waits for its other end.
fn open_nonblocking(path: &Path, flags: OFlags, options: &mut OpenOptions) -> Result<File, AuditError> {
    let failed = |source| AuditError::Open { path: path.to_owned(), source };
    let file = options.custom_flags(flags.bits().cast_signed()).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(AuditError::NotAFile { path: path.to_owned() });
    }
    Ok(file)
}
