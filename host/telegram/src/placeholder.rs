//! The message that stands for the answer while its turn runs, in reply to the question.

use super::bot::Bot;
use super::failure::Failure;
use super::send::{TEXT_UNITS_MAX, Target};
use async_trait::async_trait;
use cofferdam_chat::outbound::Rich;
use cofferdam_chat::{self as chat, Edited};
use std::sync::Arc;

/// Where it is sent.
pub(super) struct Draft {
    pub(super) bot: Arc<Bot>,
    pub(super) target: Target,
}

#[async_trait]
impl chat::Draft for Draft {
    const IS_SENT_ONCE: bool = false;
    const TEXT_UNITS_MAX: usize = TEXT_UNITS_MAX;

    fn is_in_group(&self) -> bool {
        self.target.is_group()
    }

    async fn room(&self) {
        self.bot.api.pace.spare(self.target.chat).await;
    }

    async fn send(&self, text: &Rich) -> Result<String, String> {
        let (api, chat) = (&self.bot.api, self.target.chat);
        let sent = api.pace.noted(chat, api.send(self.target, text)).await;
        let id = sent.map_err(|failure| failure.to_string())?;
        id.parse::<i64>().map(|_| id).map_err(|_| "Telegram tells no id of it".to_owned())
    }

    async fn edit(&self, id: &str, text: &Rich) -> Edited {
        let (api, chat) = (&self.bot.api, self.target.chat);
        let Ok(message) = id.parse() else { return Edited::Gone };
        match api.pace.noted(chat, api.edit(chat, message, text)).await {
            Ok(()) | Err(Failure::TooMany(_)) => Edited::Settled,
            Err(Failure::Refused { .. } | Failure::Migrated(_)) => Edited::Gone,
            Err(_) => Edited::Doubtful,
        }
    }
}
