//! Opens a workspace's directories: makes what is missing, and checks what the system can do.
//!
//! The only place of this room with authority over host paths. It refuses to start without openat2,
//! and to take a symbolic link for one of its directories.

use super::Config;
use super::resolve;
use super::sweep::{SWEPT_ENTRIES_MAX, sweep};
use super::temp::{StagingFolder, StagingMethod};
use cap_std::fs::Dir;
use cofferdam_core::capability::MOUNTS;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, fsync, mkdirat, openat};
use rustix::io::Errno;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

/// Why the workspace cannot be used. For the operator: it names host paths.
#[allow(missing_docs, reason = "the messages name what the fields are")]
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The root cannot be made or opened.
    #[error("the workspace {} cannot be opened: {source}", .root.display())]
    Root { root: PathBuf, source: io::Error },
    /// One of its directories cannot be made or opened.
    #[error("{} {}: {source}", .path.display(), open_remedy(source))]
    Mount { path: PathBuf, source: io::Error },
    /// The kernel, or a filter in front of it, does not offer openat2.
    #[error(
        "Linux 5.9 or newer is required (6.7 for [isolation] require = true), with openat2, and the system answers: \
         {source}; in a container, allow openat2 in its seccomp profile"
    )]
    Openat2 { source: io::Error },
}

impl OpenError {
    /// Whether there was no room to make it.
    pub fn is_no_space(&self) -> bool {
        let (Self::Root { source, .. } | Self::Mount { source, .. } | Self::Openat2 { source }) = self;
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

/// What has to become of a folder that cannot be used.
fn open_remedy(source: &io::Error) -> &'static str {
    match Errno::from_io_error(source) {
        Some(Errno::AGAIN | Errno::BUSY) => {
            "is kept locked by another program; `lslocks` names it, and it must end or let go"
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            "must be a directory that the gateway's user can read, write and enter; see `ls -ld`, then chown or chmod it"
        }
        Some(Errno::NOSPC | Errno::DQUOT) => {
            "needs room on its filesystem; free some, or raise the user's quota"
        }
        Some(Errno::ROFS) => "lies on a filesystem that is mounted read-only; mount it for writing",
        Some(Errno::MFILE | Errno::NFILE) => "cannot be opened beside so many open files; raise their limit",
        Some(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => {
            "must be a directory of the workspace (no symbolic link; mount one there if need be)"
        }
        _ => {
            "must be a directory of the workspace, and the system cannot open it; see its log, and check the disk"
        }
    }
}

impl Config {
    /// The mounts of the folder `base`, which lies at `at` below the root.
    pub(super) fn mounts(
        &self,
        base: &OwnedFd,
        at: &str,
        technique: StagingMethod,
    ) -> Result<Vec<Arc<StagingFolder>>, OpenError> {
        MOUNTS.iter().map(|guest| self.mount(base, guest, at, technique)).collect()
    }

    /// One mount, made when missing and cleared of what a crash left.
    pub(super) fn mount(
        &self,
        base: &OwnedFd,
        guest: &'static str,
        at: &str,
        technique: StagingMethod,
    ) -> Result<Arc<StagingFolder>, OpenError> {
        let name = guest.trim_start_matches('/');
        let failed = |errno: Errno| self.folder_error(&format!("{at}{name}"), errno);
        let dir = make(base, name, mount_mode(name)).and_then(|()| folder(base, name)).map_err(failed)?;
        resolve::directory(&dir, b"").map_err(|errno| match errno {
            Errno::NOSYS | Errno::PERM | Errno::INVAL => OpenError::Openat2 { source: errno.into() },
            errno => failed(errno),
        })?;
        let dir = Arc::new(Dir::from_std_file(File::from(dir)));
        let swept = sweep(&dir, SWEPT_ENTRIES_MAX).map_err(failed)?;
        if swept.leftovers > 0 {
            tracing::warn!(mount = guest, at, removed = swept.leftovers, "removed what a crash had left");
        }
        if swept.left > 0 {
            tracing::warn!(
                mount = guest,
                at,
                left = swept.left,
                "files and directories that a crash left are too large to delete at one start, or cannot be \
                 opened or deleted; they are hidden from tools, count against no quota, and the next start \
                 goes on"
            );
        }
        Ok(Arc::new(StagingFolder { guest, dir, technique, making: RwLock::new(()) }))
    }

    /// Looks whether [`super::Workspaces::open`] would succeed: whether the root and its mounts
    /// could be opened, or the mounts made where they are missing. Makes and clears nothing.
    ///
    /// # Errors
    /// [`OpenError`], as `open` would say it.
    pub fn check_open(&self) -> Result<(), OpenError> {
        let failed = |source| OpenError::Root { root: self.root.clone(), source };
        // A missing one is made at a start, by the code that knows whether it may be.
        let Some(root) = existing_root(&self.root).map_err(failed)? else { return Ok(()) };
        for name in MOUNTS.iter().map(|guest| guest.trim_start_matches('/')) {
            let found = match folder(&root, name) {
                Err(Errno::NOENT) => {
                    accessat(&root, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
                }
                found => found.and_then(|dir| resolve::directory(&dir, b"").map(drop)),
            };
            found.map_err(|errno| self.folder_error(name, errno))?;
        }
        Ok(())
    }

    /// A folder below the root cannot be used.
    pub(super) fn folder_error(&self, below: &str, errno: Errno) -> OpenError {
        OpenError::Mount { path: self.root.join(below.trim_end_matches('/')), source: errno.into() }
    }
}

/// The root, made for its owner alone when missing.
pub(super) fn open_root(root: &Path) -> Result<OwnedFd, OpenError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(root);
    let opened = made.and_then(|()| Ok(open_path(root)?));
    opened.map_err(|source| OpenError::Root { root: root.to_owned(), source })
}

/// The root, if it is there.
pub(super) fn existing_root(root: &Path) -> io::Result<Option<OwnedFd>> {
    match open_path(root) {
        Err(Errno::NOENT) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

fn open_path(root: &Path) -> rustix::io::Result<OwnedFd> {
    openat(CWD, root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The mode of a mount that is made; that of secrets is its owner's alone.
fn mount_mode(name: &str) -> Mode {
    if name == "vault" { Mode::RWXU } else { Mode::from_raw_mode(0o755) }
}

/// Makes a directory that is missing, durably.
fn make(parent: impl AsFd, name: &str, mode: Mode) -> rustix::io::Result<()> {
    match mkdirat(&parent, name, mode) {
        Ok(()) => fsync(parent),
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// A directory of the gateway's own, made for its owner alone when missing.
pub(super) fn private_folder(parent: impl AsFd, name: &str) -> rustix::io::Result<OwnedFd> {
    make(&parent, name, Mode::RWXU)?;
    folder(parent, name)
}

/// A directory that is there, open so that it can be listed, synced and staged in; a symbolic link
/// is none.
fn folder(parent: impl AsFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

/// The same where there may be none.
pub(super) fn open_existing(parent: impl AsFd, name: &str) -> rustix::io::Result<Option<OwnedFd>> {
    match folder(parent, name) {
        Err(Errno::NOENT) => Ok(None),
        folder => folder.map(Some),
    }
}

/// The process's umask, read without changing it, which would race with other threads.
pub(super) fn umask() -> Mode {
    let read = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let octal = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(octal.trim(), 8).ok()
    };
    // Without /proc: nothing for others.
    Mode::from_raw_mode(read().unwrap_or(0o077))
}
