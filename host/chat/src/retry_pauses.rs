//! What keeps failing: how long to wait, and one line in the log for each change.

use cofferdam_agent::server::Backoff;
use std::time::Duration;

/// The longest pause that a platform asks for and gets: then it is asked again. It can write numbers
/// that no clock has room for.
pub const ASKED_WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Pauses, and one line in the log for each change for the worse or the better.
pub struct RetryPauses {
    /// What fails.
    what: &'static str,
    backoff: Backoff,
    said: Option<String>,
}

impl RetryPauses {
    /// All is well. Pauses from about `first`, doubling up to `longest`.
    pub fn new(what: &'static str, first: Duration, longest: Duration) -> Self {
        Self { what, backoff: Backoff::new(first, longest), said: None }
    }

    /// How long to wait after a failure that is said so; at least as long as was asked for.
    pub fn pause(&mut self, said: String, asked: Option<Duration>) -> Duration {
        let pause = self.backoff.pause().max(asked.unwrap_or_default());
        if self.said.as_ref() != Some(&said) {
            tracing::warn!("{} fails: {said}", self.what);
            self.said = Some(said);
        }
        pause
    }

    /// It works.
    pub fn clear(&mut self) {
        if self.said.take().is_some() {
            tracing::info!("{} works again", self.what);
        }
        self.backoff.reset();
    }
}
