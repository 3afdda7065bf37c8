//! The bytes that all attachments of a turn may have together. Declared bytes are held from the
//! start of a download, so that what cannot fit is not fetched.

use cofferdam_core::limits::ByteSize;
use cofferdam_core::text::about;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one download holds of a turn's bytes; given back when dropped.
pub(super) struct ByteClaim {
    /// What all downloads of the turn hold, which may run side by side.
    taken: Arc<AtomicU64>,
    /// The most that they may.
    limit: ByteSize,
    bytes: u64,
}

impl ByteClaim {
    /// Nothing held yet.
    pub(super) fn new(taken: &Arc<AtomicU64>, limit: ByteSize) -> Self {
        Self { taken: Arc::clone(taken), limit, bytes: 0 }
    }

    /// Holds at least `bytes`, or says why the turn may not.
    pub(super) fn grow_to(&mut self, bytes: u64) -> Result<(), String> {
        let more = bytes.saturating_sub(self.bytes);
        let limit = self.limit;
        let take = |taken: u64| taken.checked_add(more).filter(|total| *total <= limit.0);
        let taken = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map_err(|taken| {
            let all = about(taken.saturating_add(more));
            format!("too large together: {all} with this one, and the limit for a message is {limit}")
        })?;
        self.bytes += more;
        Ok(())
    }

    /// Gives back what is over `bytes`.
    pub(super) fn shrink_to(&mut self, bytes: u64) {
        let less = self.bytes.saturating_sub(bytes);
        self.taken.fetch_sub(less, Ordering::Relaxed);
        self.bytes -= less;
    }

    /// Never gives back.
    pub(super) fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for ByteClaim {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}
