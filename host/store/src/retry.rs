//! Work in the store that has to be done: what cannot be written down must not happen, so anyone
//! who needs it waits.

use cofferdam_core::standing::STORE;
use std::fmt::Display;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The pause after the first failure; it doubles, up to [`PAUSE_LONGEST`].
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_LONGEST: Duration = Duration::from_secs(10);

tokio::task_local! {
    /// Who is told of the pauses of the work that is repeated.
    static PAUSING: fn(Duration);
}

/// Tells of a pause within work that is repeated, as of those between two attempts.
pub(super) fn note_pause(pause: Duration) {
    let _ = PAUSING.try_with(|pausing| pausing(pause));
}

/// Repeats work in the store until it succeeds, or the program stops.
#[derive(Clone, Debug)]
pub struct StoreRetry {
    stop: CancellationToken,
    pausing: fn(Duration),
}

impl StoreRetry {
    /// Until `stop`. `pausing` is told of each pause before it begins.
    pub fn new(stop: CancellationToken, pausing: fn(Duration)) -> Self {
        Self { stop, pausing }
    }

    /// What the work comes to; `None` once the program stops. `what` names it in the log.
    pub async fn store_until_done<T, E, F>(&self, what: &str, mut work: impl FnMut() -> F) -> Option<T>
    where
        E: Display,
        F: Future<Output = Result<T, E>>,
    {
        let (mut pause, mut waiting) = (Duration::ZERO, None);
        loop {
            let error = match PAUSING.scope(self.pausing, work()).await {
                Ok(value) => {
                    if !pause.is_zero() {
                        tracing::info!(what, "the store works again");
                    }
                    return Some(value);
                }
                Err(error) => error,
            };
            waiting.get_or_insert_with(|| STORE.wait_for());
            if pause.is_zero() {
                tracing::error!(what, %error, "the store fails; waiting for it");
            }
            pause = (pause * 2).clamp(PAUSE_FIRST, PAUSE_LONGEST);
            (self.pausing)(pause);
            self.stop.run_until_cancelled(tokio::time::sleep(pause)).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::StoreError;
    use super::*;
    use std::cell::Cell;

    #[tokio::test]
    async fn work_is_repeated_until_it_succeeds_or_the_program_stops() {
        let store_retry = StoreRetry::new(CancellationToken::new(), |_| {});
        let tries = Cell::new(0);
        let work = || {
            tries.set(tries.get() + 1);
            let done = if tries.get() == 2 { Ok(tries.get()) } else { Err(StoreError::Stopped) };
            std::future::ready(done)
        };
        assert_eq!(store_retry.store_until_done("try", work).await, Some(2));
        store_retry.stop.cancel();
        let fails = || std::future::ready(Err::<(), _>(StoreError::Stopped));
        assert_eq!(store_retry.store_until_done("try", fails).await, None);
    }
}
