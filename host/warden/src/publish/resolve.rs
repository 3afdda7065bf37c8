//! How a path resolves: beneath its mount, on no other mount, and for writing through no symbolic
//! link.
//!
//! Reading may follow symbolic links that stay beneath. It refuses to follow anything else, and it
//! opens nothing for use but directories and files known to be regular: what a name stands for is
//! learned through `O_PATH`, which neither blocks on a FIFO nor wakes a device.

use super::Disposition;
use super::error::PublishError;
use crate::files::open_beneath;
use cofferdam_core::audit::EntryKind;
use cofferdam_policy::GuestPath;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, OFlags, ResolveFlags, Stat, fstat};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

/// No other mount.
const READING: ResolveFlags = ResolveFlags::NO_XDEV;

/// The same, and no symbolic link anywhere.
const WRITING: ResolveFlags = READING.union(ResolveFlags::NO_SYMLINKS);

/// What a name stands for.
pub(super) enum ResolvedEntry {
    /// Nothing.
    Absent,
    /// A regular file.
    File(Stat),
    /// A directory.
    Directory,
    /// Anything else, in words.
    Other(&'static str),
}

/// A descriptor of `relative` beneath `dir`, close-on-exec.
pub(super) fn open(dir: impl AsFd, relative: impl Arg + Copy, flags: OFlags) -> Result<OwnedFd> {
    open_beneath(dir, relative, flags, WRITING)
}

/// A bare handle (`O_PATH`) on what `relative` leads to, through symbolic links that stay beneath
/// `dir`.
pub(super) fn open_following(dir: impl AsFd, relative: &str) -> Result<OwnedFd> {
    open_beneath(dir, relative, OFlags::PATH, READING)
}

/// The directory `relative`, open so that it can be read and synced; `""` is `dir` itself.
pub(super) fn directory(dir: impl AsFd, relative: &[u8]) -> Result<OwnedFd> {
    let relative = if relative.is_empty() { b"." } else { relative };
    open(dir, relative, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// What `relative` stands for, a last symbolic link not followed.
pub(super) fn entry(dir: impl AsFd, relative: &str) -> Result<ResolvedEntry> {
    Ok(handle(dir, relative)?.map_or(ResolvedEntry::Absent, |(_, stat)| kind(&stat)))
}

/// A bare handle (`O_PATH`) on what `relative` stands for, a last symbolic link not followed; none
/// if there is nothing.
pub(super) fn handle(dir: impl AsFd, relative: &str) -> Result<Option<(OwnedFd, Stat)>> {
    match open(dir, relative, OFlags::PATH | OFlags::NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        found => {
            let found = found?;
            let stat = fstat(&found)?;
            Ok(Some((found, stat)))
        }
    }
}

/// What a handle stands for.
pub(super) fn kind(stat: &Stat) -> ResolvedEntry {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => ResolvedEntry::File(*stat),
        FileType::Directory => ResolvedEntry::Directory,
        FileType::Symlink => ResolvedEntry::Other("a symbolic link"),
        FileType::Fifo => ResolvedEntry::Other("a FIFO"),
        FileType::Socket => ResolvedEntry::Other("a socket"),
        FileType::BlockDevice | FileType::CharacterDevice => ResolvedEntry::Other("a device"),
        _ => ResolvedEntry::Other("something else"),
    }
}

/// Whether something of this kind may take a name that stands for `found`.
pub(super) fn may_take(
    found: &ResolvedEntry,
    target: &GuestPath,
    disposition: Disposition,
    kind: EntryKind,
) -> std::result::Result<(), PublishError> {
    let path = target.clone();
    match (found, disposition, kind) {
        (ResolvedEntry::Absent, ..) | (ResolvedEntry::File(_), Disposition::Replace, EntryKind::File) => {
            Ok(())
        }
        (ResolvedEntry::File(_), _, EntryKind::Directory) => Err(PublishError::FileInTheWay { path }),
        (ResolvedEntry::File(_), ..) => Err(PublishError::AlreadyExists { path }),
        (ResolvedEntry::Directory, ..) => Err(PublishError::IsADirectory { path }),
        (ResolvedEntry::Other(kind), ..) => Err(PublishError::NotARegularFile { path, kind }),
    }
}

/// The parent's path below the mount (`""` for the mount itself) and the last name.
pub(super) fn split(path: &GuestPath) -> (&str, &str) {
    path.below_mount().rsplit_once('/').unwrap_or(("", path.below_mount()))
}

/// The error for a lookup of `path` that failed, naming the component at fault.
pub(super) fn explain(mount: impl AsFd, path: &GuestPath, errno: Errno) -> PublishError {
    if !matches!(errno, Errno::LOOP | Errno::XDEV | Errno::NOTDIR) {
        return PublishError::from_io(path, "finding its directory", errno);
    }
    let mount = mount.as_fd();
    let below = path.below_mount();
    let ends = below.match_indices('/').map(|(at, _)| at).chain([below.len()]);
    for end in ends {
        let at = || format!("{}/{}", path.mount(), &below[..end]);
        match entry(mount, &below[..end]) {
            Ok(ResolvedEntry::Directory) => {}
            Ok(ResolvedEntry::Other("a symbolic link")) => {
                return PublishError::SymlinkInPath { path: path.clone(), at: at() };
            }
            Ok(ResolvedEntry::File(_) | ResolvedEntry::Other(_)) => {
                return PublishError::ParentNotADirectory { path: path.clone(), at: at() };
            }
            Err(Errno::XDEV) => return PublishError::OtherMount { path: path.clone(), at: at() },
            // It changed since; the first answer still has to be told.
            Ok(ResolvedEntry::Absent) | Err(_) => break,
        }
    }
    match errno {
        Errno::LOOP => PublishError::SymlinkInPath { path: path.clone(), at: path.to_string() },
        Errno::XDEV => PublishError::other_mount(path),
        _ => PublishError::ParentNotADirectory { path: path.clone(), at: path.to_string() },
    }
}
