//! Files without a name, and names that only the gateway knows, all in the root of a mount; and the
//! single steps that give a name, or another one, none of which replaces a file.
//!
//! A named one is under an exclusive lock for as long as this process works on it, so that another
//! process's sweep spares it. Neither kind shows content under a name that a guest can use.

use super::park::ParkFolder;
use crate::files::proc_path;
use cap_std::fs::Dir;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, fstat, linkat, openat};
use rustix::fs::{renameat, renameat_with, unlinkat};
use rustix::io::{Errno, Result};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::{Arc, RwLock};

/// What the gateway's temporary names begin with.
pub(super) const PREFIX: &str = ".cofferdam-tmp-";

/// A random name that exists this often in a row is no accident.
const NAMES_MAX: u32 = 16;

/// One directory of the workspace, open, and how files are staged in it.
pub(super) struct StagingFolder {
    /// `/shared`, `/tmp` or `/vault`.
    pub(super) guest: &'static str,
    pub(super) dir: Arc<Dir>,
    pub(super) technique: StagingMethod,
    /// Held for writing while directories are made and not yet durable, and while they are unmade;
    /// for reading while a file gets its name in one.
    pub(super) making: RwLock<()>,
}

/// How a staged file stays out of sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StagingMethod {
    /// It has no name (`O_TMPFILE`), where the filesystem can do that; otherwise as
    /// [`Self::Named`].
    Unnamed,
    /// It has a temporary name in the mount's root.
    Named,
}

impl StagingMethod {
    /// Without `/proc`, a file that has no name cannot be given one.
    pub(super) fn detect() -> Self {
        if Path::new("/proc/self/fd").is_dir() { Self::Unnamed } else { Self::Named }
    }
}

/// A temporary name, removed when dropped unless the file was renamed away.
pub(super) struct TempName {
    dir: Arc<Dir>,
    name: Option<String>,
    /// What `dir` is, where it is not a mount's root; it goes with the last name in it.
    _park: Option<Arc<ParkFolder>>,
}

impl TempName {
    /// A name of a file in a park.
    pub(super) fn in_park(park: &Arc<ParkFolder>, name: String) -> Self {
        Self { dir: Arc::clone(&park.dir), name: Some(name), _park: Some(Arc::clone(park)) }
    }

    /// The directory that it is in: the root of the mount, or a park.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The name, in [`Self::dir`].
    pub(super) fn as_str(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The file is no longer under this name.
    pub(super) fn mark_renamed(&mut self) {
        self.name = None;
    }

    /// Gives a file that has no name a temporary one; it is locked before the name shows.
    pub(super) fn link(mount: &StagingFolder, file: &File) -> Result<Self> {
        flock(file, FlockOperation::NonBlockingLockExclusive)?;
        with_new_name(|name| {
            link_open_file(file, &*mount.dir, &name)?;
            Ok(Self { dir: Arc::clone(&mount.dir), name: Some(name), _park: None })
        })
    }
}

impl Drop for TempName {
    fn drop(&mut self) {
        if let Some(name) = self.name.take()
            && let Err(errno) = unlinkat(&*self.dir, &name, AtFlags::empty())
            && errno != Errno::NOENT
        {
            tracing::warn!(%name, %errno, "a temporary file stays until the next start");
        }
    }
}

/// Links an open file to `name` in `dir`, a temporary one or its last, unless that is taken
/// (EXIST).
pub(super) fn link_open_file(file: impl AsFd, dir: impl AsFd, name: &str) -> Result<()> {
    linkat(CWD, proc_path(&file), dir, name, AtFlags::SYMLINK_FOLLOW)
}

/// Renames without replacing anything (EXIST). OPNOTSUPP: the filesystem has no such rename.
pub(super) fn rename_new(old: impl AsFd, name: &str, new: impl AsFd, to: &str) -> Result<()> {
    match renameat_with(old, name, new, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(Errno::OPNOTSUPP),
        done => done,
    }
}

/// The same for a directory, everywhere: the plain rename replaces nothing but an empty directory.
pub(super) fn rename_directory(old: impl AsFd, name: &str, new: impl AsFd, to: &str) -> Result<()> {
    let (old, new) = (old.as_fd(), new.as_fd());
    match rename_new(old, name, new, to) {
        Err(Errno::OPNOTSUPP) => renameat(old, name, new, to),
        done => done,
    }
}

/// An empty file that nobody can name, readable and writable by its owner alone.
pub(super) fn create(mount: &StagingFolder) -> Result<(File, Option<TempName>)> {
    let owner = Mode::RUSR | Mode::WUSR;
    if mount.technique == StagingMethod::Unnamed {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match openat(&*mount.dir, ".", flags, owner) {
            Ok(fd) => return Ok((File::from(fd), None)),
            // The filesystem, or the kernel, has no such files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {}
            Err(errno) => return Err(errno),
        }
    }
    with_new_name(|name| create_named(mount, name, owner)).map(|(file, name)| (file, Some(name)))
}

/// A locked file with a temporary name. EXIST also where a sweep came between creation and lock.
fn create_named(mount: &StagingFolder, name: String, mode: Mode) -> Result<(File, TempName)> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(openat(&*mount.dir, &name, flags, mode)?);
    let name = TempName { dir: Arc::clone(&mount.dir), name: Some(name), _park: None };
    lock_new(&file)?;
    match fstat(&file)?.st_nlink {
        0 => Err(Errno::EXIST),
        _ => Ok((file, name)),
    }
}

/// Locks what was made a moment ago. EXIST: a sweep has it.
pub(super) fn lock_new(made: impl AsFd) -> Result<()> {
    match flock(made, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Errno::EXIST),
        locked => locked,
    }
}

/// What `make` makes under a random name, another one for each EXIST.
pub(super) fn with_new_name<T>(mut make: impl FnMut(String) -> Result<T>) -> Result<T> {
    for _ in 0..NAMES_MAX {
        match make(random_name()) {
            Err(Errno::EXIST) => {}
            made => return made,
        }
    }
    Err(Errno::EXIST)
}

/// `.cofferdam-tmp-` and 128 bits. They need not be secret, only new: creation is exclusive.
pub(super) fn random_name() -> String {
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{PREFIX}{:016x}{:016x}", half(), half())
}
