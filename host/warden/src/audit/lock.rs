//! Locks between processes: on the log for one append, on `publishing.lock` for one publication.
//!
//! Every wait is bounded, so a stopped process delays others but never hangs them. The kernel frees
//! a lock when its holder dies, so none is ever left behind.

use super::{AuditError, open};
use std::borrow::Borrow;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The file beside the log whose lock says that a publication is under way.
pub(super) const PUBLISHING_LOCK: &str = "publishing.lock";

/// [`File::try_lock`], which excludes everyone, or [`File::try_lock_shared`], which excludes the
/// holders of that.
type TryLock = fn(&File) -> Result<(), TryLockError>;

/// A held lock on a file; dropping it unlocks.
#[derive(Debug)]
pub(super) struct HeldLock<F: Borrow<File>>(F);

impl<F: Borrow<File>> Drop for HeldLock<F> {
    fn drop(&mut self) {
        // Unlocking a file that is open and locked does not fail; closing it would unlock as well.
        let _ = self.0.borrow().unlock();
    }
}

/// Says that a side effect may be under way: held from before the intent to after the outcome.
///
/// While any process holds one, nobody reconciles, so an intent without an outcome that a
/// reconciler finds can only come from a crash.
#[derive(Debug)]
#[must_use = "dropping the guard says that the publication is over"]
pub(crate) struct PublishingGuard {
    _file: File,
}

impl PublishingGuard {
    /// The lock file, opened and locked. Each guard has its own open file: locks belong to those.
    pub(super) fn take(path: &Path, try_lock: TryLock, wait: Duration) -> Result<Self, AuditError> {
        let file = open::open_for_append(path)?;
        acquire(&file, PUBLISHING_LOCK, try_lock, wait)?;
        Ok(Self { _file: file })
    }
}

/// The lock on the log, waited for at most `wait`.
pub(super) fn log<F: Borrow<File>>(
    file: F,
    try_lock: TryLock,
    wait: Duration,
) -> Result<HeldLock<F>, AuditError> {
    acquire(file.borrow(), "the audit file", try_lock, wait)?;
    Ok(HeldLock(file))
}

fn acquire(file: &File, what: &'static str, try_lock: TryLock, wait: Duration) -> Result<(), AuditError> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match try_lock(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(source)) => return Err(AuditError::Lock(source)),
            Err(TryLockError::WouldBlock) if start.elapsed() >= wait => {
                return Err(AuditError::Busy { what, waited: wait });
            }
            Err(TryLockError::WouldBlock) => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(2));
            }
        }
    }
}
