//! What a test sees: requests, messages, confirmations. Every wait is bounded and wakes by
//! notification.

use std::time::Duration;

use serde_json::Value;

use super::bot::{DEFAULT_SCOPE, chat_scope};
use super::sent::SentMessage;
use super::server::TelegramServer;
use super::state::Inner;
use crate::exchange::{RequestRecord, Target};

impl TelegramServer {
    /// Every request so far (the latest 100 000), in the order of arrival.
    pub fn journal(&self) -> Vec<RequestRecord> {
        self.state.read(|inner| inner.exchanges.journal.records.iter().cloned().collect())
    }

    /// The requests of a target so far.
    pub fn requests(&self, target: impl Into<Target>) -> Vec<RequestRecord> {
        let target = target.into();
        self.state.read(|inner| inner.exchanges.journal.matching(&target).cloned().collect())
    }

    /// The bot's messages in the order of sending, with edits applied; deleted ones are marked.
    pub fn sent_messages(&self) -> Vec<SentMessage> {
        self.state.read(|inner| inner.chats.sent.clone())
    }

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

    /// The most requests of a method (or downloads) that were under way at once; a target's
    /// parameters do not count here.
    pub fn max_concurrent(&self, target: impl Into<Target>) -> usize {
        let kind = target.into().kind().clone();
        self.state.read(|inner| inner.exchanges.journal.most_under_way(Some(kind)))
    }

    /// The most requests of all kinds, long polls included, that were under way at once.
    pub fn max_concurrent_total(&self) -> usize {
        self.state.read(|inner| inner.exchanges.journal.most_under_way(None))
    }

    /// The first message that the predicate accepts, past ones included. Edits count: it sees every
    /// message as it is now.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_for_message(
        &self,
        timeout: Duration,
        mut accept: impl FnMut(&SentMessage) -> bool,
    ) -> anyhow::Result<SentMessage> {
        let look = |inner: &Inner| inner.chats.sent.iter().find(|message| accept(message)).cloned();
        self.state.wait("matching message", timeout, look).await
    }

    /// All messages, once there are at least so many.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_for_messages(
        &self,
        timeout: Duration,
        count: usize,
    ) -> anyhow::Result<Vec<SentMessage>> {
        let what = format!("{count} messages");
        let look = |inner: &Inner| (inner.chats.sent.len() >= count).then(|| inner.chats.sent.clone());
        self.state.wait(&what, timeout, look).await
    }

    /// The first request of a target, past ones included; received, perhaps not yet answered.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_for_request(
        &self,
        timeout: Duration,
        target: impl Into<Target>,
    ) -> anyhow::Result<RequestRecord> {
        let mut requests = self.wait_for_requests(timeout, target, 1).await?;
        Ok(requests.swap_remove(0))
    }

    /// The requests of a target, once there are at least so many since the start.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_for_requests(
        &self,
        timeout: Duration,
        target: impl Into<Target>,
        count: usize,
    ) -> anyhow::Result<Vec<RequestRecord>> {
        let target = target.into();
        let what = format!("{count} requests of {target:?}");
        let look = |inner: &Inner| {
            let enough = inner.exchanges.journal.matching(&target).count() >= count;
            enough.then(|| inner.exchanges.journal.matching(&target).cloned().collect())
        };
        self.state.wait(&what, timeout, look).await
    }

    /// Returns once no request of a method (or download) is under way: clients have their answers or have
    /// gone. A target's parameters do not count here.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_until_idle(&self, timeout: Duration, target: impl Into<Target>) -> anyhow::Result<()> {
        let kind = target.into().kind().clone();
        let what = format!("end of all requests of {kind:?}");
        let look = |inner: &Inner| (inner.exchanges.journal.under_way_now(&kind) == 0).then_some(());
        self.state.wait(&what, timeout, look).await
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
