//! What only a channel itself can do for the handler: read its messages, and reach the people
//! who wrote them.

use super::ChannelServices;
use crate::approvals::{ApprovalDisplay, Changing};
use crate::outbound::{ChannelLimits, PlaceholderRef, SendError, SendingPart};
use crate::session_queue::{StopPower, TurnSlot};
use crate::setup::{ChannelSettings, MenuEntry};
use crate::{Activity, EditableMessage, ShownActivity, words};
use cofferdam_core::command::{ControlWord, steer_text, word};
use cofferdam_core::id::{SessionId, TurnId};
use cofferdam_store::{AlbumStanding, QueueMode, ReplyPlace, StoreError, Update};
use cofferdam_warden::attachments::{Attachment, Download, SentFile};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A channel as it is configured now. What is under way keeps the one that it began with.
pub trait Channel: Send + Sync + Sized + 'static {
    /// The channel in the audit and in what a provider sees.
    const NAME: &'static str;
    /// What its messages can carry.
    const CHANNEL_LIMITS: &'static ChannelLimits;

    /// Where a message was said and is answered.
    type Target: Clone + DeserializeOwned + Send + Sync + 'static;
    /// What names a file.
    type File: SentFile;
    /// The message that stands for an answer while its turn runs.
    type Draft: EditableMessage;

    /// What it stands on.
    fn base(&self) -> &ChannelServices;

    /// What these updates, a message or an album, ask for by the rules of now.
    fn read(&self, updates: &[Update], standing: AlbumStanding) -> MessageAction<Self::Target, Self::File>;

    /// Where the answer to an update of any sender would go; `None` where it is none that
    /// can be answered.
    fn target_of(&self, update: &Update) -> Option<Self::Target>;

    /// The file in an update of any sender; of a channel that has albums.
    fn file_of(&self, update: &Update) -> Option<Self::File>;

    /// Fetches a file and ends its download: it is there, or says why not. Tries again what time
    /// may heal. Dropping the future ends it.
    fn fetch(&self, file: Self::File, download: Download) -> impl Future<Output = Attachment> + Send;

    /// Whether a question may be worked on now: asked each time right before. One that may not is
    /// answered by nobody.
    fn may_begin(&self, _: &TurnId, _: &ChannelTurn<Self>) -> impl Future<Output = StartDecision> + Send {
        async { StartDecision::Now }
    }

    /// The conversation, in the channel's own words: turns of one conversation run one after the
    /// other.
    fn conversation(&self, target: &Self::Target) -> String;

    /// Learns which conversations go on elsewhere, as other nodes have noted since the last time.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn follow_moves(&self) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// The profiles whose tools may be called there by the rules of now; absent: all of them.
    fn profiles(&self, target: &Self::Target) -> Option<BTreeSet<String>>;

    /// A target that was kept.
    fn target(kept: &str) -> Option<Self::Target> {
        serde_json::from_str(kept).ok()
    }

    /// Sends one part to its target, as [`Router::send`](crate::outbound::Router::send) has it.
    fn send(
        &self,
        target: Self::Target,
        sending: SendingPart<'_>,
    ) -> impl Future<Output = Result<String, SendError>> + Send;

    /// Whether the platform answers a request that sends nothing.
    fn answers(&self) -> impl Future<Output = bool> + Send;

    /// Where an answer goes, to be kept. `stand_in` is what stands there for it already; nothing
    /// about that is under way any more.
    fn reply_address(target: &Self::Target, stand_in: Option<PlaceholderRef>) -> String;

    /// Whether something is shown there that ends with an answer alone. It is there once this
    /// returns.
    fn is_awaited(&self, _target: &Self::Target) -> impl Future<Output = bool> + Send {
        async { false }
    }

    /// Where something is said later that belongs to the answer and is a message of its own, to be
    /// kept.
    fn followup_address(target: &Self::Target) -> String {
        Self::reply_address(target, None)
    }

    /// Shows once that something goes on there, such as "typing…"; failures are of no consequence.
    /// Returns the pause that the platform asks for, or none.
    fn show_activity(
        &self,
        target: &Self::Target,
        activity: Activity,
    ) -> impl Future<Output = Duration> + Send;

    /// The message that stands for the answer of a turn, which is not sent yet.
    fn draft(self: &Arc<Self>, turn: &TurnId, target: &Self::Target) -> Self::Draft;

    /// Where approvals are shown: below the message that is answered there, whose sender asks for
    /// the calls.
    fn board(self: &Arc<Self>, target: &Self::Target, asker: &str) -> impl ApprovalDisplay;

    /// Takes its choices away from the message that shows a question in a chat, and leaves its
    /// words.
    fn take_choices(&self, chat: &str, message: &str) -> Changing;

    /// The session of a conversation.
    fn session(&self, target: &Self::Target) -> SessionId {
        SessionId::new(format!("{}:{}", self.base().channel, self.conversation(target)))
    }
}

