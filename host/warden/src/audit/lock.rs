//! Locks between processes: on the log for one append, on `publishing.lock` for one publication.
//!
//! Every wait is bounded, so a stopped process delays others but never hangs them. The kernel frees
//! a lock when its holder dies, so none is ever left behind.

use super::AuditError;
use std::borrow::Borrow;
use std::fs::{File, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// What is locked for one append.
pub(super) const AUDIT_FILE: &str = "the audit file";

/// The file beside the log whose lock says that a publication is under way.
pub(super) const PUBLISHING_LOCK: &str = "publishing.lock";

/// [`File::try_lock`], which excludes everyone, or [`File::try_lock_shared`], which excludes the
/// holders of that.
pub(super) type TryLock = fn(&File) -> Result<(), TryLockError>;

/// A held lock on a file; dropping it unlocks.
#[derive(Debug)]
#[must_use = "dropping it unlocks"]
pub(crate) struct HeldLock<F: Borrow<File>>(F);

impl<F: Borrow<File>> Drop for HeldLock<F> {
    fn drop(&mut self) {
        // Unlocking a file that is open and locked does not fail; closing it would unlock as well.
        let _ = self.0.borrow().unlock();
    }
}

/// The lock on this file, which people know as `what`, waited for at most `wait`.
pub(super) fn acquire<F: Borrow<File>>(
    file: F,
    what: &'static str,
    try_lock: TryLock,
    wait: Duration,
) -> Result<HeldLock<F>, AuditError> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match try_lock(file.borrow()) {
            Ok(()) => return Ok(HeldLock(file)),
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
