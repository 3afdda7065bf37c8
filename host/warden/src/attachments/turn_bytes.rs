//! The bytes that all attachments of a turn may have together. Declared bytes are held from the
//! start of a download, so that what cannot fit is not fetched.

use cofferdam_core::limits::ByteSize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a turn, shared by its downloads, which may run side by side.
pub(super) struct TurnBytes {
    limit: ByteSize,
    taken: AtomicU64,
}

impl TurnBytes {
    /// Nothing taken yet.
    pub(super) fn new(limit: ByteSize) -> Arc<Self> {
        Arc::new(Self { limit, taken: AtomicU64::new(0) })
    }
}

/// The turn would bring more than its limit.
pub(super) struct OverTurn {
    pub(super) total: u64,
    pub(super) limit: ByteSize,
}

/// What one download holds of them; given back when dropped.
pub(super) struct ByteClaim {
    turn: Arc<TurnBytes>,
    bytes: u64,
}

impl ByteClaim {
    /// Nothing held yet.
    pub(super) fn new(turn: &Arc<TurnBytes>) -> Self {
        Self { turn: Arc::clone(turn), bytes: 0 }
    }

    /// Holds at least `bytes`, or tells what the turn would then hold.
    pub(super) fn grow_to(&mut self, bytes: u64) -> Result<(), OverTurn> {
        let more = bytes.saturating_sub(self.bytes);
        let limit = self.turn.limit;
        let take = |taken: u64| taken.checked_add(more).filter(|total| *total <= limit.0);
        match self.turn.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => {
                self.bytes += more;
                Ok(())
            }
            Err(taken) => Err(OverTurn { total: taken.saturating_add(more), limit }),
        }
    }

    /// Gives back what is over `bytes`.
    pub(super) fn shrink_to(&mut self, bytes: u64) {
        let less = self.bytes.saturating_sub(bytes);
        self.turn.taken.fetch_sub(less, Ordering::Relaxed);
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
