//! Locking what a panic may have left: every value behind a lock is as sound then as before.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic of another thread that held the lock.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
