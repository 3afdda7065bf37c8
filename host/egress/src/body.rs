//! The bytes of an answer as they come, up to a number and a time.

use crate::error::EgressError;
use crate::hop::innermost_cause;
use bytes::Bytes;
use reqwest::Response;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// An answer whose bytes are still to come.
pub struct ResponseBody {
    response: Response,
    shown: String,
    deadline: Instant,
    time_max: Duration,
    bytes_max: u64,
    taken: u64,
}

impl ResponseBody {
    /// Refuses an answer that says that it is too large.
    pub(crate) fn new(
        response: Response,
        shown: String,
        (deadline, time_max): (Instant, Duration),
        bytes_max: u64,
    ) -> Result<Self, EgressError> {
        if response.content_length().is_some_and(|bytes| bytes > bytes_max) {
            return Err(EgressError::TooLarge(shown, bytes_max));
        }
        Ok(Self { response, shown, deadline, time_max, bytes_max, taken: 0 })
    }

    /// The next piece; none at the end.
    ///
    /// # Errors
    /// [`EgressError`]; a byte over the limit is never handed out.
    pub async fn next(&mut self) -> Result<Option<Bytes>, EgressError> {
        let piece = timeout_at(self.deadline, self.response.chunk()).await;
        let piece = piece.map_err(|_| EgressError::TimedOut(self.shown.clone(), self.time_max))?;
        let broken = |error| EgressError::Broken(self.shown.clone(), innermost_cause(&error));
        let piece = piece.map_err(broken)?;
        let Some(piece) = piece else { return Ok(None) };
        self.taken = self.taken.saturating_add(piece.len() as u64);
        if self.taken > self.bytes_max {
            return Err(EgressError::TooLarge(self.shown.clone(), self.bytes_max));
        }
        Ok(Some(piece))
    }
}

impl std::fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({})", self.shown)
    }
}
