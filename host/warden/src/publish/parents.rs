//! The directory that a file lands in, made when it is missing, and unmade when the file does not
//! land.
//!
//! A directory that was made is durable before anything lies in it, and before another publish of
//! this process can find it: otherwise a file could be reported durable in a directory that is not.
//! It counts against the call's share, and is not unmade while another publish of this process is
//! about to use it. (Two processes that make the same directory at the same moment both sync it;
//! one that finds its directory unmade makes it again.)

use super::budget::CallBudget;
use super::error::PublishError;
use super::resolve;
use super::temp::StagingFolder;
use cofferdam_policy::GuestPath;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, fsync, mkdirat, unlinkat};
use rustix::io::Errno;
use std::sync::{PoisonError, RwLockReadGuard, RwLockWriteGuard};

/// An open parent directory. Dropped before [`Parent::keep`], what was made for it is removed.
///
/// Hold it for the moment in which the file gets its name: no directory is made or unmade
/// meanwhile.
pub(super) struct Parent<'a> {
    pub(super) dir: OwnedFd,
    // Let go before `made` is dropped, which waits until nobody holds one.
    _nobody_makes: RwLockReadGuard<'a, ()>,
    made: MadeFolders<'a>,
}

impl Parent<'_> {
    /// The file is there: the directories stay.
    pub(super) fn keep(mut self) -> OwnedFd {
        self.made.names.clear();
        self.dir
    }
}

/// The parent of `path`; `None` when it was removed while this looked, and looking again may help.
pub(super) fn open_or_make<'a>(
    mount: &'a StagingFolder,
    path: &GuestPath,
    umask: Mode,
    budget: &'a CallBudget,
) -> Result<Option<Parent<'a>>, PublishError> {
    let (parent, _) = resolve::split(path);
    let nobody_makes = mount.making.read().unwrap_or_else(PoisonError::into_inner);
    match resolve::directory(&mount.dir, parent.as_bytes()) {
        Ok(dir) => {
            let made = MadeFolders::new(mount, budget);
            Ok(Some(Parent { dir, _nobody_makes: nobody_makes, made }))
        }
        Err(Errno::NOENT) => {
            drop(nobody_makes);
            make((mount, budget), path, parent, Mode::from_raw_mode(0o777) - umask)
        }
        Err(errno) => Err(resolve::explain(&mount.dir, path, errno)),
    }
}

/// Walks down from the mount, one name at a time, making what is missing.
fn make<'a>(
    (mount, budget): (&'a StagingFolder, &'a CallBudget),
    path: &GuestPath,
    parent: &str,
    mode: Mode,
) -> Result<Option<Parent<'a>>, PublishError> {
    // Declared before the lock is taken, so that it is dropped after the lock is let go.
    let mut made = MadeFolders::new(mount, budget);
    let alone = mount.making.write().unwrap_or_else(PoisonError::into_inner);
    let failed = |errno| resolve::explain(&mount.dir, path, errno);
    let mut dir = resolve::directory(&mount.dir, b"").map_err(failed)?;
    for name in parent.split('/') {
        dir = match resolve::directory(&dir, name.as_bytes()) {
            Ok(next) => next,
            Err(Errno::NOENT) => {
                // First, so that what is made can be unmade after any failure from then on.
                if made.names.is_empty() {
                    made.base = Some(resolve::directory(&dir, b"").map_err(failed)?);
                }
                budget.take_folder(path)?;
                match mkdirat(&dir, name, mode).inspect_err(|_| budget.give_folder_back()) {
                    Ok(()) => made.names.push(name.to_owned()),
                    // Somebody else made it and keeps it; whether they synced it yet is unknown.
                    Err(Errno::EXIST) => made.names.clear(),
                    Err(Errno::NOENT) => return Ok(None),
                    Err(errno) => {
                        return Err(PublishError::from_io(path, "making its directory", errno));
                    }
                }
                let next = match resolve::directory(&dir, name.as_bytes()) {
                    Err(Errno::NOENT) => return Ok(None),
                    next => next.map_err(failed)?,
                };
                fsync(&dir).map_err(|e| PublishError::from_io(path, "syncing its directory", e))?;
                next
            }
            Err(errno) => return Err(failed(errno)),
        };
    }
    Ok(Some(Parent { dir, _nobody_makes: RwLockWriteGuard::downgrade(alone), made }))
}

/// Directories made for one file, each in the one before, the first in `base`.
struct MadeFolders<'a> {
    mount: &'a StagingFolder,
    /// What they are taken of.
    budget: &'a CallBudget,
    base: Option<OwnedFd>,
    names: Vec<String>,
}

impl<'a> MadeFolders<'a> {
    fn new(mount: &'a StagingFolder, budget: &'a CallBudget) -> Self {
        Self { mount, budget, base: None, names: Vec::new() }
    }
}

impl Drop for MadeFolders<'_> {
    /// Removes the deepest first and stops where something lies in one: somebody uses it.
    fn drop(&mut self) {
        if self.names.is_empty() {
            return;
        }
        let Some(base) = &self.base else { return };
        let _alone = self.mount.making.write().unwrap_or_else(PoisonError::into_inner);
        while let Some(name) = self.names.pop() {
            let Ok(dir) = resolve::directory(base, self.names.join("/").as_bytes()) else { return };
            if unlinkat(dir, name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
            self.budget.give_folder_back();
        }
    }
}
