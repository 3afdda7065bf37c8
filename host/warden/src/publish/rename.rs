//! Giving a file or directory another name: planned, then done in one step that others see whole or
//! not at all, if the old name still stands for the same thing.
//!
//! It follows no symbolic link and moves nothing but files and directories. Where one step cannot
//! do it, because the names lie on different filesystems, a file is copied, and its source removed
//! once the copy is durable; a directory is refused.

use super::budget::CallBudget;
use super::error::PublishError;
use super::identity::{self, FileIdentity};
use super::land::{TRIES_MAX, is_placed};
use super::lock::{self, HeldFile};
use super::plan::{self, PlannedChange};
use super::remove::{self, ENTRIES_MAX};
use super::resolve::{self, ResolvedEntry};
use super::temp::{self, StagingFolder};
use super::tree::Unreadable;
use super::{Contents, Disposition, Workspace, parents, source, stage, walk};
use cofferdam_core::audit::{Effect, EntryKind};
use cofferdam_core::host_call::Planning;
use cofferdam_policy::{ExpectedEntry, GuestPath, PathSnapshot};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Stat, StatxFlags, fstat, fsync, renameat, statx, unlinkat};
use rustix::io::Errno;
use std::sync::Arc;

/// A name that will become another.
pub(crate) struct PlannedRename {
    workspace: Arc<Workspace>,
    from: Arc<StagingFolder>,
    to: Arc<StagingFolder>,
    /// The path that goes.
    pub(super) source: GuestPath,
    /// The path that it will have.
    pub(super) target: GuestPath,
    disposition: Disposition,
    /// What was found: open, so that its number is not given to something else.
    handle: OwnedFd,
    identity: FileIdentity,
    /// What was approved to move.
    approved_source: Option<Box<PathSnapshot>>,
    /// What was approved to be replaced.
    approved_target: Option<Box<PathSnapshot>>,
    budget: Arc<CallBudget>,
}

impl Workspace {
    /// Plans to give `source` the name `target`: one rename, or, between filesystems, a copy and
    /// the removal of the source as long as it is unchanged. Also says what moves; of a directory
    /// with more than a million entries, that many.
    ///
    /// # Errors
    /// There is no such file or directory, the target is taken, lies inside the source or is the
    /// source, or a directory would have to leave its filesystem.
    pub(crate) fn plan_rename(
        self: &Arc<Self>,
        source: &GuestPath,
        target: &GuestPath,
        disposition: Disposition,
        budget: &Arc<CallBudget>,
    ) -> Result<(Vec<PlannedChange>, Planning), PublishError> {
        budget.check(source)?;
        let disposition = budget.disposition(target, disposition);
        let (from, to) = (self.mount_of(source)?, self.mount_of(target)?);
        let (handle, stat) = plan::find(from, source)?;
        let identity = FileIdentity::from_stat(&stat);
        if let ResolvedEntry::Other(kind) = resolve::kind(&stat) {
            return Err(PublishError::NotARegularFile { path: source.clone(), kind });
        }
        if source == target {
            return Err(PublishError::SamePath { path: target.clone() });
        }
        if target.is_below(source) {
            return Err(PublishError::IntoItself { path: target.clone(), source_path: source.clone() });
        }
        if target.is_mount() {
            return Err(PublishError::IsAMount { path: target.clone() });
        }
        stage::precheck(to, target, disposition, identity.kind())?;
        let across = is_across(from, to)
            .map_err(|errno| PublishError::from_io(target, "finding its directory", errno))?;
        if across && identity.kind() == EntryKind::Directory {
            return Err(PublishError::DirectoryAcross { path: source.clone() });
        }
        let mut summary = remove::summary(source, &handle, &stat, ENTRIES_MAX, Unreadable::Skip, budget)?;
        summary.entries = summary.entries.min(ENTRIES_MAX);
        if across {
            return Ok((self.copy_and_remove(source, target, disposition, handle, budget)?, summary));
        }
        budget.take_change(target)?;
        let rename = PlannedRename {
            workspace: Arc::clone(self),
            from: Arc::clone(from),
            to: Arc::clone(to),
            source: source.clone(),
            target: target.clone(),
            disposition,
            handle,
            identity,
            approved_source: None,
            approved_target: None,
            budget: Arc::clone(budget),
        };
        Ok((vec![PlannedChange::Rename(rename)], summary))
    }

    /// The two steps that move a file to another filesystem.
    fn copy_and_remove(
        self: &Arc<Self>,
        source: &GuestPath,
        target: &GuestPath,
        disposition: Disposition,
        handle: OwnedFd,
        budget: &Arc<CallBudget>,
    ) -> Result<Vec<PlannedChange>, PublishError> {
        let failed = |errno: Errno| PublishError::ReadFailed { path: source.clone(), source: errno.into() };
        let (file, stat) = source::reopen(handle).map_err(failed)?;
        let version = identity::snapshot(&stat);
        let mut copy = self.stage(target, disposition, budget)?;
        copy.append_from(&file, u64::try_from(stat.st_size).unwrap_or(0), None)?;
        if identity::snapshot(&fstat(&file).map_err(failed)?) != version {
            return Err(PublishError::Exchanged { path: source.clone() });
        }
        copy.take_after(&stat)?;
        let mut remove = self.plan_remove(source, Contents::Keep, budget)?;
        remove.version = Some(version);
        Ok(vec![PlannedChange::Write(copy.seal()?), PlannedChange::Remove(remove)])
    }
}

