//! What the server knows, behind one lock.

use std::collections::HashMap;
use std::sync::Arc;

use super::bot::Bot;
use super::cdn::Cdn;
use super::clock::Clock;
use super::error::RestError;
use super::gateway::{self, Gateway};
use super::interactions::Interactions;
use super::limits::Limits;
use super::messages::UsedNonce;
use super::methods;
use super::route::route;
use super::sent::SentMessage;
use super::world::World;
use crate::exchange::{Answer, Api, Call, Exchanges, Routed, Shared, Summary};
use crate::http::{Connection, Request, Unreadable};

/// Messages that a failed wait lists.
const SUMMARY_LINES: usize = 20;

/// Everything that the lock guards.
pub(super) struct Inner {
    pub(super) clock: Clock,
    pub(super) bot: Bot,
    pub(super) world: World,
    pub(super) sent: Vec<SentMessage>,
    pub(super) nonces: HashMap<String, UsedNonce>,
    pub(super) interactions: Interactions,
    pub(super) cdn: Cdn,
    pub(super) limits: Limits,
    pub(super) gateway: Gateway,
    pub(super) exchanges: Exchanges,
}

/// Shared by the handles and the connections.
pub(super) struct State {
    pub(super) token: String,
    shared: Shared<Inner>,
}

impl State {
    pub(super) fn new(token: String, gateway: Gateway) -> Self {
        let inner = Inner {
            clock: Clock::default(),
            bot: Bot::default(),
            world: World::default(),
            sent: Vec::new(),
            nonces: HashMap::new(),
            interactions: Interactions::default(),
            cdn: Cdn::default(),
            limits: Limits::default(),
            gateway,
            exchanges: Exchanges::default(),
        };
        Self { token, shared: Shared::new(inner) }
    }
}

impl std::ops::Deref for State {
    type Target = Shared<Inner>;

    fn deref(&self) -> &Shared<Inner> {
        &self.shared
    }
}

impl Api for State {
    fn route(&self, request: &Request) -> Routed {
        route(&self.token, request)
    }

    async fn perform(&self, call: &Call) -> Answer {
        self.change(|inner| methods::perform(inner, call))
    }

    fn refuse(&self, unreadable: Unreadable) -> Answer {
        RestError::plain(unreadable.status(), &format!("{unreadable:?}")).to_answer()
    }

    fn note<R>(&self, act: impl FnOnce(&mut Exchanges) -> R) -> R {
        self.change(|inner| act(&mut inner.exchanges))
    }

    async fn switch(self: Arc<Self>, connection: Connection, call: Call) {
        gateway::converse(self, connection, &call.params).await;
    }
}

impl Summary for Inner {
    fn summary(&self) -> String {
        let sent = self.sent.iter().rev().take(SUMMARY_LINES).rev().map(|message| {
            let gone = if message.deleted { " (deleted)" } else { "" };
            format!("  sent to {} as {}: {:?}{gone}", message.channel_id, message.message_id, message.content)
        });
        let lines = self.exchanges.journal.summary().chain(sent).chain(self.gateway.summary());
        lines.collect::<Vec<_>>().join("\n")
    }
}
