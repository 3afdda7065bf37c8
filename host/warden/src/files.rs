//! Opens files so that nothing else is opened: a regular one by its path, what lies beneath a
//! folder, and what a handle stands for. It never waits for anything but a lock, and for that a
//! bounded time: opening a FIFO waits for its other end.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags, ResolveFlags, flock, openat2, readlink};
use rustix::io::{Errno, Result};
use rustix::path::Arg;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The kernel asks to try again when a rename anywhere races with the lookup: it cannot tell
/// whether the path still lies beneath.
const TRIES_MAX: u32 = 64;

/// A file that somebody names, for reading.
///
/// # Errors
/// What the system said, or that it is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let opened = open_if_regular(path, OFlags::empty(), File::options().read(true))?;
    opened.ok_or_else(|| io::Error::other("it is not a regular file"))
}

/// A file, opened as `options` and `flags` say; none where it is not a regular one. To write to it,
/// ask for reading as well: a FIFO is then opened whether or not anybody has its other end, and
/// told for what it is.
///
/// # Errors
/// What the system said.
pub fn open_if_regular(path: &Path, flags: OFlags, options: &mut OpenOptions) -> io::Result<Option<File>> {
    let flags = flags | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Whether an exclusive lock of the file is taken, which is asked for every `pause`, for `wait` at
/// most. It lasts until the file is closed.
///
/// # Errors
/// What the system said.
pub fn lock_within(file: &File, wait: Duration, pause: Duration) -> Result<bool> {
    let until = Instant::now() + wait;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(pause),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(errno) => return Err(errno),
        }
    }
}

/// A descriptor, close-on-exec, of what `path` leads to beneath `dir`: to nothing above, through no
/// link of `/proc`, and as `rules` say besides. Nothing is waited for where `flags` have
/// `NONBLOCK` or `PATH`.
///
/// # Errors
/// What the system said.
pub fn open_beneath(
    dir: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    rules: ResolveFlags,
) -> Result<OwnedFd> {
    let rules = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | rules;
    let dir = dir.as_fd();
    let mut tries = 0;
    loop {
        match openat2(dir, path, flags | OFlags::CLOEXEC, Mode::empty(), rules) {
            Err(Errno::AGAIN | Errno::INTR) if tries < TRIES_MAX => tries += 1,
            done => return done,
        }
    }
}

/// Opens for reading what a handle stands for, by the handle itself, so nothing can be swapped. The
/// caller made sure that it is a regular file: then this never blocks.
///
/// # Errors
/// What the system said.
pub fn reopen(handle: impl AsFd) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    // The handle is borrowed: closed before, its number would stand for nothing.
    rustix::fs::open(proc_path(&handle), flags, Mode::empty())
}

/// Where what a handle stands for lies, links followed.
///
/// # Errors
/// Without `/proc`, which alone tells.
pub fn real_path(handle: impl AsFd) -> Result<PathBuf> {
    let path = readlink(proc_path(&handle), Vec::new())?;
    Ok(OsString::from_vec(path.into_bytes()).into())
}

/// The name under which the system shows a descriptor of this process.
pub(crate) fn proc_path(handle: &impl AsFd) -> String {
    format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd())
}
