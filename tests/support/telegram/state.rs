//! What the server knows, behind one lock.

use super::bot::Bot;
use super::chats::Chats;
use super::error::ApiError;
use super::files::Files;
use super::floods::Floods;
use super::methods;
use super::route::route;
use super::updates::UpdateQueue;
use crate::exchange::{Answer, Api, Call, Exchanges, Routed, Shared, Summary};
use crate::http::{Request, Unreadable};

/// Messages that a failed wait lists.
const SUMMARY_LINES: usize = 20;

/// Everything that the lock guards.
pub(super) struct Inner {
    pub(super) bot: Bot,
    pub(super) updates: UpdateQueue,
    pub(super) chats: Chats,
    pub(super) files: Files,
    pub(super) floods: Floods,
    pub(super) exchanges: Exchanges,
}

/// Shared by the handles and the connections.
pub(super) struct State {
    pub(super) token: String,
    shared: Shared<Inner>,
}

impl State {
    pub(super) fn new(token: String) -> Self {
        let inner = Inner {
            bot: Bot::new(&token),
            updates: UpdateQueue::default(),
            chats: Chats::default(),
            files: Files::default(),
            floods: Floods::default(),
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
        let mut routed = route(&self.token, request);
        self.read(|inner| inner.files.name_download(&mut routed.call));
        routed
    }

    async fn perform(&self, call: &Call) -> Answer {
        methods::perform(self, call).await
    }

    fn refuse(&self, unreadable: Unreadable) -> Answer {
        ApiError::new(unreadable.status(), format!("{unreadable:?}")).to_answer()
    }

    fn note<R>(&self, act: impl FnOnce(&mut Exchanges) -> R) -> R {
        self.change(|inner| act(&mut inner.exchanges))
    }
}

impl Summary for Inner {
    fn summary(&self) -> String {
        let sent = self.chats.sent.iter().rev().take(SUMMARY_LINES).rev().map(|message| {
            format!("  sent to {} as {}: {:?}", message.chat_id, message.message_id, message.text)
        });
        let unconfirmed = format!("  unconfirmed updates: {:?}", self.updates.unconfirmed());
        self.exchanges.journal.summary().chain(sent).chain([unconfirmed]).collect::<Vec<_>>().join("\n")
    }
}
