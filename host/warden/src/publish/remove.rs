//! Removing a name: planned, then done if it still stands for the same thing.
//!
//! A symbolic link is removed, never followed. A directory with all in it disappears at once under
//! a name that no guest can use, and is deleted there; what cannot be deleted gets its name back.
//! It refuses mounts, and directories in which one lies.
//!
//! Between the last look at a name and its removal lies one system call: what somebody puts there
//! in that moment is removed instead. For a directory that is found out and taken back.

use super::Contents;
use super::budget::CallBudget;
use super::error::PublishError;
use super::identity::{self, FileIdentity};
use super::lock;
use super::plan;
use super::resolve;
use super::temp::{self, StagingFolder};
use super::tree::{self, DeleteResult, Unreadable, display_below};
use super::{Workspace, walk};
use cofferdam_core::audit::{Effect, EntryKind};
use cofferdam_core::host_call::Planning;
use cofferdam_policy::{ExpectedEntry, GuestPath, PathSnapshot};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FlockOperation, Stat, flock, fsync, unlinkat};
use rustix::io::Errno;
use std::sync::Arc;

/// Files, directories and others that one removal may take with it.
pub(super) const ENTRIES_MAX: u64 = 1_000_000;

/// While a directory is deleted, others may add to it: so much more is deleted before it is given
/// up.
pub(super) const ENTRIES_ADDED_MAX: u64 = 10_000;

/// A name that will go.
pub(crate) struct PlannedRemove {
    workspace: Arc<Workspace>,
    mount: Arc<StagingFolder>,
    path: GuestPath,
    /// What was found: open, so that its number is not given to something else.
    handle: OwnedFd,
    identity: FileIdentity,
    /// Removed only if it is this very version; for the source of a file that moves by being
    /// copied.
    pub(super) version: Option<PathSnapshot>,
    /// What was approved to go.
    approved: Option<Box<PathSnapshot>>,
    contents: Contents,
    summary: Planning,
    budget: Arc<CallBudget>,
}

impl Workspace {
    /// Plans to remove what `path` stands for.
    ///
    /// # Errors
    /// Nothing is there, it is a mount, or a directory that is not empty and shall keep its
    /// content, that holds more than a million entries, cannot be read whole, or in which another
    /// mount lies.
    pub(crate) fn plan_remove(
        self: &Arc<Self>,
        path: &GuestPath,
        contents: Contents,
        budget: &Arc<CallBudget>,
    ) -> Result<PlannedRemove, PublishError> {
        budget.check(path)?;
        let mount = Arc::clone(self.mount_of(path)?);
        let (handle, stat) = plan::find(&mount, path)?;
        let entries_max = match contents {
            Contents::Keep => 1,
            Contents::Remove => ENTRIES_MAX,
        };
        let summary = summary(path, &handle, &stat, entries_max, Unreadable::Refuse, budget)?;
        check_entries(path, contents, &summary)?;
        budget.take_change(path)?;
        Ok(PlannedRemove {
            workspace: Arc::clone(self),
            mount,
            path: path.clone(),
            handle,
            identity: FileIdentity::from_stat(&stat),
            version: None,
            approved: None,
            contents,
            summary,
            budget: Arc::clone(budget),
        })
    }
}

/// What a handle stands for, with all that lies in it, no further than one entry beyond
/// `entries_max`.
pub(super) fn summary(
    path: &GuestPath,
    handle: &OwnedFd,
    stat: &Stat,
    entries_max: u64,
    unreadable: Unreadable,
    budget: &CallBudget,
) -> Result<Planning, PublishError> {
    let kind = FileIdentity::from_stat(stat).kind();
    match kind {
        EntryKind::File => Ok(Planning { kind, entries: 1, bytes: u64::try_from(stat.st_size).unwrap_or(0) }),
        EntryKind::Other => Ok(Planning { kind, entries: 1, bytes: 0 }),
        EntryKind::Directory => tree::count(handle, path, entries_max, unreadable, budget),
    }
}

