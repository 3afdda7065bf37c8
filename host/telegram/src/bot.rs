//! What every part of the running channel shares: what every channel stands on, the connection, the
//! people.

use super::api::{REQUEST_MAX, TelegramApi};
use super::failure::ApiFailure;
use super::moves::Moves;
use cofferdam_chat::handler::ChannelServices;
use cofferdam_chat::people::Groups;
use cofferdam_store::Presence;
use serde_json::value::RawValue;
use std::sync::Arc;
use teloxide_core::payloads;
use tokio::sync::Semaphore;

/// The bot's own account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BotUser {
    pub(super) id: i64,
    /// Without `@`. Every bot has one; without it no command in a group can name this bot.
    pub(super) username: Option<String>,
    /// Whether Telegram brings it all that is said in groups where it is no administrator; else
    /// commands, replies and mentions alone: BotFather's privacy mode.
    pub(super) hears_all: bool,
}

/// The running bot as it is configured now. What runs keeps the one that it began with; all of them
/// share what lasts.
#[derive(Clone)]
pub(super) struct TelegramBot {
    /// What every channel has.
    pub(super) base: ChannelServices,
    pub(super) api: Arc<TelegramApi>,
    pub(super) presence: Arc<Presence>,
    /// Groups that have another id than they had.
    pub(super) moves: Moves,
    pub(super) me: BotUser,
    /// Answers to presses.
    pub(super) answers: Arc<Semaphore>,
}

impl BotUser {
    /// Asks Telegram who this bot is.
    ///
    /// # Errors
    /// [`ApiFailure`].
    pub(super) async fn ask(api: &TelegramApi) -> Result<Self, ApiFailure> {
        Self::read(&api.call(&payloads::GetMe::new(), REQUEST_MAX).await?)
    }

    /// The bot as people call it: `@name`.
    pub(super) fn display_name(&self) -> String {
        self.username.as_ref().map_or_else(|| format!("bot {}", self.id), |name| format!("@{name}"))
    }

    /// Whether it is to answer more in a group than Telegram brings it, unless it is an
    /// administrator there.
    pub(super) fn is_kept_from(&self, groups: &Groups) -> bool {
        !self.hears_all && groups.listen_to_everything()
    }

    /// What `getMe` has brought.
    ///
    /// # Errors
    /// [`ApiFailure::Unreachable`] for what is no bot's account.
    pub(super) fn read(result: &RawValue) -> Result<Self, ApiFailure> {
        let value: serde_json::Value = serde_json::from_str(result.get()).unwrap_or_default();
        let id = value["id"].as_i64();
        let id = id.ok_or_else(|| {
            ApiFailure::Unreachable("getMe tells no id; is api_url a Bot API server?".into())
        })?;
        let hears_all = value["can_read_all_group_messages"] == true;
        Ok(Self { id, username: value["username"].as_str().map(str::to_owned), hears_all })
    }
}
