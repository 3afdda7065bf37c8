//! Opens the workspace: makes its directories, opens each once, and checks what the system can do.
//!
//! The only place of this room with authority over host paths. It refuses to start without openat2,
//! and to take a symbolic link for one of its directories.

use super::quota::Quota;
use super::resolve;
use super::sweep::{SWEPT_ENTRIES_MAX, sweep};
use super::temp::{Mount, Technique};
use super::{Config, Inner, Workspace};
use cap_std::fs::Dir;
use cofferdam_core::capability::MOUNTS;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, fsync, mkdirat, openat};
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
    #[error("{} must be a directory of the workspace (no symbolic link; mount one there if need be): {source}", .path.display())]
    Mount { path: PathBuf, source: io::Error },
    /// The kernel, or a filter in front of it, does not offer openat2.
    #[error(
        "Linux 5.6+ with openat2 is required, and the system answers: {source}; in a container, allow openat2 in its seccomp profile"
    )]
    Openat2 { source: io::Error },
}

impl Workspace {
    /// The workspace, its directories made when missing and cleared of what a crash left.
    ///
    /// # Errors
    /// [`OpenError`]; without a workspace nothing starts.
    pub fn open(config: &Config) -> Result<Self, OpenError> {
        Self::open_with(config, Technique::detect(), umask())
    }

    /// The same with the choices that tests make.
    pub(super) fn open_with(config: &Config, technique: Technique, umask: Mode) -> Result<Self, OpenError> {
        let root = open_root(&config.root)
            .map_err(|source| OpenError::Root { root: config.root.clone(), source })?;
        let mut mounts = Vec::with_capacity(MOUNTS.len());
        for guest in MOUNTS {
            let name = guest.trim_start_matches('/');
            let failed =
                |errno: Errno| OpenError::Mount { path: config.root.join(name), source: errno.into() };
            let dir = open_mount(&root, name).map_err(failed)?;
            match resolve::directory(&dir, b"") {
                Ok(_) => {}
                Err(errno @ (Errno::NOSYS | Errno::PERM | Errno::INVAL)) => {
                    return Err(OpenError::Openat2 { source: errno.into() });
                }
                Err(errno) => return Err(failed(errno)),
            }
            let dir = Arc::new(Dir::from_std_file(File::from(dir)));
            let swept = sweep(&dir, SWEPT_ENTRIES_MAX).map_err(failed)?;
            if swept.removed > 0 {
                tracing::warn!(mount = guest, removed = swept.removed, "removed what a crash had left");
            }
            if swept.left > 0 {
                tracing::warn!(
                    mount = guest,
                    left = swept.left,
                    "directories whose removal a crash cut off are too large to delete at one start, or cannot be \
                     deleted; they are hidden from tools, count against no quota, and the next start goes on"
                );
            }
            mounts.push(Arc::new(Mount { guest, dir, technique, making: RwLock::new(()) }));
        }
        fsync(&root).map_err(|e| OpenError::Root { root: config.root.clone(), source: e.into() })?;
        let quota = Arc::new(Quota::new(config.max_bytes, mounts.clone()));
        Ok(Self { inner: Arc::new(Inner { mounts, quota, umask }) })
    }
}

/// The root, made for its owner alone when missing.
fn open_root(root: &Path) -> io::Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    Ok(openat(CWD, root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// A directory of the root, open so that it can be listed, synced and staged in.
fn open_mount(root: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    match mkdirat(root, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(root, name, flags, Mode::empty())
}

/// The process's umask, read without changing it, which would race with other threads.
fn umask() -> Mode {
    let read = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let octal = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(octal.trim(), 8).ok()
    };
    // Without /proc: nothing for others.
    Mode::from_raw_mode(read().unwrap_or(0o077))
}
