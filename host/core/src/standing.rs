//! How that on which the gateway depends fared last: the model's server and the store. Noted where
//! it is used, read by those who watch the process.
//!
//! A reason is one line for the operator, without secrets; the code that notes it has taken them
//! out. Nothing is decided by it.

use crate::lock::lock;
use crate::secret::redact;
use crate::text::one_line;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// The model's server.
pub static MODEL: ServiceHealth = ServiceHealth::new();
/// The store.
pub static STORE: ServiceHealth = ServiceHealth::new();

/// A reason is cut here.
const REASON_BYTES_MAX: usize = 300;

/// How one of them stands.
#[derive(Debug)]
pub struct ServiceHealth(Mutex<Standing>);

#[derive(Debug)]
struct Standing {
    fared: HealthHistory,
    /// How many wait until it does what has failed.
    waiting: usize,
}

/// Somebody waits until it does what has failed; until this is dropped.
#[derive(Debug)]
pub struct WaitingFor(&'static ServiceHealth);

/// How it has fared so far. Times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthHistory {
    /// When an attempt succeeded last.
    pub succeeded_at: Option<i64>,
    /// When one failed last.
    pub failed_at: Option<i64>,
    /// Why that one failed.
    pub reason: Option<String>,
    /// Since when attempts fail; none when the last one did not, and nobody waits for another.
    pub failing_since: Option<i64>,
}

impl ServiceHealth {
    const fn new() -> Self {
        let fared = HealthHistory { succeeded_at: None, failed_at: None, reason: None, failing_since: None };
        Self(Mutex::new(Standing { fared, waiting: 0 }))
    }

    /// While this is kept, it does not work for what others succeed in: a full disk has room for
    /// small things.
    #[must_use]
    pub fn wait_for(&'static self) -> WaitingFor {
        lock(&self.0).waiting += 1;
        WaitingFor(self)
    }

    /// An attempt succeeded at `now`, in milliseconds since 1970 UTC as all times here.
    pub fn note_success(&self, now: i64) {
        let Standing { fared, waiting } = &mut *lock(&self.0);
        fared.succeeded_at = Some(now);
        if *waiting == 0 {
            fared.failing_since = None;
        }
    }

    /// An attempt failed.
    pub fn failed(&self, now: i64, reason: &str) {
        let fared = &mut lock(&self.0).fared;
        fared.note(now, reason);
        fared.failing_since.get_or_insert(now);
    }

    /// An attempt failed by what was asked: another one may succeed, so this says nothing of what
    /// is to come.
    pub fn note_refused(&self, now: i64, reason: &str) {
        lock(&self.0).fared.note(now, reason);
    }

    /// Whether it works is not known any more, because it is another one from here on.
    pub fn renew(&self) {
        lock(&self.0).fared.failing_since = None;
    }

    /// How it has fared so far.
    pub fn look(&self) -> HealthHistory {
        lock(&self.0).fared.clone()
    }
}

impl Drop for WaitingFor {
    fn drop(&mut self) {
        let Standing { fared, waiting } = &mut *lock(&self.0.0);
        *waiting -= 1;
        // It did what was waited for, or else what others asked for last.
        if *waiting == 0 && fared.succeeded_at >= fared.failed_at {
            fared.failing_since = None;
        }
    }
}

impl HealthHistory {
    /// Whether the last attempt failed, or somebody waits until one does not.
    pub fn is_failing(&self) -> bool {
        self.failing_since.is_some()
    }

    fn note(&mut self, now: i64, reason: &str) {
        self.failed_at = Some(now);
        self.reason = Some(one_line(&redact(reason), REASON_BYTES_MAX));
    }

    /// The same, with what an earlier run has noted where this one has nothing to tell.
    #[must_use]
    pub fn merge_earlier(self, before: &Self) -> Self {
        let (failed_at, reason) = match self.failed_at {
            Some(_) => (self.failed_at, self.reason),
            None => (before.failed_at, before.reason.clone()),
        };
        Self {
            succeeded_at: self.succeeded_at.or(before.succeeded_at),
            failed_at,
            reason,
            failing_since: self.failing_since,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fails_while_the_last_attempt_did_and_keeps_the_reason() {
        let standing = ServiceHealth::new();
        assert_eq!(standing.look(), HealthHistory::default());
        standing.failed(1, "not found (HTTP status 404)\nmore");
        let failed = standing.look();
        assert!(
            failed.is_failing() && failed.failed_at.is_some() && failed.succeeded_at.is_none(),
            "{failed:?}"
        );
        assert!(failed.reason.as_deref().is_some_and(|said| !said.contains('\n')), "{failed:?}");
        standing.note_refused(2, "too long");
        assert!(standing.look().is_failing(), "that tells nothing of the server");
        standing.note_success(3);
        let well = standing.look();
        assert!(!well.is_failing() && well.reason.as_deref() == Some("too long"), "{well:?}");
        standing.note_refused(2, "too long");
        assert!(!standing.look().is_failing(), "nor does it after a success");
        standing.failed(4, "away");
        standing.renew();
        assert!(!standing.look().is_failing() && standing.look().failed_at.is_some());
    }

    #[test]
    fn it_fails_as_long_as_somebody_waits_whatever_others_succeed_in() {
        static STANDING: ServiceHealth = ServiceHealth::new();
        STANDING.failed(1, "full");
        let waiting = STANDING.wait_for();
        STANDING.note_success(2);
        assert!(STANDING.look().is_failing() && STANDING.look().succeeded_at == Some(2));
        drop(waiting);
        assert!(!STANDING.look().is_failing());
        STANDING.failed(3, "full");
        drop(STANDING.wait_for());
        assert!(STANDING.look().is_failing(), "given up");
        STANDING.note_success(4);
        assert!(!STANDING.look().is_failing());
    }

    #[test]
    fn an_earlier_run_is_told_of_where_this_one_has_nothing_to_tell() {
        let before = HealthHistory {
            succeeded_at: Some(1),
            failed_at: Some(2),
            reason: Some("x".into()),
            failing_since: Some(2),
        };
        let told = HealthHistory::default().merge_earlier(&before);
        assert_eq!(told, HealthHistory { failing_since: None, ..before.clone() });
        let own = HealthHistory {
            failed_at: Some(3),
            reason: Some("y".into()),
            failing_since: Some(3),
            ..HealthHistory::default()
        };
        let told = own.merge_earlier(&before);
        assert_eq!(
            (told.succeeded_at, told.failed_at, told.reason.as_deref()),
            (Some(1), Some(3), Some("y"))
        );
    }
}