/// Refuses a removal that would take more with it than it may.
pub(super) fn check_entries(
    path: &GuestPath,
    contents: Contents,
    summary: &Planning,
) -> Result<(), PublishError> {
    let path = path.clone();
    match contents {
        Contents::Keep if summary.entries > 1 => Err(PublishError::NotEmpty { path }),
        Contents::Remove if summary.entries > ENTRIES_MAX => {
            Err(PublishError::TooManyEntries { path, limit: ENTRIES_MAX })
        }
        Contents::Keep | Contents::Remove => Ok(()),
    }
}

impl PlannedRemove {
    /// The path that goes.
    pub(crate) fn path(&self) -> &GuestPath {
        &self.path
    }

    /// What it takes with it.
    pub(crate) fn summary(&self) -> Planning {
        self.summary
    }

    pub(super) fn effect(&self) -> Effect {
        let Planning { kind, entries, .. } = self.summary;
        Effect::Removed { path: self.path.to_string(), removed: kind, entries }
    }

    /// Removes only what was approved to go.
    ///
    /// # Errors
    /// Nothing was expected there, or something else than what was copied.
    pub(super) fn expect_approved(&mut self, expected: ExpectedEntry<'_>) -> Result<(), PublishError> {
        self.approved = plan::approved_to_go(&self.path, expected)?;
        match (&self.version, self.approved.as_deref()) {
            // Told before the copy is published.
            (Some(copied), Some(seen)) if copied != seen => Err(self.replaced_error()),
            _ => Ok(()),
        }
    }

    /// Removes it. On an error it has its name, unless [`PublishError::Remains`] or
    /// [`PublishError::DurabilityUnknown`] says otherwise.
    pub(super) fn land(self) -> Result<(), PublishError> {
        let (way, leaf) = resolve::split(&self.path);
        let parent = match resolve::directory(&self.mount.dir, way.as_bytes()) {
            Ok(parent) => parent,
            Err(Errno::NOENT) => return Err(self.replaced_error()),
            Err(errno) => return Err(resolve::explain(&self.mount.dir, &self.path, errno)),
        };
        let stat = self.check_still_there(&parent, leaf)?;
        match (self.identity.kind(), self.contents) {
            (EntryKind::Directory, Contents::Remove) => self.remove_tree(&parent, leaf),
            (EntryKind::Directory, Contents::Keep) => self.unlink(&parent, leaf, AtFlags::REMOVEDIR, 0),
            (EntryKind::File, _) => {
                let held = lock::hold_if_possible(&parent, &self.path, &stat, &self.budget)?;
                let Some(_held) = held else {
                    return Err(self.replaced_error());
                };
                let stat = self.check_still_there(&parent, leaf)?;
                self.unlink(&parent, leaf, AtFlags::empty(), walk::bytes_freed(&stat))
            }
            (EntryKind::Other, _) => self.unlink(&parent, leaf, AtFlags::empty(), 0),
        }
    }

    /// What has the name, if it is what was planned.
    fn check_still_there(&self, parent: &OwnedFd, leaf: &str) -> Result<Stat, PublishError> {
        let found = resolve::handle(parent, leaf)
            .map_err(|errno| resolve::explain(&self.mount.dir, &self.path, errno))?;
        match found {
            Some((_, stat))
                if FileIdentity::from_stat(&stat) == self.identity
                    && self.version.as_ref().is_none_or(|version| *version == identity::snapshot(&stat))
                    && self.approved.as_ref().is_none_or(|seen| identity::is_as_approved(&stat, seen)) =>
            {
                Ok(stat)
            }
            _ => Err(self.replaced_error()),
        }
    }

    fn replaced_error(&self) -> PublishError {
        plan::replaced_error(&self.path, self.approved.is_some())
    }

