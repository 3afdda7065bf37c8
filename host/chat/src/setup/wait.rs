//! Waiting for a platform at the start: a network that is down is no reason to end.

use cofferdam_agent::server::Backoff;
use std::fmt::Display;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Asks until there is an answer, with pauses from about `first` up to `longest`; `None` on `stop`.
/// `asks_for` says of a failure that time may heal which pause is asked for; of one that it will
/// not, nothing.
///
/// # Errors
/// The failure that time will not heal.
pub async fn wait_for<T, E: Display, F: Future<Output = Result<T, E>>>(
    platform: &str,
    (first, longest): (Duration, Duration),
    stop: &CancellationToken,
    mut ask: impl FnMut() -> F,
    asks_for: impl Fn(&E) -> Option<Duration>,
) -> Result<Option<T>, E> {
    let mut backoff = Backoff::new(first, longest);
    loop {
        let failure = match stop.run_until_cancelled(ask()).await {
            None => return Ok(None),
            Some(Ok(answer)) => return Ok(Some(answer)),
            Some(Err(failure)) => failure,
        };
        let Some(asked) = asks_for(&failure) else { return Err(failure) };
        if !backoff.is_failing() {
            tracing::warn!("waiting for {platform}: {failure}");
        }
        let pause = tokio::time::sleep(backoff.pause().max(asked));
        let Some(()) = stop.run_until_cancelled(pause).await else { return Ok(None) };
    }
}
