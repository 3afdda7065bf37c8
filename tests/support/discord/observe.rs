//! What a test sees: requests, messages, interactions, connections to the gateway. Every wait is
//! bounded and wakes by notification.

use std::time::Duration;

use serde_json::Value;

use super::gateway::GatewayConnection;
use super::inject::checked;
use super::interactions::Interaction;
use super::messages::shown;
use super::sent::SentMessage;
use super::server::DiscordServer;
use super::state::Inner;
use crate::exchange::observed;

observed!(DiscordServer, sent, checked);

impl DiscordServer {
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
