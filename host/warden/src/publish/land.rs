//! Gives a sealed file its name, in one step that other programs see whole or not at all: a link
//! for a new name, a rename over one that is there.
//!
//! It refuses to replace anything but a regular file, and replaces the name, never what the name
//! leads to: another hard link keeps its content. What was prepared and did not land is taken back.

use super::digest::RunningHash;
use super::error::PublishError;
use super::lock::{self, HeldFile};
use super::parents;
use super::park::{self, ParkFolder};
use super::plan;
use super::quota::Reservation;
use super::resolve::{self, ResolvedEntry};
use super::stage::{StageTarget, StagedFile};
use super::temp::{TempName, link_open_file, rename_new};
use super::{Disposition, walk};
use cofferdam_core::audit::{EntryKind, FileFacts};
use cofferdam_policy::{ExpectedEntry, GuestPath};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, Stat, fchmod, fsync, renameat};
use rustix::io::Errno;
use std::fs::File;
use std::sync::Arc;

/// Others may change the directory this often before publishing gives up.
pub(super) const TRIES_MAX: u32 = 16;

/// A finished file, its bytes on disk, still without its name. Dropped, it is gone.
pub(crate) struct SealedFile {
    pub(super) place: StageTarget,
    /// Open, unless the file is parked: then it has a name, and is opened by that where need be.
    file: Option<File>,
    temp: Option<TempName>,
    bytes: u64,
    reservation: Reservation,
    sha256: String,
    mode: Mode,
}

/// Whether a name was given. It was not where it was taken, or its directory removed, since it was
/// looked at.
pub(super) fn is_placed(
    placed: rustix::io::Result<()>,
    target: &GuestPath,
    failed: impl FnOnce(Errno) -> PublishError,
) -> Result<bool, PublishError> {
    match placed {
        Ok(()) => Ok(true),
        Err(Errno::EXIST | Errno::NOENT | Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY) => Ok(false),
        Err(Errno::XDEV | Errno::BUSY) => Err(PublishError::other_mount(target)),
        Err(errno) => Err(failed(errno)),
    }
}

impl SealedFile {
    pub(super) fn new(staged: StagedFile, mode: Mode) -> Self {
        let StagedFile { place, file, temp, bytes, digest, reservation, .. } = staged;
        let sha256 = hex::encode(digest.into_bytes());
        Self { place, file: Some(file), temp, bytes, reservation, sha256, mode }
    }

    /// Lets its descriptor go: it waits under a name in `park`, which is of its mount.
    pub(super) fn park(&mut self, park: &Arc<ParkFolder>) -> Result<(), PublishError> {
        if let Some(file) = &self.file {
            let parked = park.take(file, &mut self.temp);
            self.temp = Some(parked.map_err(self.place.failed("setting it aside"))?);
            self.file = None;
        }
        Ok(())
    }

    /// The file, opened again where it is parked.
    fn file(&mut self) -> Result<&File, PublishError> {
        let file = match (self.file.take(), &self.temp) {
            (Some(file), _) => file,
            (None, temp) => {
                let opened = temp.as_ref().ok_or(Errno::BADF).and_then(|temp| park::reopen(temp, self.mode));
                opened.map_err(self.place.failed("opening it again"))?
            }
        };
        Ok(self.file.insert(file))
    }

    /// The path it will have.
    pub(crate) fn path(&self) -> &GuestPath {
        &self.place.path
    }

    /// What will be on disk.
    pub(crate) fn facts(&self) -> FileFacts {
        let path = self.place.path.to_string();
        FileFacts { path, bytes: self.bytes, sha256: self.sha256.clone() }
    }

    /// Publishes only over what was approved to be replaced.
    pub(super) fn expect_approved(&mut self, expected: ExpectedEntry<'_>) {
        if let ExpectedEntry::This(seen) = expected {
            self.place.approved = Some(Box::new(seen.clone()));
        }
    }

    /// Publishes the file. On an error its name is as it was, and so are the directories, unless it
    /// is [`PublishError::DurabilityUnknown`].
    pub(super) fn land(mut self) -> Result<(), PublishError> {
        let (mount, budget) = (Arc::clone(&self.place.mount), Arc::clone(&self.place.budget));
        let umask = self.place.workspace.umask;
        for _ in 0..TRIES_MAX {
            // Before the directory is held, with which nobody waits for another program, or reads a
            // large file.
            let Some(held) = self.hold_old()? else { continue };
            let parent = parents::open_or_make(&mount, &self.place.path, umask, &budget)?;
            let Some(parent) = parent else { continue };
            if let Some(freed) = self.place_in(&parent.dir, &held)? {
                drop(held);
                self.reservation.land(freed);
                let unsynced = |errno| PublishError::unconfirmed(&self.place.path, "saved", errno);
                return fsync(parent.keep()).map_err(unsynced);
            }
        }
        Err(PublishError::Unsettled { path: self.place.path })
    }

