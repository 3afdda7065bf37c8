//! Holds a file that is about to be replaced, moved over or removed, so that of two gateways that
//! change it at once each sees what the other did. It waits a bounded time, and never for its own
//! call.
//!
//! Nobody waits here with a [`super::parents::Parent`] in hand: until that is let go, nobody else
//! of this process makes a directory in the mount.

use super::budget::CallBudget;
use super::error::PublishError;
use super::identity::FileIdentity;
use super::resolve;
use crate::files::reopen;
use cofferdam_policy::GuestPath;
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Stat, flock};
use rustix::io::Errno;
use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any gateway holds one, except while it hashes a very large file.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// How often a lock that is taken is asked for.
const LOCK_ASK_EVERY: Duration = Duration::from_millis(1);

/// The file that a name stood for, with the locks that were taken: held until this is dropped.
#[derive(Default)]
pub(super) struct HeldFile {
    /// None: there was none.
    identity: Option<FileIdentity>,
    _locks: Vec<File>,
}

impl HeldFile {
    pub(super) fn new(old: Option<&Stat>, locks: impl IntoIterator<Item = File>) -> Self {
        Self { identity: old.map(FileIdentity::from_stat), _locks: locks.into_iter().collect() }
    }

    /// Whether it is this one.
    pub(super) fn is(&self, file: &Stat) -> bool {
        self.identity == Some(FileIdentity::from_stat(file))
    }
}

/// Locks the regular file `old` that `path` stands for in its directory: until what comes back is
/// dropped, no other gateway replaces it. `None`: the name stands for something else now.
///
/// # Errors
/// Somebody else holds it for long, the call has to end, or it cannot be read or locked at all.
pub(super) fn hold(
    parent: &OwnedFd,
    path: &GuestPath,
    old: &Stat,
    budget: &CallBudget,
) -> Result<Option<File>, PublishError> {
    let (_, leaf) = resolve::split(path);
    let failed = |errno: Errno| PublishError::from_io(path, "reading what it replaces", errno);
    let Some((handle, stat)) = resolve::handle(parent, leaf).map_err(failed)? else { return Ok(None) };
    if FileIdentity::from_stat(&stat) != FileIdentity::from_stat(old) {
        return Ok(None);
    }
    let file = File::from(reopen(handle).map_err(failed)?);
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(LOCK_ASK_EVERY),
            Err(Errno::WOULDBLOCK) => return Err(PublishError::Locked { path: path.clone() }),
            Err(errno) => return Err(failed(errno)),
        }
        budget.check(path)?;
    }
    // Its holder may have replaced it.
    let is_still_it = FileIdentity::from_stat(old).has_name(parent, leaf).map_err(failed)?;
    Ok(is_still_it.then_some(file))
}

/// The same for a change that was promised nothing: where the file cannot be locked it goes on
/// without, as does everybody who knows of no locks. `None`: the name stands for something else
/// now.
///
/// # Errors
/// The call has to end.
pub(super) fn hold_if_possible(
    parent: &OwnedFd,
    path: &GuestPath,
    old: &Stat,
    budget: &CallBudget,
) -> Result<Option<Option<File>>, PublishError> {
    match hold(parent, path, old, budget) {
        Ok(held) => Ok(held.map(Some)),
        Err(stopped @ (PublishError::TimedOut { .. } | PublishError::Cancelled { .. })) => Err(stopped),
        Err(_) => Ok(Some(None)),
    }
}
