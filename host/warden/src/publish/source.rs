//! A workspace file opened for reading, by the host for a guest. The way to it may lead through
//! symbolic links that stay in the mount; it never blocks, opens nothing but regular files, and
//! finds no reserved name.

use super::Workspace;
use super::error::PublishError;
use super::identity;
use super::resolve::{self, ResolvedEntry};
use super::temp::StagingFolder;
use crate::files;
use cofferdam_policy::{ExpectedEntry, GuestPath};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Stat, fstat};
use rustix::io::{Errno, Result};
use std::fs::File;

impl Workspace {
    /// The regular file at `path`, open for reading, and its length. The way there may lead through
    /// symbolic links inside its mount; whether that mount is granted is for the caller to know.
    ///
    /// # Errors
    /// There is no such regular file, or it is not what is expected.
    pub(crate) fn open_file(
        &self,
        path: &GuestPath,
        expected: ExpectedEntry<'_>,
    ) -> std::result::Result<(File, u64), PublishError> {
        let (file, stat) = open(self.mount_of(path)?, path, LinkRule::Follow, expected)?;
        Ok((file, u64::try_from(stat.st_size).unwrap_or(0)))
    }
}

/// Whether the way to a file that is read may lead through symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkRule {
    /// Inside the mount.
    Follow,
    /// Not at all.
    Refuse,
}

/// Opens the regular file at `path` as reading resolves it: its length is what it is at that
/// moment.
pub(super) fn open(
    mount: &StagingFolder,
    path: &GuestPath,
    links: LinkRule,
    expected: ExpectedEntry<'_>,
) -> std::result::Result<(File, Stat), PublishError> {
    if path.is_mount() {
        return Err(PublishError::IsADirectory { path: path.clone() });
    }
    let failed = |errno| explain(path, errno);
    let handle = match links {
        LinkRule::Follow => resolve::open_following(&mount.dir, path.below_mount()).map_err(failed)?,
        LinkRule::Refuse => {
            let found = resolve::handle(&mount.dir, path.below_mount()).map_err(|errno| match errno {
                Errno::LOOP => resolve::explain(&mount.dir, path, errno),
                errno => failed(errno),
            })?;
            found.ok_or_else(|| failed(Errno::NOENT))?.0
        }
    };
    match resolve::kind(&fstat(&handle).map_err(failed)?) {
        ResolvedEntry::File(_) => {}
        ResolvedEntry::Other(kind) => return Err(PublishError::NotARegularFile { path: path.clone(), kind }),
        ResolvedEntry::Directory | ResolvedEntry::Absent => {
            return Err(PublishError::IsADirectory { path: path.clone() });
        }
    }
    if is_reserved(&*mount.dir, &handle).map_err(failed)? {
        return Err(PublishError::NotFound { path: path.clone() });
    }
    let (file, stat) = reopen(handle).map_err(failed)?;
    match expected {
        ExpectedEntry::Anything => Ok((file, stat)),
        ExpectedEntry::This(seen) if identity::snapshot(&stat) == *seen => Ok((file, stat)),
        ExpectedEntry::This(_) | ExpectedEntry::Nothing => {
            Err(PublishError::NotAsApproved { path: path.clone() })
        }
    }
}

/// The file behind a handle on a regular file.
pub(super) fn reopen(handle: OwnedFd) -> Result<(File, Stat)> {
    let file = File::from(files::reopen(handle)?);
    let stat = fstat(&file)?;
    Ok((file, stat))
}

/// Whether a symbolic link led from the directory to one of the gateway's own names, or below one.
///
/// # Errors
/// Without `/proc`, which alone tells.
pub(super) fn is_reserved(dir: impl AsFd, found: impl AsFd) -> Result<bool> {
    Ok(GuestPath::is_reserved_below(&files::real_path(dir)?, &files::real_path(found)?))
}

fn explain(path: &GuestPath, errno: Errno) -> PublishError {
    let path = path.clone();
    match errno {
        Errno::NOENT | Errno::NOTDIR => PublishError::NotFound { path },
        Errno::XDEV | Errno::LOOP => PublishError::LeadsOutside { path },
        // Others change names faster than the kernel can tell where they lie: no disk failed.
        Errno::AGAIN => PublishError::from_io(&path, "reading it", errno),
        errno => PublishError::ReadFailed { path, source: errno.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::tool::ErrorCode;

    #[test]
    fn a_disk_that_fails_is_told_as_a_failed_read() {
        let path = GuestPath::parse("/shared/a").expect("a path");
        for (errno, code) in [
            (Errno::IO, ErrorCode::ReadFailed),
            (Errno::UCLEAN, ErrorCode::ReadFailed),
            (Errno::AGAIN, ErrorCode::WriteFailed),
            (Errno::NOENT, ErrorCode::NotFound),
            (Errno::XDEV, ErrorCode::PathDenied),
        ] {
            assert_eq!(explain(&path, errno).code(), code, "{errno}");
        }
    }
}
