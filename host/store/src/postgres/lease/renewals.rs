//! When a node said that it is there, and from when on another one is gone that has not.

use std::collections::VecDeque;
use std::time::Duration;

/// Others have said so longer ago than this node by so much at most.
const LATE: Duration = Duration::from_millis(1500);
/// Pauses of this node's own, each nearly as long as a lease, after which who was silent all the
/// time is gone: one shows that the server was away, so many that this machine has too much to do.
const LATE_PAUSES_MAX: usize = 10;

/// When a node said that it is there. By [`running_ms`](crate::running_ms), which counts the time
/// that the machine sleeps: its lease is over then like any other's.
pub(super) struct Renewals {
    /// For a lease from here on nobody takes it out.
    last: i64,
    /// It has renewed its lease. Before that it cannot say whether others had time to.
    has_begun: bool,
    /// When its latest pauses were over that were nearly as long as a lease, by the server's clock;
    /// the oldest first. The first of all is from before it began.
    late: VecDeque<i64>,
}

impl Renewals {
    /// Those of a node that begins.
    pub(super) fn new(now: i64) -> Self {
        Self { last: now, has_begun: false, late: VecDeque::new() }
    }

    /// Notes one that was begun here, and answered at this time of the server. What was before the
    /// first one counts as a pause: the server may have come back just now.
    pub(super) fn note(&mut self, began: i64, server_now: i64, lease: i64) {
        if !self.has_begun || began - self.last > lease - millis(LATE) {
            if self.late.len() == LATE_PAUSES_MAX {
                self.late.pop_front();
            }
            self.late.push_back(server_now);
        }
        self.last = self.last.max(began);
        self.has_begun = true;
    }

    /// Whether nobody can have taken it out by now.
    pub(super) fn is_certain(&self, now: i64, lease: i64) -> bool {
        now - self.last < lease
    }

    /// Whether a node is gone whose lease was over at `until`, by the server's clock: where this
    /// node was silent itself, so were others, since their server was away, and they get a lease to
    /// come back. All have one of about the same length.
    pub(super) fn is_gone(&self, until: i64, server_now: i64, lease: i64) -> bool {
        let had_time = self.late.back().is_none_or(|end| end + lease <= server_now);
        let since = self.late.iter().filter(|end| **end > until - lease).count();
        until <= server_now && (had_time || since == LATE_PAUSES_MAX)
    }
}

/// In milliseconds.
pub(super) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In milliseconds, as all times here.
    const LEASE: i64 = 10_000;

    /// Those of a node that began 20 s before, and renewed then and at these milliseconds, by both
    /// clocks.
    fn renewed_at(times: &[i64]) -> Renewals {
        let mut renewals = Renewals::new(-20_000);
        for at in [-20_000, -12_000, -4_000].iter().chain(times) {
            renewals.note(*at, *at, LEASE);
        }
        renewals
    }

    /// By times of `running_ms`: its machine may have slept meanwhile.
    #[test]
    fn a_lease_is_certain_for_its_length_since_the_last_renewal_began() {
        let mut renewals = renewed_at(&[1000, 2000]);
        assert!(renewals.is_certain(11_999, LEASE) && !renewals.is_certain(12_000, LEASE));
        // One that was begun before the last, and is answered after it, takes nothing of it away.
        renewals.note(1500, 2000, LEASE);
        assert!(renewals.is_certain(11_999, LEASE));
    }

    #[test]
    fn who_is_silent_for_its_lease_is_gone() {
        let renewals = renewed_at(&[1000, 2000, 3000, 4400]);
        assert!(!renewals.is_gone(4401, 4400, LEASE) && renewals.is_gone(4400, 4400, LEASE));
    }

    #[test]
    fn others_get_a_lease_to_come_back_after_this_node_was_silent_itself() {
        // The server was away for a minute.
        let renewals = renewed_at(&[1000, 61_000]);
        for until in [1_000, 11_000, 61_000] {
            assert!(!renewals.is_gone(until, 61_000, LEASE) && !renewals.is_gone(until, 70_999, LEASE));
            assert!(renewals.is_gone(until, 71_000, LEASE));
        }
        assert!(renewed_at(&[1000, 9_500]).is_gone(9_500, 9_500, LEASE), "others were heard meanwhile");
    }

    /// The server may have been away for all, and be back for as long as this node is there.
    #[test]
    fn others_get_a_lease_to_come_back_after_this_node_began() {
        let mut renewals = Renewals::new(0);
        renewals.note(10, 50_000, LEASE);
        assert!(!renewals.is_gone(1_000, 50_000, LEASE));
        renewals.note(1_010, 51_000, LEASE);
        assert!(!renewals.is_gone(1_000, 59_999, LEASE) && renewals.is_gone(1_000, 60_000, LEASE));
    }

    /// As on a machine that has too much to do: it takes longer, and not for ever.
    #[test]
    fn a_node_that_is_always_late_takes_others_out_all_the_same() {
        let times: Vec<i64> = (1..100).map(|n| n * 9_000).collect();
        let renewals = renewed_at(&times);
        let silent_since = |at: i64| renewals.is_gone(at + LEASE, 891_000, LEASE);
        assert!(silent_since(809_999) && !silent_since(810_000), "ten of its own pauses ended since");
        assert_eq!(renewals.late.len(), LATE_PAUSES_MAX, "old ones are forgotten");
    }
}
