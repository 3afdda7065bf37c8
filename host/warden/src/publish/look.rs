//! What lies on disk under a path, for settling what a crash left open and for approvals; for
//! settling also made durable. It follows no symbolic link but where it tells what reading would
//! find, opens nothing but regular files and directories, and never blocks on either.

use super::error::PublishError;
use super::resolve;
use super::{Workspace, identity, plan, source};
use cofferdam_core::audit::{Effect, FileFacts};
use cofferdam_policy::{GuestPath, PathSnapshot};
use rustix::fs::{FileType, OFlags, fstat, fsync};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};

impl Workspace {
    /// Whether a planned change happened, as far as the disk tells: then what there is of it.
    ///
    /// A file is there with these bytes; what was moved has its new name and not the old one; what
    /// was removed is gone from its name, and the start's sweep deletes what a crash left of it.
    ///
    /// # Errors
    /// When a mount is unknown, or something cannot be looked at.
    pub(crate) fn find_effect(&self, effect: &Effect) -> Result<Option<Effect>, PublishError> {
        let happened = match effect {
            Effect::Written(file) => {
                let Ok(path) = GuestPath::parse(&file.path) else { return Ok(None) };
                let found = self.look(&path, Some(file.bytes))?;
                return Ok(found.filter(|found| found.sha256 == file.sha256).map(Effect::Written));
            }
            Effect::Moved { path, moved_from, inode, .. } => {
                self.inode(path)? == Some(*inode) && self.inode(moved_from)? != Some(*inode)
            }
            Effect::Removed { path, .. } => self.inode(path)?.is_none(),
            // Nothing in the workspace tells of it.
            Effect::Attached { .. } => false,
        };
        Ok(happened.then(|| effect.clone()))
    }

    /// Makes durable what [`Self::find_effect`] found: a crash may have come before the directories
    /// of these names were synced.
    ///
    /// # Errors
    /// [`PublishError::DurabilityUnknown`], or a mount is unknown.
    pub(crate) fn sync_effects(&self, effects: &[Effect]) -> Result<(), PublishError> {
        let names = effects.iter().flat_map(|effect| match effect {
            Effect::Written(file) => vec![(false, &file.path)],
            Effect::Moved { path, moved_from, .. } => vec![(false, path), (true, moved_from)],
            Effect::Removed { path, .. } => vec![(true, path)],
            Effect::Attached { .. } => Vec::new(),
        });
        let parents: BTreeSet<_> =
            names.filter_map(|(is_gone, path)| Some((is_gone, path.rsplit_once('/')?.0))).collect();
        // The new names first: a power loss in between leaves both names, never neither.
        for (_, parent) in parents {
            let Ok(parent) = GuestPath::parse(parent) else { continue };
            self.sync_nearest(&parent)?;
        }
        Ok(())
    }

    /// Syncs a directory; of one that is gone since, the next above that is there.
    fn sync_nearest(&self, path: &GuestPath) -> Result<(), PublishError> {
        let mount = self.mount_of(path)?;
        let failed = |errno| PublishError::unconfirmed(path, "changed", errno);
        let mut below = path.below_mount();
        let dir = loop {
            match resolve::directory(&mount.dir, below.as_bytes()) {
                Err(Errno::NOENT | Errno::NOTDIR) if !below.is_empty() => {
                    below = below.rsplit_once('/').map_or("", |(above, _)| above);
                }
                dir => break dir.map_err(failed)?,
            }
        };
        fsync(dir).map_err(failed)
    }

    /// The inode that a path of the audit stands for; `None` when there is nothing.
    fn inode(&self, path: &str) -> Result<Option<u64>, PublishError> {
        let Ok(path) = GuestPath::parse(path) else { return Ok(None) };
        let mount = self.mount_of(&path)?;
        match plan::find(mount, &path) {
            Ok((_, stat)) => Ok(Some(stat.st_ino)),
            Err(PublishError::NotFound { .. } | PublishError::ParentNotADirectory { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What stands at `path` now, a last symbolic link not followed; `None`: nothing.
    ///
    /// # Errors
    /// When the mount is unknown, or the way there cannot be looked at or is not plain directories.
    pub(crate) fn snapshot(&self, path: &GuestPath) -> Result<Option<PathSnapshot>, PublishError> {
        let mount = self.mount_of(path)?;
        let relative = if path.is_mount() { "." } else { path.below_mount() };
        let found = resolve::handle(&mount.dir, relative)
            .map_err(|errno| resolve::explain(&mount.dir, path, errno))?;
        Ok(found.map(|(_, stat)| identity::snapshot(&stat)))
    }

    /// What reading `path` finds now, through symbolic links that stay in its mount; `None`:
    /// nothing that can be read. Of a directory it tells which one it is, not when it changed.
    ///
    /// # Errors
    /// When the mount is unknown, or what is there cannot be looked at.
    pub(crate) fn read_snapshot(&self, path: &GuestPath) -> Result<Option<PathSnapshot>, PublishError> {
        let mount = self.mount_of(path)?;
        let relative = if path.is_mount() { "." } else { path.below_mount() };
        let failed = |errno: Errno| PublishError::from_io(path, "looking at it", errno);
        match resolve::open_following(&mount.dir, relative) {
            Ok(handle) if source::is_reserved(&*mount.dir, &handle).map_err(failed)? => Ok(None),
            Ok(handle) => Ok(Some(identity::read_snapshot(&fstat(&handle).map_err(failed)?))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(None),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Size and SHA-256 of the regular file at `path`; `None` when there is none, or something
    /// else, or when the way to it is not plain directories. One that has other than these `bytes`
    /// is none either, and is not read: it may be of any size.
    ///
    /// # Errors
    /// When the mount is unknown, or the file cannot be read.
    pub(crate) fn look(
        &self,
        path: &GuestPath,
        bytes: Option<u64>,
    ) -> Result<Option<FileFacts>, PublishError> {
        let mount = self.mount_of(path)?;
        if path.is_mount() {
            return Ok(None);
        }
        let failed = |source: io::Error| PublishError::Unreadable { path: path.clone(), source };
        match resolve::entry(&mount.dir, path.below_mount()) {
            Ok(resolve::ResolvedEntry::File(_)) => {}
            Ok(_) | Err(Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(failed(errno.into())),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match resolve::open(&mount.dir, path.below_mount(), flags) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT | Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(failed(errno.into())),
        };
        let stat = fstat(&file).map_err(|e| failed(e.into()))?;
        let len = u64::try_from(stat.st_size).unwrap_or(0);
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile
            || bytes.is_some_and(|bytes| bytes != len)
        {
            return Ok(None);
        }
        // No further than it was long when opened.
        let mut read = file.take(len);
        let mut hasher = Sha256::new();
        let bytes = io::copy(&mut read, &mut hasher).map_err(failed)?;
        Ok(Some(FileFacts { path: path.to_string(), bytes, sha256: hex::encode(hasher.finalize()) }))
    }
}
