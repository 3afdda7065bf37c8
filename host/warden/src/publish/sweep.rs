//! Removes the temporary names that a crash left behind: staged files, and directories that were
//! being deleted. It refuses to touch one that is locked, which another process is working on, and
//! anything else with such a name. It follows no symbolic link and enters no other mount.

use super::Expired;
use super::resolve::{self, ResolvedEntry};
use super::temp::PREFIX;
use super::tree;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FlockOperation, OFlags, flock, unlinkat};
use rustix::io::{Errno, Result};

/// A start deletes so many entries of a mount, which takes seconds; the next one goes on with the
/// rest.
pub(super) const SWEPT_ENTRIES_MAX: u64 = 200_000;

/// Removes what a crash left in the root of a mount, up to `entries_max` entries of directories.
/// Locked ones are in use. Counts those that are gone and those that stay until the next time.
///
/// # Errors
/// Only when the directory cannot be listed: a single stubborn file is no reason not to start.
pub(super) fn sweep(dir: &Dir, mut entries_max: u64) -> Result<Expired> {
    let mut swept = Expired::default();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        if !entry.file_name().to_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(name) = entry.file_name().to_str() else { continue };
        match remove_unless_locked(dir, name, &mut entries_max) {
            Ok(true) => swept.leftovers += 1,
            // One that its owner may not read cannot be locked, and so not be told from one in use.
            Ok(false) | Err(Errno::ACCESS) => swept.left += 1,
            Err(_) => {}
        }
    }
    Ok(swept)
}

/// Whether the name is gone: not all that is in it can always be deleted now.
fn remove_unless_locked(dir: &Dir, name: &str, entries_max: &mut u64) -> Result<bool> {
    let kind = resolve::entry(dir, name)?;
    let flags = match kind {
        ResolvedEntry::File(_) => OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK,
        ResolvedEntry::Directory => OFlags::RDONLY | OFlags::DIRECTORY,
        ResolvedEntry::Absent | ResolvedEntry::Other(_) => return Err(Errno::INVAL),
    };
    let found = resolve::open(dir, name, flags)?;
    flock(&found, FlockOperation::NonBlockingLockExclusive)?;
    if !matches!(kind, ResolvedEntry::Directory) {
        return unlinkat(dir, name, AtFlags::empty()).map(|()| true);
    }
    let deleted = tree::delete(&found, *entries_max)?;
    *entries_max = entries_max.saturating_sub(deleted.entries);
    match unlinkat(dir, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}
