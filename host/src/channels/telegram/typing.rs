//! The sign of life: "typing…" at once, and again before Telegram takes it away after 5 s, however long a request
//! about it takes; "sending a file…" where that takes long.

use super::api::Api;
use super::failure::Failure;
use super::send::Target;
use crate::turn::lanes::Slot;
use std::sync::Arc;
use std::time::Duration;
use teloxide_core::payloads::SendChatAction;
use teloxide_core::types::{ChatAction, ChatId, MessageId, ThreadId};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// Shown while it lives, or until it is ended.
pub(super) struct Typing {
    task: JoinHandle<()>,
    end: CancellationToken,
}

/// Telegram shows an action for so long.
const SHOWN: Duration = Duration::from_secs(5);
/// From one showing to the next.
const AGAIN: Duration = Duration::from_secs(4);
const _: () = assert!(AGAIN.as_millis() < SHOWN.as_millis(), "nobody sees silence");
/// The end waits so long for a request that is under way.
const END_MAX: Duration = Duration::from_secs(1);
/// A message that is sent sooner needs no sign.
const SENDING_PATIENCE: Duration = Duration::from_secs(2);

impl Typing {
    /// Begins to show it, but while a person is waited for. Failures are of no consequence.
    pub(super) fn start(api: Arc<Api>, target: Target, slot: Arc<Slot>) -> Self {
        Self::showing(Duration::ZERO, Sign::new(api, target, ChatAction::Typing, Some(slot)))
    }

    /// Shows that a message is on its way, once that takes long.
    pub(super) fn sending(api: Arc<Api>, target: Target, what: ChatAction) -> Self {
        Self::showing(SENDING_PATIENCE, Sign::new(api, target, what, None))
    }

    fn showing(first: Duration, sign: Sign) -> Self {
        let end = CancellationToken::new();
        let ended = end.clone();
        let sign = Arc::new(sign);
        let task = tokio::spawn(async move {
            let show = || {
                let sign = sign.clone();
                async move { sign.show().await }
            };
            // Even a timer of no time takes a millisecond.
            if !first.is_zero() {
                tokio::select! {
                    () = sleep(first) => {}
                    () = ended.cancelled() => return,
                }
            }
            beat(AGAIN, &ended, show).await;
        });
        Self { task, end }
    }

    /// Stops showing it, before the answer is sent: a request that overtook the answer would show the
    /// bot typing after it, and one that is cut off costs its connection.
    pub(super) async fn end(mut self) {
        self.end.cancel();
        let _ = timeout(END_MAX, &mut self.task).await;
    }
}

impl Drop for Typing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Shows it every so often until the end. A showing that takes longer is given up, so that the next comes in time;
/// only a pause that it says is asked for delays it.
async fn beat<F>(every: Duration, ended: &CancellationToken, mut show: impl FnMut() -> F)
where
    F: Future<Output = Duration>,
{
    loop {
        let next = Instant::now() + every;
        let asked = timeout_at(next, show()).await.unwrap_or_default();
        tokio::select! {
            () = sleep_until(next.max(Instant::now() + asked)) => {}
            () = ended.cancelled() => return,
        }
    }
}

/// What is shown, and where.
struct Sign {
    api: Arc<Api>,
    chat: i64,
    action: SendChatAction,
    /// While its turn waits for a person nothing is shown.
    slot: Option<Arc<Slot>>,
}

impl Sign {
    fn new(api: Arc<Api>, target: Target, what: ChatAction, slot: Option<Arc<Slot>>) -> Self {
        let mut action = SendChatAction::new(ChatId(target.chat), what);
        action.message_thread_id =
            target.thread.and_then(|id| i32::try_from(id).ok()).map(|id| ThreadId(MessageId(id)));
        Self { api, chat: target.chat, action, slot }
    }

    /// Shows it once; the pause that Telegram asks for.
    async fn show(&self) -> Duration {
        if self.slot.as_ref().is_some_and(|slot| slot.is_left()) {
            return Duration::ZERO;
        }
        self.api.pace.sign(self.chat).await;
        match self.api.call(&self.action, AGAIN).await {
            Err(Failure::TooMany(pause)) => pause,
            _ => Duration::ZERO,
        }
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
            beat(Duration::from_millis(1), &end, || {
                shown.send(()).expect("somebody counts");
                show()
            })
            .await;
        });
        (showings, ended, beating)
    }

    /// One showing hangs for ever, one fails, one is slow: the next comes all the same, until the end.
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
