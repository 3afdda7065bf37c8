//! The sign of life: "typing…" at once, and again before Telegram takes it away after 5 s.

use super::api::Api;
use super::failure::Failure;
use super::send::Target;
use std::sync::Arc;
use std::time::Duration;
use teloxide_core::payloads::SendChatAction;
use teloxide_core::types::{ChatAction, ChatId, MessageId, ThreadId};
use tokio::task::JoinHandle;

/// Shown while it lives.
pub(super) struct Typing(JoinHandle<()>);

/// Telegram shows an action for 5 s.
const AGAIN: Duration = Duration::from_secs(4);

impl Typing {
    /// Begins to show it. Failures are of no consequence.
    pub(super) fn start(api: Arc<Api>, target: Target) -> Self {
        let mut action = SendChatAction::new(ChatId(target.chat), ChatAction::Typing);
        action.message_thread_id =
            target.thread.and_then(|id| i32::try_from(id).ok()).map(|id| ThreadId(MessageId(id)));
        Self(tokio::spawn(async move {
            loop {
                let pause = match api.call(&action, AGAIN).await {
                    Err(Failure::TooMany(pause)) => pause.max(AGAIN),
                    _ => AGAIN,
                };
                tokio::time::sleep(pause).await;
            }
        }))
    }
}

impl Drop for Typing {
    fn drop(&mut self) {
        self.0.abort();
    }
}
