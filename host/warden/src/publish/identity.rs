//! Whether a name still stands for what was looked at. A name may be given to something else at any
//! time; a file number (inode), while a handle on it is open, may not.

use super::resolve;
use cofferdam_core::audit::EntryKind;
use cofferdam_policy::PathSnapshot;
use rustix::fd::AsFd;
use rustix::fs::{FileType, Stat, fstat};
use rustix::io::Result;

/// Which file, directory or other thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    pub(super) inode: u64,
    kind: u32,
}

impl FileIdentity {
    pub(super) fn from_stat(stat: &Stat) -> Self {
        let kind = FileType::from_raw_mode(stat.st_mode).as_raw_mode();
        Self { device: stat.st_dev, inode: stat.st_ino, kind }
    }

    /// That of an open file.
    pub(super) fn from_file(file: impl AsFd) -> Result<Self> {
        Ok(Self::from_stat(&fstat(file)?))
    }

    /// Whether a name stands for it.
    pub(super) fn has_name(&self, parent: impl AsFd, name: &str) -> Result<bool> {
        Ok(resolve::handle(parent, name)?.is_some_and(|(_, found)| Self::from_stat(&found) == *self))
    }

    /// What the audit calls it.
    pub(super) fn kind(&self) -> EntryKind {
        match FileType::from_raw_mode(self.kind) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            _ => EntryKind::Other,
        }
    }
}

/// A file, directory or other thing at one moment, which an approval relies on: any change of a
/// file's content makes another one.
#[allow(clippy::unnecessary_cast, reason = "the widths differ between machines")]
pub(super) fn snapshot(stat: &Stat) -> PathSnapshot {
    let identity = FileIdentity::from_stat(stat);
    PathSnapshot {
        kind: identity.kind(),
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        number: (identity.device, identity.inode),
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}

/// Whether this still is what was approved: of a file with the content that it had; of a directory
/// which one it is, since what it holds changes with every write of anybody.
pub(super) fn is_as_approved(stat: &Stat, seen: &PathSnapshot) -> bool {
    let now = snapshot(stat);
    match now.kind {
        EntryKind::File => now == *seen,
        EntryKind::Directory | EntryKind::Other => (now.kind, now.number) == (seen.kind, seen.number),
    }
}

/// What an approval relies on where it is read: of a directory which one it is, since what it holds
/// changes with every write of anybody.
pub(super) fn read_snapshot(stat: &Stat) -> PathSnapshot {
    let seen = snapshot(stat);
    if seen.kind == EntryKind::Directory {
        return PathSnapshot { bytes: 0, modified: (0, 0), changed: (0, 0), ..seen };
    }
    seen
}
