//! Where nodes hold blobs together: a bucket of an object store, which the warden is handed. A
//! node's folder is in front of it, and what comes out of it is verified.

use super::place::BlobFolder;
use super::{LeftBlobs, Outgoing, UNSAID_AGE_MAX};
use cofferdam_core::text::with_causes;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant, SystemTime};

/// Between two sweeps of a bucket that nobody waits for: each lists all of it.
pub const BUCKET_SWEPT_EVERY: Duration = Duration::from_secs(60);
/// A bucket tells when a blob was put by the second: what seems younger than this may have been put
/// since the sweep asked what is needed.
const WRITTEN_STEP: Duration = Duration::from_secs(1);
/// Blobs that one look reads of: more wait nowhere. Where there are more, nothing is added.
pub const BLOBS_LISTED_MAX: usize = 100_000;

/// Holds blobs under their SHA-256, lower-case hex, for every node. Each call blocks, for a bounded
/// time.
pub trait Bucket: Send + Sync {
    /// Keeps all bytes of a file. Once it returns they are durable; the same may be there already,
    /// and is as new as this then.
    ///
    /// # Errors
    /// The connection's and the server's; then it may be there or not.
    fn put(&self, sha256: &str, file: File) -> io::Result<()>;

    /// Writes the bytes of a blob to a file, at most as many as that.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; the connection's and the server's; the disk's.
    fn get(&self, sha256: &str, bytes_max: u64, to: File) -> io::Result<()>;

    /// Whether it is there.
    ///
    /// # Errors
    /// The connection's and the server's.
    fn has(&self, sha256: &str) -> io::Result<bool>;

    /// What is there, and is named by a SHA-256: at most so many.
    ///
    /// # Errors
    /// The connection's and the server's; as many other objects lie among them.
    fn list(&self, most: usize) -> io::Result<Vec<StoredBlob>>;

    /// Removes a blob; one that is not there is removed already.
    ///
    /// # Errors
    /// The connection's and the server's.
    fn remove(&self, sha256: &str) -> io::Result<()>;
}

/// A blob in a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// Lower-case hex.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// When it was put there, by the bucket's clock.
    pub written: SystemTime,
}

/// Brings a blob into the folder, durably.
///
/// # Errors
/// [`Bucket::get`]'s; [`io::ErrorKind::InvalidData`] where other bytes came.
pub(super) fn fetch(
    bucket: &dyn Bucket,
    folder: &BlobFolder,
    sha256: &str,
    bytes_max: u64,
) -> io::Result<()> {
    let mut temp = folder.temp()?;
    bucket.get(sha256, bytes_max, temp.as_file().try_clone()?)?;
    let file = temp.as_file_mut();
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = Sha256::new();
    io::copy(file, &mut hasher)?;
    if hex::encode(hasher.finalize()) != sha256 {
        let said = format!("what the bucket holds under {sha256} are other bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, said));
    }
    // No name outlives a crash without its bytes: they are not hashed again before they are sent.
    temp.as_file().sync_all()?;
    folder.keep(temp, sha256)?;
    folder.sync()
}

/// Sweeps the bucket, once the folder is swept.
pub struct BucketSweep {
    pub(super) outgoing: Outgoing,
    pub(super) bucket: Arc<dyn Bucket>,
    /// What somebody needs.
    pub(super) kept: BTreeSet<String>,
    pub(super) now: SystemTime,
    /// What the folder's sweep left to other nodes.
    pub(super) left: LeftBlobs,
}

impl BucketSweep {
    /// The same, unless another one is under way or began a moment ago; then a later one has more
    /// to do.
    pub(super) fn if_due(self) -> Option<Self> {
        let began = Instant::now();
        let is_due = try_lock(&self.outgoing.shared.bucket_swept).is_some_and(|mut last| {
            let is_due = last.is_none_or(|last| began.duration_since(last) >= BUCKET_SWEPT_EVERY);
            if is_due {
                *last = Some(began);
            }
            is_due
        });
        if !is_due {
            self.outgoing.turns().swept = false;
        }
        is_due.then_some(self)
    }

    /// Sweeps it, unless another one is under way. Blocks on the bucket, which may be away.
    pub fn run(self) {
        let Self { outgoing, bucket, kept, now, mut left } = self;
        let Some(mut last) = try_lock(&outgoing.shared.bucket_swept) else {
            outgoing.turns().swept = false;
            return;
        };
        let is_any_left = sweep(&*bucket, &kept, now, &mut left);
        *last = Some(Instant::now());
        drop(last);
        let mut turns = outgoing.turns();
        turns.swept &= !is_any_left;
        // What was added meanwhile is needed, no matter what the bucket's clock says.
        let added: BTreeSet<&str> =
            turns.files.values().flatten().map(|(_, held)| held.sha256.as_str()).collect();
        left.retain(|sha256, _| !added.contains(sha256.as_str()));
        turns.left = left;
    }
}

/// The lock, unless somebody has it.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(locked) => Some(locked),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Removes all that is old and not among `kept`; returns whether more than that is left, and tells
/// what is only too young to go, where it was put before `now`, at which it was asked what is
/// needed. What is put anew between the look and the removal is removed with
/// the old one: then the node that put it has it in its folder.
fn sweep(bucket: &dyn Bucket, kept: &BTreeSet<String>, now: SystemTime, young: &mut LeftBlobs) -> bool {
    let failed = |error: &io::Error| tracing::warn!(error = with_causes(error), "the bucket cannot be swept");
    let Ok(found) = bucket.list(BLOBS_LISTED_MAX).inspect_err(failed) else { return true };
    let mut left = found.len() == BLOBS_LISTED_MAX;
    for blob in found {
        let age = now.duration_since(blob.written).unwrap_or_default();
        if kept.contains(&blob.sha256) {
            left = true;
        } else if age < UNSAID_AGE_MAX {
            left = true;
            if age >= WRITTEN_STEP {
                young.insert(blob.sha256, blob.written);
            }
        } else {
            left |= bucket.remove(&blob.sha256).inspect_err(failed).is_err();
        }
    }
    left
}

#[cfg(test)]
mod tests;
