//! When messages that belong together have all come: they come one by one, and none of them says
//! how many there are.

use cofferdam_store::AlbumPart;
use std::time::Duration;
use tokio::time::Instant;

/// How long further parts of an album are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlbumWindow {
    /// An album is complete when no part has come for so long.
    pub silence: Duration,
    /// An album is complete after so long, also if more comes.
    pub cap: Duration,
}

impl AlbumWindow {
    /// When an album is complete whose first and last part came then.
    pub(super) fn closes_at(self, first: Instant, last: Instant) -> Instant {
        (last + self.silence).min(first + self.cap)
    }

    /// Whether the parts that the inbox has of an album are all that are waited for; `now` in
    /// milliseconds since 1970 UTC.
    pub fn is_over(self, parts: &[AlbumPart], now: i64) -> bool {
        !parts.is_empty() && self.time_left(parts, now).is_zero()
    }

    /// How long further parts are waited for beside those that the inbox has; no time where it has
    /// none.
    pub fn time_left(self, parts: &[AlbumPart], now: i64) -> Duration {
        let ago = |ms: i64| Duration::from_millis(u64::try_from(now.saturating_sub(ms)).unwrap_or(0));
        let left = |most: Duration, part: Option<&AlbumPart>| {
            part.map_or(Duration::ZERO, |part| most.saturating_sub(ago(part.received_at)))
        };
        left(self.silence, parts.last()).min(left(self.cap, parts.first()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_store::Update;

    #[test]
    fn an_album_is_whole_after_silence_or_long_enough() {
        let part = |received_at| AlbumPart {
            update: Update { update_id: 1, raw: String::new() },
            turn: None,
            received_at,
        };
        let window = AlbumWindow { silence: Duration::from_millis(1500), cap: Duration::from_secs(10) };
        let check = |came: &[i64], now: i64, expected: bool, left: u64| {
            let parts: Vec<_> = came.iter().copied().map(part).collect();
            assert_eq!(window.is_over(&parts, now), expected, "{came:?} at {now}");
            assert_eq!(window.time_left(&parts, now), Duration::from_millis(left), "{came:?} at {now}");
        };
        check(&[], 99_999, false, 0);
        check(&[1000], 2499, false, 1);
        check(&[1000], 2500, true, 0);
        check(&[1000, 2400], 2600, false, 1300);
        check(&[1000, 10_900], 10_950, false, 50);
        check(&[1000, 10_900], 11_000, true, 0);
        check(&[1000], 500, false, 1500);
    }
}