    fn unlink(&self, parent: &OwnedFd, leaf: &str, flags: AtFlags, freed: u64) -> Result<(), PublishError> {
        match unlinkat(parent, leaf, flags) {
            Ok(()) => {
                self.workspace.quota.release(freed);
                fsync(parent).map_err(|errno| PublishError::unconfirmed(&self.path, "removed", errno))
            }
            Err(Errno::NOENT | Errno::ISDIR | Errno::NOTDIR) => Err(self.replaced_error()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Err(PublishError::NotEmpty { path: self.path.clone() }),
            Err(Errno::BUSY) => Err(PublishError::other_mount(&self.path)),
            Err(errno) => Err(PublishError::from_io(&self.path, "removing it", errno)),
        }
    }

    /// Takes a directory out of sight whole, then deletes it.
    fn remove_tree(&self, parent: &OwnedFd, leaf: &str) -> Result<(), PublishError> {
        let failed = |errno| PublishError::from_io(&self.path, "removing it", errno);
        let dir = resolve::directory(&self.handle, b"").map_err(failed)?;
        // Under this lock another process's sweep spares it. Any other holder keeps a sweep
        // off too.
        let _ = flock(&dir, FlockOperation::NonBlockingLockExclusive);
        let temp = self.hide(parent, leaf)?;
        let root = &*self.mount.dir;
        if !self.identity.has_name(root, &temp).unwrap_or(false) {
            // Somebody gave the name to something else in between: that gets it back.
            return Err(match temp::rename_new(root, &temp, parent, leaf) {
                Ok(()) => self.replaced_error(),
                Err(_) => PublishError::Stranded { path: self.path.clone() },
            });
        }
        let hidden = fsync(parent).and_then(|()| fsync(root));
        let deleted = tree::delete(&dir, self.summary.entries + ENTRIES_ADDED_MAX);
        let deleted = deleted.unwrap_or_else(|errno| DeleteResult {
            left: vec![(Vec::new(), errno)],
            left_count: 1,
            ..DeleteResult::default()
        });
        self.workspace.quota.release(deleted.freed);
        match unlinkat(root, &temp, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {
                hidden.map_err(|errno| PublishError::unconfirmed(&self.path, "removed", errno))
            }
            Err(errno) => Err(self.give_back(parent, leaf, &temp, deleted, errno)),
        }
    }

    /// Gives the directory a temporary name in the mount's root.
    fn hide(&self, parent: &OwnedFd, leaf: &str) -> Result<String, PublishError> {
        let root = &*self.mount.dir;
        let hidden =
            temp::with_new_name(|name| temp::rename_directory(parent, leaf, root, &name).map(|()| name));
        hidden.map_err(|errno| match errno {
            Errno::EXIST => PublishError::Unsettled { path: self.path.clone() },
            Errno::NOENT => self.replaced_error(),
            Errno::XDEV | Errno::BUSY => PublishError::other_mount(&self.path),
            errno => PublishError::from_io(&self.path, "removing it", errno),
        })
    }

    /// What could not be deleted gets its name back; the error says what that is.
    fn give_back(
        &self,
        parent: &OwnedFd,
        leaf: &str,
        temp: &str,
        mut deleted: DeleteResult,
        errno: Errno,
    ) -> PublishError {
        if deleted.left_count == 0 {
            deleted.note_left(Vec::new(), errno);
        }
        let root = &*self.mount.dir;
        let back = temp::rename_directory(root, temp, parent, leaf);
        if let Err(errno) = fsync(parent).and_then(|()| fsync(root)) {
            tracing::warn!(path = %self.path, %errno, "what remains of a directory may not be durable");
        }
        let left =
            deleted.left.iter().map(|(at, errno)| format!("{} ({errno})", display_below(&self.path, at)));
        PublishError::Remains {
            path: self.path.clone(),
            left: left.collect(),
            count: deleted.left_count,
            stranded: back.is_err(),
        }
    }
}
