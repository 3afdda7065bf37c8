//! The sign of life: "typing…" at once, and again before Telegram takes it away after 5 s.

use super::api::Api;
use super::failure::Failure;
use super::send::Target;
use super::slot::Slot;
use std::sync::Arc;
use std::time::Duration;
use teloxide_core::payloads::SendChatAction;
use teloxide_core::types::{ChatAction, ChatId, MessageId, ThreadId};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Shown while it lives, or until it is ended.
pub(super) struct Typing {
    task: JoinHandle<()>,
    end: CancellationToken,
}

/// Telegram shows an action for 5 s.
const AGAIN: Duration = Duration::from_secs(4);
/// The end waits so long for a request that is under way.
const END_MAX: Duration = Duration::from_secs(1);

impl Typing {
    /// Begins to show it, but while a person is waited for. Failures are of no consequence.
    pub(super) fn start(api: Arc<Api>, target: Target, slot: Arc<Slot>) -> Self {
        let mut action = SendChatAction::new(ChatId(target.chat), ChatAction::Typing);
        action.message_thread_id =
            target.thread.and_then(|id| i32::try_from(id).ok()).map(|id| ThreadId(MessageId(id)));
        let end = CancellationToken::new();
        let ended = end.clone();
        let task = tokio::spawn(async move {
            loop {
                let pause = match slot.is_left() {
                    true => AGAIN,
                    false => match api.call(&action, AGAIN).await {
                        Err(Failure::TooMany(pause)) => pause.max(AGAIN),
                        _ => AGAIN,
                    },
                };
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = ended.cancelled() => return,
                }
            }
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
