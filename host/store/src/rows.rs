//! What goes into the store and comes out of it, as types.

use super::ReplyPlace;
use super::value::words;
use cofferdam_core::id::{SessionId, TurnId};
use cofferdam_core::message::OutgoingAttachment;

/// An update as a channel received it.
#[derive(Clone, Debug)]
pub struct NewUpdate {
    /// The channel's own id of it; a second one of the same id is dropped.
    pub update_id: i64,
    /// Names the album that it belongs to, in the channel's own words.
    pub album: Option<String>,
    /// Names the message in it, in the channel's own words, so that an edit finds it.
    pub message: Option<String>,
    /// As received. Kept only as long as it is needed.
    pub raw: String,
    /// What is to become of it.
    pub fate: UpdateFate,
}

/// What is to become of an update.
#[derive(Clone, Debug)]
pub enum UpdateFate {
    /// A turn will answer it.
    Pending(Headers),
    /// It says how its message reads now: what waits for a turn reads so from here on. Nobody will
    /// answer it.
    Edited,
    /// It says that its message, which has the same id, is gone: that waits for a turn no longer.
    Deleted {
        /// Whether the message may still come: it is known then. What cannot is not kept, since it
        /// would have others forgotten.
        may_come: bool,
    },
    /// Nobody will answer it; its content is not kept.
    Ignored,
    /// It comes from somebody who is not served and may be told so; its content is not kept.
    Stranger(Stranger),
}

/// What the order of work goes by, besides the time of arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The conversation: its turns run one after the other.
    pub session: SessionId,
    /// The channel's immutable id of the sender.
    pub sender: String,
    /// How it wants to be taken.
    pub queue: QueueMode,
    /// What it replies to, where a run may wait for that: in private, to a message of the gateway's
    /// own.
    pub answers: Option<WaitReply>,
}

/// A reply, as a run that waits for it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitReply {
    /// The platform's id of the message that it replies to, as the parts of replies have it.
    pub message: String,
    /// What that message says.
    pub text: String,
    /// The reply, as JSON.
    pub reply: String,
    /// The list of its files, in the channel's own words; none where it has none.
    pub files: Option<String>,
}

/// How a message wants to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMode {
    /// As a turn of its own, when those before it have ended.
    Turn,
    /// Into the turn that the session is at, if that is the same sender's; otherwise as
    /// [`QueueMode::Turn`].
    Steer,
}

/// An update that is to be said to a turn that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteerUpdate {
    /// The update.
    pub update: Update,
    /// The album that it is part of.
    pub album: Option<String>,
}

/// What a turn takes up while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeUpRequest {
    /// The channel that the updates came by.
    pub channel: String,
    /// All of them, or none.
    pub updates: Vec<i64>,
    /// Files that came with them, which are the sender's most recent ones from here on.
    pub noting: Option<NewRecent>,
}

/// Somebody who is not served, and what to say.
#[derive(Clone, Debug)]
pub struct Stranger {
    /// The channel's immutable id of the sender.
    pub sender: String,
    /// They are not told again if they were told at this time or later, in milliseconds since 1970
    /// UTC; nor more than [`STRANGER_TOLD_MAX`](super::STRANGER_TOLD_MAX) times.
    pub since: i64,
    /// What is said.
    pub reply: NewReply,
}

/// Who needs blobs of replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobHolder {
    /// A turn, until its reply is out.
    Turn(TurnId),
    /// A session whose last request has no answer, until it is answered or forgotten: a retry sends
    /// them.
    Retry(SessionId),
}

/// What came of persisting a batch.
#[derive(Clone, Debug, Default)]
pub struct PersistResult {
    /// The updates that wait for a turn here and were not known before, in the order given.
    pub pending: Vec<Update>,
    /// How many wait for a turn, on whichever node, and were not known before.
    pub kept: usize,
    /// Sessions that are this node's since now. What waits for a turn there is to be read from the
    /// inbox, because it may be more than has come.
    pub claimed: Vec<SessionId>,
    /// Whether some wait for a turn on another node, or on whichever has time.
    pub is_for_others: bool,
    /// What to tell strangers.
    pub replies: Vec<StoredReply>,
}

