//! When a call has to end, and why: its deadline, or somebody cancelled it.

use crate::stop::StopReason;
use cofferdam_core::limits::Limits;
use cofferdam_core::tool::ToolError;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a cancelled call may go on, so that a guest that looks can end by itself.
pub const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// The time of one call. Clones are the same clock.
#[derive(Clone, Debug)]
pub(super) struct CallClock {
    pub(super) deadline: Instant,
    cancel: CancellationToken,
    cancelled_at: Arc<OnceLock<Instant>>,
}

impl CallClock {
    pub(super) fn new(deadline: Instant, cancel: CancellationToken) -> Self {
        Self { deadline, cancel, cancelled_at: Arc::default() }
    }

    /// A clock that nobody can cancel.
    #[cfg(test)]
    pub(super) fn until(deadline: Instant) -> Self {
        Self::new(deadline, CancellationToken::new())
    }

    /// Why the call's work is of no use any more: a cancelled one counts at once.
    pub(super) fn stop_reason(&self) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            Some(StopReason::Cancelled)
        } else if Instant::now() >= self.deadline {
            Some(StopReason::Deadline)
        } else {
            None
        }
    }

    /// Why the call must stop now: a cancelled one has its grace.
    pub(super) fn stop(&self) -> Option<StopReason> {
        let now = Instant::now();
        if self.cancel.is_cancelled() && now >= *self.cancelled_at.get_or_init(|| now) + CANCEL_GRACE {
            return Some(StopReason::Cancelled);
        }
        if now >= self.deadline { self.stop_reason() } else { None }
    }

    /// How long ago the call had to stop; nothing while it need not.
    pub(super) fn overdue_by(&self) -> Duration {
        let given_up = self.cancelled_at.get().map(|since| *since + CANCEL_GRACE);
        let end = given_up.map_or(self.deadline, |given_up| given_up.min(self.deadline));
        Instant::now().saturating_duration_since(end)
    }
}

impl StopReason {
    pub(super) fn to_tool_error(self, limits: &Limits) -> ToolError {
        match self {
            Self::Deadline => ToolError::timed_out(limits),
            Self::Cancelled => ToolError::cancelled(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Far longer than anything here takes.
    const LATER: Duration = Duration::from_secs(3600);

    #[test]
    fn a_cancelled_call_has_its_grace_and_no_more() {
        let cancel = CancellationToken::new();
        let clock = CallClock::new(Instant::now() + LATER, cancel.clone());
        assert_eq!((clock.stop_reason(), clock.stop()), (None, None));
        cancel.cancel();
        let cancelled = Instant::now();
        assert_eq!(clock.stop_reason(), Some(StopReason::Cancelled));
        // It begins when somebody looks first.
        assert_eq!(clock.clone().stop(), None);
        while clock.stop().is_none() {
            assert!(cancelled.elapsed() < LATER, "it goes on");
            std::thread::yield_now();
        }
        assert!(cancelled.elapsed() >= CANCEL_GRACE);
        assert_eq!(clock.stop(), Some(StopReason::Cancelled));
    }

    #[test]
    fn a_deadline_has_no_grace_and_shortens_that_of_a_cancelled_call() {
        let clock = CallClock::until(Instant::now());
        assert_eq!(clock.stop(), Some(StopReason::Deadline));
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert_eq!(CallClock::new(Instant::now(), cancel).stop(), Some(StopReason::Cancelled));
    }
}
