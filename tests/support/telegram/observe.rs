//! What a test sees: requests, messages, confirmations. Every wait is bounded and wakes by
//! notification.

use std::time::Duration;

use serde_json::Value;

use super::bot::{DEFAULT_SCOPE, chat_scope};
use super::sent::SentMessage;
use super::server::TelegramServer;
use super::state::Inner;
use crate::exchange::observed;

observed!(TelegramServer, chats.sent, std::convert::identity);

impl TelegramServer {
    /// The update ids that no offset has confirmed, in the order of delivery.
    pub fn unconfirmed_updates(&self) -> Vec<i64> {
        self.state.read(|inner| inner.updates.unconfirmed())
    }

    /// The last `allowed_updates` of a poll. They are recorded only, and filter nothing.
    pub fn allowed_updates(&self) -> Option<Value> {
        self.state.read(|inner| inner.updates.allowed.clone())
    }

    /// The command menu for all chats as last set, an array of `command` and `description`.
    pub fn commands(&self) -> Value {
        self.state.read(|inner| inner.bot.commands_of(DEFAULT_SCOPE))
    }

    /// The command menu of one chat; empty where none was set for it alone.
    pub fn commands_of(&self, chat_id: i64) -> Value {
        self.state.read(|inner| inner.bot.commands_of(&chat_scope(chat_id)))
    }

    /// The most requests of all kinds, long polls included, that were under way at once.
    pub fn max_concurrent_total(&self) -> usize {
        self.state.read(|inner| inner.exchanges.journal.most_under_way(None))
    }

    /// Returns once an offset has confirmed the update.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_until_confirmed(&self, timeout: Duration, update_id: i64) -> anyhow::Result<()> {
        let what = format!("confirmation of update {update_id}");
        let look = |inner: &Inner| (!inner.updates.unconfirmed().contains(&update_id)).then_some(());
        self.state.wait(&what, timeout, look).await
    }
}
