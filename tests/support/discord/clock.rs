//! The server's time, which a test may move on, and the ids that are made of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The first second of 2015, in milliseconds since 1970: ids count from it.
const EPOCH_MS: u64 = 1_420_070_400_000;

/// Time and ids.
#[derive(Default)]
pub(super) struct Clock {
    /// How far the server is ahead of the machine.
    ahead: Duration,
    last_id: u64,
}

impl Clock {
    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + self.ahead;
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// Moves the server's time on.
    pub(super) fn advance(&mut self, by: Duration) {
        self.ahead += by;
    }

    /// An id of now, above every earlier one.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id = id_at(self.now_ms()).max(self.last_id + 1);
        self.last_id
    }
}

/// The smallest id of a millisecond.
pub(super) fn id_at(ms: u64) -> u64 {
    ms.saturating_sub(EPOCH_MS) << 22
}

/// When an id was made, as Discord writes times.
pub(super) fn time_of(id: u64) -> String {
    timestamp((id >> 22) + EPOCH_MS)
}

/// A time as Discord writes it.
pub(super) fn timestamp(ms: u64) -> String {
    let time = jiff::Timestamp::from_millisecond(i64::try_from(ms).unwrap_or_default()).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}
