//! Polling that fails: how long to wait, and one line in the log for each change.

use super::failure::Failure;
use cofferdam_agent::server::Backoff;
use std::time::Duration;

/// The longest pause that Telegram did not ask for.
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Pauses, and one line in the log for each change for the worse or the better.
pub(super) struct Trouble {
    backoff: Backoff,
    said: Option<String>,
}

impl Default for Trouble {
    fn default() -> Self {
        Self { backoff: Backoff::new(Duration::from_millis(500), PAUSE_MAX), said: None }
    }
}

impl Trouble {
    /// How long to wait after this failure.
    pub(super) fn pause(&mut self, failure: &Failure) -> Duration {
        let pause = self.backoff.pause();
        let (said, pause) = match failure {
            Failure::Conflict(why) if why.contains("webhook") => {
                ("a webhook is set for this bot, so it cannot be polled; remove it with the Bot API's deleteWebhook".to_owned(), pause)
            }
            Failure::Conflict(_) => {
                ("another program polls with this bot's token; stop it, or give this one a bot of its own".to_owned(), pause)
            }
            Failure::TooMany(asked) => ("Telegram asks for a pause".to_owned(), pause.max(*asked)),
            other => (other.to_string(), pause),
        };
        if self.said.as_ref() != Some(&said) {
            tracing::warn!("polling fails: {said}");
            self.said = Some(said);
        }
        pause
    }

    /// It works.
    pub(super) fn over(&mut self) {
        if self.said.take().is_some() {
            tracing::info!("polling works again");
        }
        self.backoff.reset();
    }
}
