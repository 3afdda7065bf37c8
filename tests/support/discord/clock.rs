//! The server's time, which a test may move on, and the ids that are made of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The first second of 2015, in milliseconds since 1970: ids count from it.
const EPOCH_MS: u64 = 1_420_070_400_000;

/// Time and ids.
#[derive(Default)]
pub(super) struct Clock {
    /// How far the server is ahead of the machine.
    ahead: Duration,
    /// How far it is behind.
    behind: Duration,
    last_id: u64,
}

impl Clock {
    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + self.ahead;
        let since = since.saturating_sub(self.behind);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// Moves the server's time on.
    pub(super) fn advance(&mut self, by: Duration) {
        self.ahead += by;
    }

    /// Has the server's time be so far behind the machine's.
    pub(super) fn set_back(&mut self, by: Duration) {
        self.behind = by;
    }

    /// The time as a `Date` header has it; none of a server that was not set back.
    pub(super) fn date(&self) -> Option<String> {
        let ms = i64::try_from(self.now_ms()).unwrap_or_default();
        let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
        (!self.behind.is_zero()).then(|| time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
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
