//! How the files of the audit are opened, and read to a length that stays: regular files only,
//! created private, never blocking.

use super::lock;
use super::{AuditError, LOCK_WAIT};
use crate::files::open_if_regular;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The file for reading and appending, created with mode 0600 when absent; not through a symlink.
pub(super) fn open_for_append(path: &Path) -> Result<File, AuditError> {
    open_nonblocking(
        path,
        OFlags::NOFOLLOW,
        OpenOptions::new().read(true).append(true).create(true).mode(0o600),
    )
}

/// Looks whether [`open_for_append`] would open what is there. Makes nothing.
pub(super) fn check_for_append(path: &Path) -> Result<(), AuditError> {
    match open_nonblocking(path, OFlags::NOFOLLOW, OpenOptions::new().read(true).append(true)) {
        Err(AuditError::Open { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened.map(drop),
    }
}

/// The file for reading; a reviewer may point a symlink at it.
pub(super) fn open_for_read(path: &Path) -> Result<File, AuditError> {
    open_nonblocking(path, OFlags::empty(), OpenOptions::new().read(true))
}

/// The length up to which the log is whole: no append is half done there, and none is taken back
/// below.
pub(super) fn settled_length(file: &File) -> Result<u64, AuditError> {
    let _lock = lock::acquire(file, lock::AUDIT_FILE, File::try_lock_shared, LOCK_WAIT)?;
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

fn open_nonblocking(path: &Path, flags: OFlags, options: &mut OpenOptions) -> Result<File, AuditError> {
    let opened = open_if_regular(path, flags, options);
    let opened = opened.map_err(|source| AuditError::Open { path: path.to_owned(), source })?;
    opened.ok_or_else(|| AuditError::NotAFile(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::fs;

    #[test]
    fn a_look_refuses_what_an_opening_refuses_and_makes_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("folder")).expect("writable");
        mkfifoat(CWD, at("fifo"), Mode::RUSR | Mode::WUSR).expect("writable");
        std::os::unix::fs::symlink("nowhere", at("link")).expect("writable");
        fs::write(at("file"), "").expect("writable");
        for (name, opens) in [("folder", false), ("fifo", false), ("link", false), ("file", true)] {
            assert_eq!(check_for_append(&at(name)).is_ok(), opens, "{name}");
            assert_eq!(open_for_append(&at(name)).is_ok(), opens, "{name}");
        }
        check_for_append(&at("absent")).expect("it could be made");
        check_for_append(&at("folder/absent/lock")).expect("its folder could be made");
        assert!(!at("absent").exists());
    }
}