/// Whether one step cannot bring a file from one mount to the other: they are different
/// filesystems, or the same one mounted twice.
fn is_across(from: &StagingFolder, to: &StagingFolder) -> Result<bool, Errno> {
    let place = |mount: &StagingFolder| {
        let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
        let stat = statx(&*mount.dir, "", AtFlags::EMPTY_PATH, mask)?;
        let mount = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID);
        Ok(((stat.stx_dev_major, stat.stx_dev_minor), mount.then_some(stat.stx_mnt_id)))
    };
    Ok(from.guest != to.guest && place(from)? != place(to)?)
}

impl PlannedRename {
    pub(super) fn effect(&self) -> Effect {
        Effect::Moved {
            path: self.target.to_string(),
            moved_from: self.source.to_string(),
            kind: self.identity.kind(),
            inode: self.identity.inode,
        }
    }

    /// Renames only what was approved to move, over what was approved to be replaced.
    ///
    /// # Errors
    /// Nothing was expected at the source.
    pub(super) fn expect_approved(
        &mut self,
        source: ExpectedEntry<'_>,
        target: ExpectedEntry<'_>,
    ) -> Result<(), PublishError> {
        self.approved_source = plan::approved_to_go(&self.source, source)?;
        if let ExpectedEntry::This(seen) = target {
            self.approved_target = Some(Box::new(seen.clone()));
        }
        Ok(())
    }

    /// Renames it. On an error nothing was renamed, unless [`PublishError::DurabilityUnknown`],
    /// [`PublishError::Crossed`] or [`PublishError::Astray`] says otherwise.
    pub(super) fn land(self) -> Result<(), PublishError> {
        for _ in 0..TRIES_MAX {
            // Before the directory is held, with which nobody waits for another program.
            let Some(held) = self.hold()? else { continue };
            let umask = self.workspace.umask;
            let target = parents::open_or_make(&self.to, &self.target, umask, &self.budget)?;
            let Some(target) = target else { continue };
            let source = self.check_still_there()?;
            if let Some(freed) = self.place(&source, &target.dir, &held)? {
                drop(held);
                self.workspace.quota.release(freed);
                // The new name first: a power loss in between leaves both names, never neither.
                let synced = fsync(target.keep()).and_then(|()| fsync(source));
                return synced.map_err(|errno| PublishError::unconfirmed(&self.target, "moved", errno));
            }
        }
        Err(PublishError::Unsettled { path: self.target })
    }

    /// The source's directory, in which what was planned still has the name.
    fn check_still_there(&self) -> Result<OwnedFd, PublishError> {
        let (way, leaf) = resolve::split(&self.source);
        let failed = |errno| resolve::explain(&self.from.dir, &self.source, errno);
        let parent = match resolve::directory(&self.from.dir, way.as_bytes()) {
            Err(Errno::NOENT) => return Err(self.replaced_error()),
            parent => parent.map_err(failed)?,
        };
        match self.identity.has_name(&parent, leaf).map_err(failed)? {
            true => Ok(parent),
            false => Err(self.replaced_error()),
        }
    }

    fn replaced_error(&self) -> PublishError {
        plan::replaced_error(&self.source, self.approved_source.is_some())
    }

    /// Tries once; the bytes that what had the new name gave back. `None`: something changed
    /// between looking and acting.
    pub(super) fn place(
        &self,
        source: &OwnedFd,
        target: &OwnedFd,
        held: &HeldFile,
    ) -> Result<Option<u64>, PublishError> {
        let (_, leaf) = resolve::split(&self.target);
        let found = resolve::handle(target, leaf)
            .map_err(|errno| resolve::explain(&self.to.dir, &self.target, errno))?;
        let entry = found.as_ref().map_or(ResolvedEntry::Absent, |(_, stat)| resolve::kind(stat));
        resolve::may_take(&entry, &self.target, self.disposition, self.identity.kind())?;
        let old = if let ResolvedEntry::File(old) = &entry { Some(old) } else { None };
        if old.is_some_and(|old| !held.is(old)) {
            return Ok(None);
        }
        // Under the locks: who held one of them until now may have written.
        plan::check_approved(source, &self.source, self.approved_source.as_deref())?;
        plan::check_approved(target, &self.target, self.approved_target.as_deref())?;
        let renamed = match old {
            None => self.take_free_name(source, target)?,
            Some(old) if FileIdentity::from_stat(old) == self.identity => self.keep_one_name(source, old)?,
            Some(_) => renameat(source, resolve::split(&self.source).1, target, leaf),
        };
        let replaced = old.filter(|old| FileIdentity::from_stat(old) != self.identity);
        self.outcome(renamed, source, target, replaced.map_or(0, walk::bytes_freed))
    }

