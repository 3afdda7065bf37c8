//! Gives a sealed file its name, in one step that other programs see whole or not at all.
//!
//! It refuses to replace anything but a regular file, and replaces the name, never what the name leads
//! to: another hard link keeps its content. What was prepared and did not land is taken back.

use super::Disposition;
use super::error::PublishError;
use super::parents;
use super::resolve::{self, Entry};
use super::stage::{Body, Place};
use super::temp::{TempName, link_open_file};
use super::walk;
use cofferdam_core::audit::FileFacts;
use cofferdam_core::policy::GuestPath;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, RenameFlags, fchmod, fsync, renameat, renameat_with};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;

/// Others may change the directory this often before publishing gives up.
const TRIES_MAX: u32 = 16;

/// A finished file, its bytes on disk, still without its name. Dropped, it is gone.
pub struct SealedFile {
    place: Place,
    body: Body,
    sha256: String,
    mode: Mode,
}

/// How a file landed.
pub(super) enum Landed {
    /// It survives a power loss.
    Durable,
    /// It is there, but the disk did not confirm its name.
    Unconfirmed(io::Error),
}

/// What came of one try.
enum Tried {
    /// It has its name, and what had it before held so many bytes.
    Placed { freed: u64 },
    /// Something changed between looking and acting.
    Changed,
}

impl SealedFile {
    pub(super) fn new(place: Place, mut body: Body, mode: Mode) -> Self {
        let sha256 = std::mem::replace(&mut body.digest, super::digest::Digest::new()).finish();
        Self { place, body, sha256, mode }
    }

    /// The path it will have.
    pub fn path(&self) -> &GuestPath {
        &self.place.path
    }

    /// What will be on disk.
    pub fn facts(&self) -> FileFacts {
        let path = self.place.path.to_string();
        FileFacts { path, bytes: self.body.bytes, sha256: self.sha256.clone() }
    }

    /// Publishes the file. On an error its name is as it was, and so are the directories.
    pub(super) fn land(mut self) -> Result<Landed, PublishError> {
        let (mount, umask) = (Arc::clone(&self.place.mount), self.place.inner.umask);
        for _ in 0..TRIES_MAX {
            let Some(parent) = parents::open_or_make(&mount, &self.place.path, umask)? else { continue };
            if let Tried::Placed { freed } = self.place_in(&parent.dir)? {
                self.body.reservation.land(freed);
                return Ok(match fsync(parent.keep()) {
                    Ok(()) => Landed::Durable,
                    Err(errno) => Landed::Unconfirmed(errno.into()),
                });
            }
        }
        Err(PublishError::Unsettled { path: self.place.path })
    }

    fn place_in(&mut self, parent: &OwnedFd) -> Result<Tried, PublishError> {
        let path = || self.place.path.clone();
        let (_, leaf) = resolve::split(&self.place.path);
        let found = resolve::entry(parent, leaf)
            .map_err(|errno| resolve::explain(&self.place.mount.dir, &self.place.path, errno))?;
        match (found, self.place.disposition) {
            (Entry::Absent, _) => self.give_new_name(parent),
            (Entry::File(old), Disposition::Replace) => self.take_over_name(parent, &old),
            (Entry::File(_), Disposition::CreateNew) => Err(PublishError::AlreadyExists { path: path() }),
            (Entry::Directory, _) => Err(PublishError::IsADirectory { path: path() }),
            (Entry::Other(kind), _) => Err(PublishError::NotARegularFile { path: path(), kind }),
        }
    }

    /// The name is free: takes it, unless somebody else does first.
    fn give_new_name(&mut self, parent: &OwnedFd) -> Result<Tried, PublishError> {
        self.set_mode(self.place.inner.new_file_mode())?;
        let (_, leaf) = resolve::split(&self.place.path);
        let placed = match &mut self.body.temp {
            None => link_open_file(&self.body.file, parent, leaf),
            Some(temp) => {
                let dir = &*self.place.mount.dir;
                match renameat_with(dir, temp.as_str(), parent, leaf, RenameFlags::NOREPLACE) {
                    Ok(()) => {
                        temp.renamed();
                        Ok(())
                    }
                    // The filesystem has no such rename. The temporary name goes when it is dropped.
                    Err(Errno::INVAL | Errno::NOSYS) => link_open_file(&self.body.file, parent, leaf),
                    Err(errno) => Err(errno),
                }
            }
        };
        self.outcome(placed, 0)
    }

    /// The name is a regular file's: takes it over in one step, with the mode that the file had.
    ///
    /// The step goes through a temporary name in the mount's root, whose removal is not synced: should
    /// a power loss bring it back, the next start sweeps it.
    fn take_over_name(&mut self, parent: &OwnedFd, old: &rustix::fs::Stat) -> Result<Tried, PublishError> {
        self.set_mode(Mode::from_raw_mode(old.st_mode & 0o777))?;
        let mount = &self.place.mount;
        let temp = match &mut self.body.temp {
            Some(temp) => temp,
            none => none.insert(
                TempName::link(mount, &self.body.file)
                    .map_err(|e| PublishError::from_io(&self.place.path, "preparing the replacement", e))?,
            ),
        };
        let (_, leaf) = resolve::split(&self.place.path);
        let placed = renameat(&*mount.dir, temp.as_str(), parent, leaf);
        if placed.is_ok() {
            temp.renamed();
        }
        // Another name of the old file keeps its bytes in use.
        let freed = if old.st_nlink == 1 { walk::share(old) } else { 0 };
        self.outcome(placed, freed)
    }

    fn outcome(&self, placed: rustix::io::Result<()>, freed: u64) -> Result<Tried, PublishError> {
        let path = &self.place.path;
        match placed {
            Ok(()) => Ok(Tried::Placed { freed }),
            // The name was taken, or the parent removed, since it was looked at.
            Err(Errno::EXIST | Errno::NOENT | Errno::ISDIR | Errno::NOTDIR | Errno::NOTEMPTY) => {
                Ok(Tried::Changed)
            }
            Err(Errno::XDEV | Errno::BUSY) => {
                Err(PublishError::OtherMount { path: path.clone(), at: path.to_string() })
            }
            Err(errno) => Err(PublishError::from_io(path, "giving it its name", errno)),
        }
    }

    /// Sealing set the mode that was right then; this corrects it where the old file changed since.
    fn set_mode(&mut self, mode: Mode) -> Result<(), PublishError> {
        if self.mode != mode {
            let failed = |e| PublishError::from_io(&self.place.path, "setting its mode", e);
            fchmod(&self.body.file, mode).map_err(failed)?;
            fsync(&self.body.file).map_err(failed)?;
            self.mode = mode;
        }
        Ok(())
    }
}
