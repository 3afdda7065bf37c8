//! Signs of life, so that nobody waits in silence: a sign is shown at once and again every few
//! seconds, however long a request about it takes, but while a person is asked; and for an album
//! that still arrives before its turn runs.

use crate::session_queue::TurnSlot;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// From one showing to the next: nobody sees silence for over 5 s.
pub const AGAIN: Duration = Duration::from_secs(4);
/// What is sent sooner needs no sign.
const SENDING_PATIENCE: Duration = Duration::from_secs(2);
/// The end waits so long for a request that is under way.
const END_MAX: Duration = Duration::from_secs(1);

/// What goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// An answer is worked on, or a text is sent.
    Typing,
    /// Files are sent.
    Uploading,
}

/// A sign that is shown while this lives, or until it is ended.
pub struct ShownActivity {
    task: JoinHandle<()>,
    end: CancellationToken,
}

impl ShownActivity {
    /// Begins to show by `sign` that a turn is worked on, but while it waits for a person; without
    /// a turn, that a message is on its way, once that takes long. `sign` shows it once and says
    /// what pause the platform asks for.
    pub fn begin<F>(slot: Option<Arc<TurnSlot>>, sign: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Duration> + Send,
    {
        let first = if slot.is_some() { Duration::ZERO } else { SENDING_PATIENCE };
        let end = CancellationToken::new();
        let ended = end.clone();
        let task = tokio::spawn(async move {
            let show = || async {
                match slot.as_ref().is_some_and(|slot| slot.is_left()) {
                    true => Duration::ZERO,
                    false => sign().await,
                }
            };
            // Even a timer of no time takes a millisecond.
            if !first.is_zero() {
                let Some(()) = ended.run_until_cancelled(sleep(first)).await else { return };
            }
            repeat_until(AGAIN, &ended, show).await;
        });
        Self { task, end }
    }

    /// Stops showing it, before the answer is sent: a request that overtook the answer would show
    /// something going on after it, and one that is cut off costs its connection.
    pub async fn end(mut self) {
        self.end.cancel();
        let _ = timeout(END_MAX, &mut self.task).await;
    }
}

impl Drop for ShownActivity {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Shows it every so often until the end. A showing that takes longer is given up, so that the next
/// comes in time; only a pause that it says is asked for delays it.
async fn repeat_until<F>(every: Duration, ended: &CancellationToken, mut show: impl FnMut() -> F)
where
    F: Future<Output = Duration>,
{
    loop {
        let next = Instant::now() + every;
        let asked = timeout_at(next, show()).await.unwrap_or_default();
        let pause = sleep_until(next.max(Instant::now() + asked));
        let Some(()) = ended.run_until_cancelled(pause).await else { return };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    /// Beats each millisecond with this showing: what counts them, what ends it, and its end.
    fn beating<F>(show: fn() -> F) -> (UnboundedReceiver<()>, CancellationToken, JoinHandle<()>)
    where
        F: Future<Output = Duration> + Send + 'static,
    {
        let (shown, showings) = unbounded_channel();
        let ended = CancellationToken::new();
        let end = ended.clone();
        let beating = tokio::spawn(async move {
            repeat_until(Duration::from_millis(1), &end, || {
                shown.send(()).expect("somebody counts");
                show()
            })
            .await;
        });
        (showings, ended, beating)
    }

    /// One showing hangs for ever, one fails, one is slow: the next comes all the same, until the
    /// end.
    #[tokio::test]
    async fn no_showing_keeps_the_next_from_coming() {
        let (mut showings, ended, beating) = beating(std::future::pending);
        for _ in 0..10 {
            showings.recv().await.expect("the next one");
        }
        ended.cancel();
        beating.await.expect("it ends");
    }

    #[tokio::test]
    async fn a_pause_that_is_asked_for_is_kept_and_does_not_keep_the_end_from_coming() {
        let (mut showings, ended, beating) = beating(|| std::future::ready(Duration::from_secs(3600)));
        showings.recv().await.expect("the first one");
        ended.cancel();
        beating.await.expect("it ends");
        assert!(showings.recv().await.is_none(), "there was no second one");
    }
}
