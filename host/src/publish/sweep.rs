//! Removes the temporary names that a crash left behind. It refuses to touch one that is locked, which
//! another process is working on, and anything that is not a regular file with such a name.

use super::resolve::{self, Entry};
use super::temp::PREFIX;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FlockOperation, OFlags, flock, unlinkat};
use rustix::io::{Errno, Result};

/// Removes what a crash left in the root of a mount; returns how many. Locked ones are in use.
///
/// # Errors
/// Only when the directory cannot be listed: a single stubborn file is no reason not to start.
pub(super) fn sweep(dir: &Dir) -> Result<usize> {
    let mut removed = 0;
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        if entry.file_name().to_bytes().starts_with(PREFIX.as_bytes())
            && entry.file_name().to_str().is_ok_and(|name| remove_unless_locked(dir, name).is_ok())
        {
            removed += 1;
        }
    }
    Ok(removed)
}

fn remove_unless_locked(dir: &Dir, name: &str) -> Result<()> {
    if !matches!(resolve::entry(dir, name)?, Entry::File(_)) {
        return Err(Errno::INVAL);
    }
    let file = resolve::open(dir, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    unlinkat(dir, name, AtFlags::empty())
}