/// An update that was persisted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The channel's own id.
    pub update_id: i64,
    /// As received.
    pub raw: String,
}

/// An update that waits for a turn, as the order of work sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedUpdate {
    /// The channel's own id.
    pub update_id: i64,
    /// The album that it is part of.
    pub album: Option<String>,
}

/// Which updates a turn takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdateClaim {
    /// This one.
    Update(i64),
    /// Every part of this album that no turn has answered.
    Album(String),
}

/// A turn and the updates that it answers: the same ones whenever it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundTurn {
    /// `<channel>-<id of its first update>`.
    pub turn: TurnId,
    /// In the order of arrival; never empty.
    pub updates: Vec<Update>,
    /// Whether an earlier turn has had a part of the same album.
    pub standing: AlbumStanding,
}

/// A part of an album.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlbumPart {
    /// The update that brought it.
    pub update: Update,
    /// The turn that answered it, or answers it now.
    pub turn: Option<TurnId>,
    /// When it came, in milliseconds since 1970 UTC.
    pub received_at: i64,
}

/// Where a turn stands among the turns of one album.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlbumStanding {
    /// It is the first, or there is no album.
    First,
    /// The album's turn had already begun when this part came.
    Late,
}

/// A reply to be stored before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReply {
    /// Where it goes, in the channel's own words.
    pub target: String,
    /// In the order of sending.
    pub parts: Vec<NewPart>,
}

/// Something that answers no message, to be stored before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTelling {
    /// Names it for ever: stored again it is the same one.
    pub turn: TurnId,
    /// What is said, and where.
    pub reply: NewReply,
    /// Its files, whose blobs are needed until it is out.
    pub files: Vec<OutgoingAttachment>,
    /// Where it is said, where a channel notes that.
    pub place: Option<ReplyPlace>,
}

/// One message of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPart {
    /// What it is.
    pub kind: PartKind,
    /// Text; with styles, or for files a bundle of them, as JSON.
    pub body: String,
}

/// What is said in place of a part that is not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartsInstead {
    /// Goes out right behind that part.
    pub next: Option<NewPart>,
    /// Go out at the end of the reply.
    pub last: Vec<NewPart>,
}

/// What a part of a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Plain text to be read.
    Text,
    /// Text to be read, with styles.
    Rich,
    /// Text to be spoken.
    Voice,
    /// Files that go together.
    Attachment,
}

/// A stored reply with the parts that are still to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredReply {
    /// The turn that it answers.
    pub turn: TurnId,
    /// Where it goes.
    pub target: String,
    /// What is still to be sent, in order.
    pub parts: Vec<ReplyPart>,
    /// The platform's id of what was sent of it last.
    pub last_sent: Option<String>,
}

/// One message that is still to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyPart {
    /// Its place in the reply, from 0, counting what is sent already.
    pub n: u32,
    /// What it is.
    pub kind: PartKind,
    /// Text; with styles, or for files a bundle of them, as JSON.
    pub body: String,
}

/// The files of a person's most recent message that has any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentFiles {
    /// The album that they are, in the channel's own words: a later part belongs to it.
    pub album: Option<String>,
    /// References to them, in the channel's own words; the channel bounds them.
    pub files: String,
}

/// Files to be noted as somebody's most recent ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecent {
    /// The conversation, in the channel's own words: turns of one conversation run one after the
    /// other.
    pub conversation: String,
    /// The channel's immutable id of the sender.
    pub sender: String,
    /// What is noted.
    pub recent: RecentFiles,
}

/// The message that stands for the answer of a turn that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// It was about to be sent; whether it was, nobody knows.
    Unknown,
    /// It is there, under the platform's id.
    Sent(String),
}

words! { PartKind, "a part of kind {:?}":
    Text = "text" Rich = "rich" Voice = "voice" Attachment = "attachment"
}
