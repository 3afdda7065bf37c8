//! Pauses between attempts: doubling, capped, and never the same for two clients.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The pauses of one row of failures.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    failures: u32,
}

impl Backoff {
    /// Pauses from about `first`, doubling up to `cap`.
    pub fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, failures: 0 }
    }

    /// The pause after one more failure: between half and all of what the doubling gives, so that
    /// clients that failed together do not return together.
    pub fn pause(&mut self) -> Duration {
        let full = self.first.saturating_mul(2_u32.saturating_pow(self.failures)).min(self.cap);
        self.failures = self.failures.saturating_add(1);
        full / 2 + part(full / 2)
    }

    /// The same where a server asks for a pause: never shorter than that, and up to a quarter
    /// longer, so that clients that were sent away together do not return together.
    pub fn pause_of_at_least(&mut self, asked: Duration) -> Duration {
        self.pause().max(asked.saturating_add(part(asked / 4)))
    }

    /// Whether something failed since the last success.
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// A success: the next pause is the first again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// A random part of a span.
fn part(span: Duration) -> Duration {
    // The hasher's keys are random; that is all the randomness that jitter needs.
    let random = u32::try_from(RandomState::new().hash_one(()) % 1024).unwrap_or_default();
    span.saturating_mul(random) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap_and_vary() {
        let (first, cap) = (Duration::from_millis(100), Duration::from_secs(3));
        let mut backoff = Backoff::new(first, cap);
        for full in [100, 200, 400, 800, 1600, 3000, 3000] {
            let full = Duration::from_millis(full);
            let pause = backoff.pause();
            assert!(pause >= full / 2 && pause <= full, "{pause:?} of {full:?}");
        }
        for _ in 0..100 {
            assert!(backoff.pause() <= cap);
        }
        backoff.reset();
        assert!(!backoff.is_failing() && backoff.pause() <= first);
        let many: std::collections::BTreeSet<_> = (0..50).map(|_| Backoff::new(cap, cap).pause()).collect();
        assert!(many.len() > 1, "jitter");
    }
    #[test]
    fn a_pause_that_is_asked_for_is_kept_and_varies() {
        let (first, cap) = (Duration::from_millis(100), Duration::from_secs(3));
        let asked = Duration::from_secs(20);
        let all: std::collections::BTreeSet<_> =
            (0..50).map(|_| Backoff::new(first, cap).pause_of_at_least(asked)).collect();
        let (shortest, longest) = (all.first().expect("some"), all.last().expect("some"));
        assert!(*shortest >= asked && *longest <= asked * 5 / 4, "{shortest:?} to {longest:?}");
        assert!(all.len() > 1, "jitter");
        let mut backoff = Backoff::new(first, cap);
        assert!(backoff.pause_of_at_least(Duration::ZERO) >= first / 2, "nothing was asked for");
        assert!(backoff.is_failing());
        assert!(backoff.pause_of_at_least(Duration::MAX) == Duration::MAX);
    }
}
