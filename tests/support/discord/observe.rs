//! What a test sees: requests, messages, interactions, connections to the gateway. Every wait is bounded and wakes
//! by notification.

use std::time::Duration;

use serde_json::Value;

use super::gateway::GatewayConnection;
use super::inject::checked;
use super::interactions::Interaction;
use super::messages::shown;
use super::sent::SentMessage;
use super::server::DiscordServer;
use super::state::Inner;
use crate::exchange::{RequestRecord, Target};

impl DiscordServer {
    /// Every request so far (the latest 100 000), in the order of arrival; handshakes of the gateway, too.
    pub fn journal(&self) -> Vec<RequestRecord> {
        self.state.read(|inner| inner.exchanges.journal.records.iter().cloned().collect())
    }

    /// The requests of a target so far.
    pub fn requests(&self, target: impl Into<Target>) -> Vec<RequestRecord> {
        let target = checked(target);
        self.state.read(|inner| inner.exchanges.journal.matching(&target).cloned().collect())
    }

    /// The bot's messages in the order of sending, with edits applied; deleted ones are marked.
    pub fn sent_messages(&self) -> Vec<SentMessage> {
        self.state.read(|inner| inner.sent.clone())
    }

    /// The global commands as last set, with the fields that the API adds.
    pub fn commands(&self) -> Vec<Value> {
        self.state.read(|inner| inner.bot.commands.clone())
    }

    /// A message as `GET` shows it now, with fresh links.
    pub fn message(&self, channel: u64, message: u64) -> Option<Value> {
        self.state.read(|inner| shown(inner, channel, message).ok())
    }

    /// What the bot did with an interaction so far.
    pub fn interaction(&self, id: u64) -> Option<Interaction> {
        self.state.read(|inner| inner.interactions.by_id.get(&id).cloned())
    }

    /// Every connection to the gateway so far, in the order of opening.
    pub fn connections(&self) -> Vec<GatewayConnection> {
        self.state.read(|inner| inner.gateway.connections.clone())
    }

    /// The number of the last event of each session that is not over.
    pub fn sessions(&self) -> Vec<(String, u64)> {
        self.state.read(|inner| {
            inner.gateway.sessions.iter().map(|(id, one)| (id.clone(), one.last_seq())).collect()
        })
    }

    /// The most requests of a route (or downloads) that were under way at once.
    pub fn max_concurrent(&self, target: impl Into<Target>) -> usize {
        let kind = checked(target).kind().clone();
        self.state.read(|inner| inner.exchanges.journal.most_under_way(Some(kind)))
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
        let look = |inner: &Inner| inner.sent.iter().find(|message| accept(message)).cloned();
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
        let look = |inner: &Inner| (inner.sent.len() >= count).then(|| inner.sent.clone());
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
        let target = checked(target);
        let what = format!("{count} requests of {target:?}");
        let look = |inner: &Inner| {
            let journal = &inner.exchanges.journal;
            (journal.matching(&target).count() >= count).then(|| journal.matching(&target).cloned().collect())
        };
        self.state.wait(&what, timeout, look).await
    }

    /// Returns once no request of a route (or download) is under way. A target's parameters do not count here.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_until_idle(&self, timeout: Duration, target: impl Into<Target>) -> anyhow::Result<()> {
        let kind = checked(target).kind().clone();
        let what = format!("end of all requests of {kind:?}");
        let look = |inner: &Inner| (inner.exchanges.journal.under_way_now(&kind) == 0).then_some(());
        self.state.wait(&what, timeout, look).await
    }

    /// The first connection to the gateway that the predicate accepts, past ones included.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_for_connection(
        &self,
        timeout: Duration,
        mut accept: impl FnMut(&GatewayConnection) -> bool,
    ) -> anyhow::Result<GatewayConnection> {
        let look = |inner: &Inner| inner.gateway.connections.iter().find(|one| accept(one)).cloned();
        self.state.wait("matching connection to the gateway", timeout, look).await
    }

    /// An open connection that got READY or RESUMED.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_until_connected(&self, timeout: Duration) -> anyhow::Result<GatewayConnection> {
        self.wait_for_connection(timeout, |one| one.established && one.closed.is_none()).await
    }

    /// An interaction, once the predicate accepts what the bot did with it.
    ///
    /// # Errors
    /// After the timeout, with a list of what there was instead.
    pub async fn wait_for_interaction(
        &self,
        timeout: Duration,
        id: u64,
        mut accept: impl FnMut(&Interaction) -> bool,
    ) -> anyhow::Result<Interaction> {
        let what = format!("matching interaction {id}");
        let look = |inner: &Inner| inner.interactions.by_id.get(&id).filter(|one| accept(one)).cloned();
        self.state.wait(&what, timeout, look).await
    }
}