/// The channel of the moment, for what goes on for as long as the program runs.
pub type CurrentChannel<C> = watch::Receiver<Arc<C>>;

/// A channel on a platform: people come to it, and it goes on under another configuration.
pub trait PlatformChannel: Channel {
    /// Its section of the configuration.
    type Config: Send;

    /// Where somebody is written to in private, as it is kept.
    fn private(person: i64) -> String;

    /// The private chat with somebody, which is opened where it has to be; and what is to be noted
    /// so that nothing is missed there.
    fn open_private(
        &self,
        person: i64,
    ) -> impl Future<Output = Result<(Self::Target, Option<ReplyPlace>), SendError>> + Send;

    /// The same one under another configuration.
    fn renew(&self, config: &Self::Config, renewed: &ChannelSettings) -> Self;

    /// Has the platform show these commands. Best effort.
    fn set_menu(self: Arc<Self>, menu: Vec<MenuEntry>) -> impl Future<Output = ()> + Send;
}

/// Shows that a turn is worked on there, or without one that something is sent, until it is ended.
pub(super) fn begin_activity<C: Channel>(
    channel: &Arc<C>,
    target: &C::Target,
    (activity, slot): (Activity, Option<Arc<TurnSlot>>),
) -> ShownActivity {
    let (channel, target) = (channel.clone(), target.clone());
    ShownActivity::begin(slot, move || {
        let (channel, target) = (channel.clone(), target.clone());
        async move { channel.show_activity(&target, activity).await }
    })
}

/// Whether a turn begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartDecision {
    /// It does.
    Now,
    /// Its sender was told that it failed: it is not to run any more.
    Never,
    /// Not in this run of the program, which stops.
    Later,
}

/// A question of a channel.
pub type ChannelTurn<C> = TurnRequest<<C as Channel>::Target, <C as Channel>::File>;

/// What a message asks for.
#[derive(Debug, PartialEq)]
pub enum MessageAction<T, F> {
    /// Nobody is answered.
    Nothing,
    /// An answer in the channel's own words.
    Say(T, String),
    /// A turn.
    Run(Box<TurnRequest<T, F>>),
}

/// A message that a turn answers, ready but for the bytes of its files.
#[derive(Debug, PartialEq)]
pub struct TurnRequest<T, F> {
    /// Where it was said.
    pub target: T,
    /// The channel's immutable id of the person who said it.
    pub sender: String,
    /// What they may stop.
    pub power: StopPower,
    /// How it wants to be taken.
    pub queue: QueueMode,
    /// Text or caption, as typed.
    pub text: String,
    /// The files that it is about.
    pub files: RequestFiles<F>,
    /// Whether it is something said, its first file being the voice; never what somebody else said.
    pub is_voice: bool,
    /// Lines that its sender must read with the answer.
    pub notices: Vec<String>,
    /// What a model is told of it besides its words, as data on one line.
    pub about: Option<String>,
    /// The profiles whose tools may be called from there; absent: all of them.
    pub profiles: Option<BTreeSet<String>>,
}

impl<T, F: SentFile> TurnRequest<T, F> {
    /// The question with its words, which are a command or not. `replied` are the files of the
    /// message that it is about, and the album of that; its own go before them. `may_begin_anew`
    /// says whether its sender may have the conversation forgotten.
    pub fn into_action(
        mut self,
        (text, is_command): (String, bool),
        replied: (Vec<F>, Option<String>),
        may_begin_anew: bool,
    ) -> MessageAction<T, F> {
        let steered = steer_text(&text).filter(|_| is_command).map(str::to_owned);
        let steers = steered.is_some();
        // Whether it finds a turn to be said to or becomes one, its words are what follows.
        self.text = steered.unwrap_or(text);
        if self.files.own.is_empty() {
            (self.files.replied, self.files.replied_album) = replied;
        }
        if word(&self.text) == Some(ControlWord::New) && !may_begin_anew {
            return MessageAction::Say(self.target, words::NOT_YOURS_TO_FORGET.into());
        }
        if steers && self.text.is_empty() && self.files.all().is_empty() {
            return MessageAction::Say(self.target, words::STEER_WHAT.into());
        }
        MessageAction::Run(Box::new(self))
    }
}

/// The files of one message.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestFiles<F> {
    /// Those that came with it.
    pub own: Vec<F>,
    /// The album that it is.
    pub album: Option<String>,
    /// In place of its own, those of the message that it replies to.
    pub replied: Vec<F>,
    /// The album that the message replied to is part of, which is then meant as a whole.
    pub replied_album: Option<String>,
}

impl<F: SentFile> RequestFiles<F> {
    /// Those of a message, which is perhaps an album.
    pub fn new(own: Vec<F>, album: Option<String>) -> Self {
        Self { own, album, replied: Vec::new(), replied_album: None }
    }

    /// All of them, in order.
    pub fn all(&self) -> Vec<F> {
        [self.own.as_slice(), &self.replied].concat()
    }
}
