//! What a channel does for answering that only it can do: read its messages, and reach the people who wrote them.

use super::Base;
use crate::desk::Board;
use crate::lanes::By;
use crate::outbound::{Manners, Opening, Router};
use crate::{Live, Screen, Sign};
use cofferdam_core::id::{SessionId, TurnId};
use cofferdam_store::{Placeholder, Queue, Standing, Update};
use cofferdam_warden::attachments::{Fetcher, SentFile};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A channel as it is configured now. What is under way keeps the one that it began with.
pub trait Channel: Fetcher + Router + Sized {
    /// The channel in the audit and in what a provider sees.
    const NAME: &'static str;
    /// What its messages can carry.
    const MANNERS: &'static Manners;

    /// Where a message was said and is answered.
    type Target: Clone + Send + Sync + 'static;
    /// Where a turn is shown while it runs.
    type Screen: Screen;

    /// What it stands on.
    fn base(&self) -> &Base;

    /// What these updates, a message or an album, ask for by the rules of now.
    fn read(&self, updates: &[Update], standing: Standing) -> Todo<Self::Target, Self::File>;

    /// Where the answer to an update would go, whoever has sent it; `None` where it is none that can be answered.
    fn target_of(&self, update: &Update) -> Option<Self::Target>;

    /// The file in an update, whoever has sent it.
    fn file_of(&self, update: &Update) -> Option<Self::File>;

    /// The conversation, in the channel's own words: turns of one conversation run one after the other.
    fn conversation(&self, target: &Self::Target) -> String;

    /// A target that was kept.
    fn target(kept: &str) -> Option<Self::Target>;

    /// Where an answer goes, to be kept, and what its first message is. `shown` is what its turn was shown by; nothing
    /// about it is under way any more.
    fn answered(target: &Self::Target, shown: Option<Self::Screen>) -> (String, Opening);

    /// Shows that something goes on there.
    fn sign(&self, target: &Self::Target) -> impl Sign;

    /// Shows the turn of a question until it is ended. `before` is what an earlier run of it has left.
    fn show(
        self: &Arc<Self>,
        turn: &TurnId,
        target: &Self::Target,
        before: Option<Placeholder>,
    ) -> Live<Self::Screen>;

    /// Where the approvals of a question's turn are shown.
    fn board(self: &Arc<Self>, asked: &Asked<Self>) -> impl Board;

    /// The session of a conversation.
    fn session(&self, target: &Self::Target) -> SessionId {
        SessionId::new(format!("{}:{}", self.base().channel, self.conversation(target)))
    }
}

/// A question of a channel.
pub type Asked<C> = Question<<C as Channel>::Target, <C as Fetcher>::File>;

/// What a message asks for.
#[derive(Debug, PartialEq)]
pub enum Todo<T, F> {
    /// Nobody is answered.
    Nothing,
    /// An answer in the channel's own words.
    Say(T, String),
    /// A turn.
    Run(Box<Question<T, F>>),
}

/// A message that a turn answers, ready but for the bytes of its files.
#[derive(Debug, PartialEq)]
pub struct Question<T, F> {
    /// Where it was said.
    pub target: T,
    /// The channel's immutable id of whoever said it.
    pub sender: String,
    /// What they may stop.
    pub power: By,
    /// How it wants to be taken.
    pub queue: Queue,
    /// Text or caption, as typed.
    pub text: String,
    /// The files that it is about.
    pub files: Files<F>,
    /// The album that it is.
    pub album: Option<String>,
    /// Lines that its sender must read with the answer.
    pub notices: Vec<String>,
    /// What a model is told of it besides its words, as data on one line.
    pub about: Option<String>,
    /// The profiles whose tools may be called from there; absent: all of them.
    pub profiles: Option<BTreeSet<String>>,
}

/// Where the files of a message are.
#[derive(Debug, PartialEq)]
pub enum Files<F> {
    /// In itself.
    Own(Vec<F>),
    /// In the message that it replies to.
    Replied {
        /// The file of that message.
        file: F,
        /// The album that it is part of, which is then meant as a whole.
        album: Option<String>,
    },
}

impl<F: SentFile> Files<F> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Own(own) if own.is_empty())
    }
}
