//! Workers that wait for a call: a bounded number for all that they serve, and none for long.
//!
//! It starts and ends none: it says which is surplus.

use std::collections::VecDeque;
use std::time::Duration;

/// Workers that are kept ready, of all tools and places together; the one that served longest ago
/// ends first. Besides them there are those that run a call, at most one for each call thread.
pub const IDLE_WORKERS_MAX: usize = 24;

/// A worker that nobody wants for so long ends: what a guest may have left running in it goes on no
/// longer.
pub const IDLE_TIME_MAX: Duration = Duration::from_secs(20);

/// Those that wait, the one that served last at the end.
pub(in crate::sandbox) struct IdleWorkers<W>(VecDeque<W>);

impl<W> Default for IdleWorkers<W> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<W> IdleWorkers<W> {
    /// The one that served last among those that fit; it waits no more.
    pub(super) fn take(&mut self, fits: impl Fn(&W) -> bool) -> Option<W> {
        let found = self.0.iter().rposition(fits)?;
        self.0.remove(found)
    }

    /// Lets one wait; returns the one that is too many.
    #[must_use = "what is too many must be ended"]
    pub(super) fn keep(&mut self, worker: W) -> Option<W> {
        self.0.push_back(worker);
        if self.0.len() > IDLE_WORKERS_MAX { self.0.pop_front() } else { None }
    }

    /// Those that waited for so long.
    #[must_use = "what waited too long must be ended"]
    pub(super) fn take_expired(&mut self, waited: impl Fn(&W) -> Duration) -> Vec<W> {
        let (expired, rest) =
            self.0.drain(..).partition::<Vec<_>, _>(|worker| waited(worker) >= IDLE_TIME_MAX);
        self.0 = rest.into();
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_served_last_is_taken_and_the_one_that_served_first_is_too_many() {
        let mut idle = IdleWorkers::default();
        for n in 0..IDLE_WORKERS_MAX {
            assert_eq!(idle.keep(n), None);
        }
        assert_eq!(idle.take(|n| n % 2 == 0), Some((IDLE_WORKERS_MAX - 1) / 2 * 2));
        assert_eq!(idle.take(|n| *n == 0), Some(0));
        assert_eq!(idle.take(|n| *n == 0), None);
        // It served again, so the next one is the oldest.
        assert_eq!(idle.keep(0), None);
        assert_eq!(idle.keep(100), None);
        assert_eq!(idle.keep(101), Some(1));
        assert_eq!(idle.keep(102), Some(2));
        assert_eq!(idle.take(|n| *n == 0), Some(0));
    }

    #[test]
    fn those_that_waited_too_long_end_and_the_others_stay() {
        let mut idle = IdleWorkers::default();
        let waited = |ms: &u64| Duration::from_millis(*ms);
        let most = IDLE_TIME_MAX.as_millis() as u64;
        for ms in [most + 1, most, most - 1, 0] {
            assert_eq!(idle.keep(ms), None);
        }
        assert_eq!(idle.take_expired(waited), [most + 1, most]);
        assert_eq!(idle.take_expired(waited), [0; 0]);
        assert_eq!(idle.take(|_| true), Some(0));
    }
}
