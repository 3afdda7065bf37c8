//! The message that stands for the answer while its turn runs, in reply to the question.

use super::bot::TelegramBot;
use super::send::{ReplyTarget, TEXT_UNITS_MAX, is_group};
use async_trait::async_trait;
use cofferdam_chat::EditableMessage;
use cofferdam_chat::outbound::{SendError, StyledText};
use std::sync::Arc;

/// Where it is sent.
pub(super) struct Draft {
    pub(super) bot: Arc<TelegramBot>,
    pub(super) target: ReplyTarget,
}

#[async_trait]
impl EditableMessage for Draft {
    const IS_SENT_ONCE: bool = false;
    const TEXT_UNITS_MAX: usize = TEXT_UNITS_MAX;

    fn is_in_group(&self) -> bool {
        is_group(self.target.chat)
    }

    async fn room(&self) {
        self.bot.api.pace.spare(self.target.chat).await;
    }

    async fn send(&self, text: &StyledText) -> Result<i64, SendError> {
        let (api, chat) = (&self.bot.api, self.target.chat);
        let id = api.pace.send_noted(chat, api.send(self.target, text)).await?;
        let unknown = |_| SendError::Unreachable("Telegram tells no id of it".to_owned());
        id.parse::<i64>().map_err(unknown)
    }

    async fn edit(&self, id: i64, text: &StyledText) -> Result<(), SendError> {
        let (api, chat) = (&self.bot.api, self.target.chat);
        Ok(api.pace.send_noted(chat, api.edit(chat, id, text)).await?)
    }
}