    /// Tries once; the bytes that what had the name gave back. `None`: something changed between
    /// looking and acting.
    fn place_in(&mut self, parent: &OwnedFd, held: &HeldFile) -> Result<Option<u64>, PublishError> {
        let (_, leaf) = resolve::split(&self.place.path);
        let found = resolve::entry(parent, leaf)
            .map_err(|errno| resolve::explain(&self.place.mount.dir, &self.place.path, errno))?;
        plan::check_approved(parent, &self.place.path, self.place.approved.as_deref())?;
        if self.place.expected.is_some() && !matches!(found, ResolvedEntry::File(_)) {
            return Err(PublishError::Changed { path: self.place.path.clone() });
        }
        resolve::may_take(&found, &self.place.path, self.place.disposition, EntryKind::File)?;
        match found {
            ResolvedEntry::File(old) if held.is(&old) => self.take_over_name(parent, &old),
            ResolvedEntry::File(_) => Ok(None),
            // Nothing has it: all else was refused.
            _ => self.give_new_name(parent),
        }
    }

    /// The name is free: takes it, unless somebody else does first.
    fn give_new_name(&mut self, parent: &OwnedFd) -> Result<Option<u64>, PublishError> {
        self.set_mode(self.place.workspace.new_file_mode())?;
        let path = self.place.path.clone();
        let (_, leaf) = resolve::split(&path);
        let renamed = self.temp.as_mut().map(|temp| {
            rename_new(temp.dir(), temp.as_str(), parent, leaf).inspect(|()| temp.mark_renamed())
        });
        let placed = match renamed {
            // The filesystem has no such rename. A temporary name goes when it is dropped.
            None | Some(Err(Errno::OPNOTSUPP)) => link_open_file(self.file()?, parent, leaf),
            Some(renamed) => renamed,
        };
        self.outcome(placed, 0)
    }

    /// The name is a regular file's: takes it over in one step, with the mode that the file had.
    ///
    /// The step goes through a temporary name in the mount's root, whose removal is not synced:
    /// should a power loss bring it back, the next start sweeps it.
    fn take_over_name(&mut self, parent: &OwnedFd, old: &Stat) -> Result<Option<u64>, PublishError> {
        self.set_mode(Mode::from_raw_mode(old.st_mode & 0o777))?;
        if self.temp.is_none() {
            let mount = Arc::clone(&self.place.mount);
            let linked = TempName::link(&mount, self.file()?);
            self.temp = Some(linked.map_err(self.place.failed("preparing the replacement"))?);
        }
        let Some(temp) = &mut self.temp else { return Ok(None) };
        let (_, leaf) = resolve::split(&self.place.path);
        let placed = renameat(temp.dir(), temp.as_str(), parent, leaf).inspect(|()| temp.mark_renamed());
        self.outcome(placed, walk::bytes_freed(old))
    }

    /// Locks the old file, and makes sure that it is what was expected. Held until the name is
    /// taken over: a process that expects the old file does not get in between. `None`: it lost its
    /// name.
    fn hold_old(&self) -> Result<Option<HeldFile>, PublishError> {
        let path = &self.place.path;
        let found = plan::find_old(&self.place.mount, path)?;
        let replaced = found.filter(|_| self.place.disposition == Disposition::Replace);
        let Some((parent, old)) = replaced else { return Ok(Some(HeldFile::default())) };
        // Told before anybody waits; who holds the lock may still write, so it is looked at again.
        plan::check_approved(&parent, path, self.place.approved.as_deref())?;
        let Some(expected) = &self.place.expected else {
            let lock = lock::hold_if_possible(&parent, path, &old, &self.place.budget)?;
            return Ok(lock.map(|lock| HeldFile::new(Some(&old), lock)));
        };
        let held = lock::hold(&parent, path, &old, &self.place.budget)?;
        let Some(file) = held else { return Ok(None) };
        let len = file.metadata().map_err(self.place.failed("reading what it replaces"))?.len();
        let mut digest = RunningHash::new();
        digest.update_from(&self.place, &file, 0..len)?;
        if digest.into_bytes() != *expected {
            return Err(PublishError::Changed { path: path.clone() });
        }
        Ok(Some(HeldFile::new(Some(&old), [file])))
    }

    fn outcome(&self, placed: rustix::io::Result<()>, freed: u64) -> Result<Option<u64>, PublishError> {
        let failed = self.place.failed("giving it its name");
        Ok(is_placed(placed, &self.place.path, failed)?.then_some(freed))
    }

    /// Sealing set the mode that was right then; this corrects it where the old file changed since.
    fn set_mode(&mut self, mode: Mode) -> Result<(), PublishError> {
        let mode = self.place.mode.unwrap_or(mode);
        if self.mode != mode {
            let file = self.file()?;
            let set = fchmod(file, mode).and_then(|()| fsync(file));
            set.map_err(self.place.failed("setting its mode"))?;
            self.mode = mode;
        }
        Ok(())
    }
}
