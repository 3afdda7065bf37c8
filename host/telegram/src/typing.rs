//! The sign of life in a chat: "typing…", or "sending a file…" where that takes long.

use super::api::TelegramApi;
use super::failure::ApiFailure;
use super::send::ReplyTarget;
use async_trait::async_trait;
use cofferdam_chat::{AGAIN, ActivityIndicator};
use std::sync::Arc;
use std::time::Duration;
use teloxide_core::payloads::SendChatAction;
use teloxide_core::types::{ChatAction, ChatId, MessageId, ThreadId};

/// Telegram shows an action for so long.
const SHOWN: Duration = Duration::from_secs(5);
const _: () = assert!(AGAIN.as_millis() < SHOWN.as_millis(), "nobody sees silence");

/// What is shown, and where.
pub(super) struct Typing {
    api: Arc<TelegramApi>,
    chat: i64,
    action: SendChatAction,
}

impl Typing {
    /// This action, where an answer goes.
    pub(super) fn new(api: Arc<TelegramApi>, target: ReplyTarget, what: ChatAction) -> Self {
        let mut action = SendChatAction::new(ChatId(target.chat), what);
        action.message_thread_id =
            target.thread.and_then(|id| i32::try_from(id).ok()).map(|id| ThreadId(MessageId(id)));
        Self { api, chat: target.chat, action }
    }
}

#[async_trait]
impl ActivityIndicator for Typing {
    async fn show(&self) -> Duration {
        self.api.pace.sign(self.chat).await;
        match self.api.call(&self.action, AGAIN).await {
            Err(ApiFailure::TooMany(pause)) => pause,
            _ => Duration::ZERO,
        }
    }
}