    /// Locks the file that moves and the one that it replaces, so that a process that expects one
    /// of them does not get in between. `None`: a name stands for something else now.
    fn hold(&self) -> Result<Option<HeldFile>, PublishError> {
        let source = self.check_still_there()?;
        if self.identity.kind() != EntryKind::File {
            return Ok(Some(HeldFile::default()));
        }
        let moving = fstat(&self.handle)
            .map_err(|errno| PublishError::from_io(&self.source, "looking at it", errno))?;
        let found = plan::find_old(&self.to, &self.target)?;
        let old = found.as_ref().filter(|_| self.disposition == Disposition::Replace);
        let mut names = vec![(&source, &self.source, &moving)];
        // Of two names of one file the first lock is that of both.
        if let Some((target, old)) = old.filter(|(_, old)| FileIdentity::from_stat(old) != self.identity) {
            names.push((target, &self.target, old));
        }
        // In one order everywhere: two renames that cross never wait for each other.
        names.sort_by_key(|(_, _, file)| file.st_ino);
        let mut locks = Vec::new();
        for (parent, path, file) in names {
            match lock::hold_if_possible(parent, path, file, &self.budget)? {
                Some(lock) => locks.extend(lock),
                None => return Ok(None),
            }
        }
        Ok(Some(HeldFile::new(old.map(|(_, old)| old), locks)))
    }

    /// The new name is free: takes it, unless somebody else does first.
    fn take_free_name(
        &self,
        source: &OwnedFd,
        target: &OwnedFd,
    ) -> Result<rustix::io::Result<()>, PublishError> {
        let ((_, old_leaf), (_, leaf)) = (resolve::split(&self.source), resolve::split(&self.target));
        match temp::rename_new(source, old_leaf, target, leaf) {
            Err(Errno::OPNOTSUPP) if self.identity.kind() == EntryKind::Directory => {
                Err(PublishError::NoSafeRename { path: self.source.clone() })
            }
            Err(Errno::OPNOTSUPP) => Ok(self.link_and_unlink(source, target)),
            renamed => Ok(renamed),
        }
    }

    /// For filesystems whose rename always replaces: the new name, made of the very file, then the
    /// old.
    pub(super) fn link_and_unlink(&self, source: &OwnedFd, target: &OwnedFd) -> rustix::io::Result<()> {
        temp::link_open_file(&self.handle, target, resolve::split(&self.target).1)?;
        self.unlink_source(source)
    }

    /// For two names of one file, which the system's rename leaves as they are: the old one goes.
    /// Not where it is the only one, to which both lead on a filesystem that ignores case.
    fn keep_one_name(&self, source: &OwnedFd, old: &Stat) -> Result<rustix::io::Result<()>, PublishError> {
        let failed = |errno| resolve::explain(&self.from.dir, &self.source, errno);
        let (_, leaf) = resolve::split(&self.source);
        if old.st_nlink == 1 && self.identity.has_name(source, leaf).map_err(failed)? {
            return Err(PublishError::SamePath { path: self.target.clone() });
        }
        Ok(self.unlink_source(source))
    }

    /// Removes the old name, if it still is one of the file.
    fn unlink_source(&self, source: &OwnedFd) -> rustix::io::Result<()> {
        let (_, leaf) = resolve::split(&self.source);
        match self.identity.has_name(source, leaf)? {
            true => unlinkat(source, leaf, AtFlags::empty()),
            false => Ok(()),
        }
    }

    /// What came of a rename. What landed must be what was planned: somebody may have given the old
    /// name to something else in the last moment, and gets that back.
    fn outcome(
        &self,
        renamed: rustix::io::Result<()>,
        source: &OwnedFd,
        target: &OwnedFd,
        freed: u64,
    ) -> Result<Option<u64>, PublishError> {
        let failed = |errno| PublishError::from_io(&self.source, "renaming it", errno);
        if !is_placed(renamed, &self.target, failed)? {
            return Ok(None);
        }
        let (_, leaf) = resolve::split(&self.target);
        let landed = match resolve::handle(target, leaf) {
            Ok(Some((_, stat))) => FileIdentity::from_stat(&stat),
            // Renamed, and somebody took it away since.
            Ok(None) | Err(_) => return Ok(Some(freed)),
        };
        // Without any name, it was there and somebody replaced it since.
        if landed == self.identity || fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0) {
            return Ok(Some(freed));
        }
        match temp::rename_new(target, leaf, source, resolve::split(&self.source).1) {
            Ok(()) => Err(PublishError::Crossed { path: self.source.clone(), target: self.target.clone() }),
            Err(_) => Err(PublishError::Astray { path: self.source.clone(), target: self.target.clone() }),
        }
    }
}
