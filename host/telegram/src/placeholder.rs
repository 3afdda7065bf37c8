//! The message that stands for the answer while its turn runs, in reply to the question.

use super::bot::TelegramBot;
use super::failure::ApiFailure;
use super::send::{ReplyTarget, TEXT_UNITS_MAX};
use async_trait::async_trait;
use cofferdam_chat::outbound::StyledText;
use cofferdam_chat::{self as chat, EditResult};
use std::sync::Arc;

/// Where it is sent.
pub(super) struct Draft {
    pub(super) bot: Arc<TelegramBot>,
    pub(super) target: ReplyTarget,
}

#[async_trait]
impl chat::EditableMessage for Draft {
    const IS_SENT_ONCE: bool = false;
    const TEXT_UNITS_MAX: usize = TEXT_UNITS_MAX;

    fn is_in_group(&self) -> bool {
        self.target.is_group()
    }

    async fn room(&self) {
        self.bot.api.pace.spare(self.target.chat).await;
    }

    async fn send(&self, text: &StyledText) -> Result<String, String> {
        let (api, chat) = (&self.bot.api, self.target.chat);
        let sent = api.pace.send_noted(chat, api.send(self.target, text)).await;
        let id = sent.map_err(|failure| failure.to_string())?;
        id.parse::<i64>().map(|_| id).map_err(|_| "Telegram tells no id of it".to_owned())
    }

    async fn edit(&self, id: &str, text: &StyledText) -> EditResult {
        let (api, chat) = (&self.bot.api, self.target.chat);
        let Ok(message) = id.parse() else { return EditResult::Gone };
        match api.pace.send_noted(chat, api.edit(chat, message, text)).await {
            Ok(()) | Err(ApiFailure::TooMany(_)) => EditResult::Settled,
            Err(ApiFailure::Refused { .. } | ApiFailure::Migrated(_)) => EditResult::Gone,
            Err(_) => EditResult::Doubtful,
        }
    }
}
