//! What every storage engine owes. `store::tests::conformance` holds an
//! engine to it.
//!
//! For all of it: what a method reports as done is there after a crash, and is done as a whole or
//! not at all. Of many who claim, decide or take up the same thing at once, one does. Text given is
//! text had back, to the byte.
//!
//! A crash of the program costs nothing that was reported. A loss of power may cost what rides: the
//! latest of it, never what came before something that is there. What rides says so; it is settled
//! before anybody outside sees an effect of it, and everything else is settled when it is reported.

mod runs;
mod turn_runs;
mod voices;
mod waits;

pub use runs::RunStore;
pub use turn_runs::TurnRunStore;
pub use voices::VoiceStore;
pub use waits::WaitStore;

use super::{
    AlbumPart, ApprovalRow, ApprovalState, ApprovedPaths, AttemptRow, BlobHolder, BoundTurn, HistoryLine,
    NewApproval, NewPart, NewRecent, NewReply, NewTelling, NewUpdate, PersistResult, Placeholder,
    QueuedUpdate, RecentFiles, ReplyPart, ReplyPlace, SteerUpdate, StoreError, StoredReply, Stream,
    StreamPosition, TakeUpRequest, TakeUpResult, Update, UpdateClaim, UsedToday, WhoseTurn,
};
use async_trait::async_trait;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::journal::Journal;
use cofferdam_core::message::OutgoingAttachment;
use std::collections::BTreeSet;

/// A storage engine.
#[async_trait]
pub trait Storage:
    ApprovalStore
    + AttemptStore
    + BacklogStore
    + BlobRefStore
    + DeliveryStore
    + InboxStore
    + Journal
    + HistoryStore
    + MoveStore
    + PlaceholderStore
    + RecentStore
    + ReplyStore
    + RunStore
    + SteerStore
    + StreamStore
    + TurnRunStore
    + UsageStore
    + VoiceStore
    + WaitStore
{
    /// Forgets what is done and older or more than the limits; `now` in milliseconds since 1970
    /// UTC. What waits for a turn, or to be sent, stays; so does what a turn that has not ended has
    /// said, done and been given. Returns how many updates went.
    async fn prune(&self, now: i64) -> Result<usize, StoreError>;

    /// Returns when everything that was reported before outlasts a loss of power as well.
    async fn settle(&self) -> Result<(), StoreError>;

    /// Whether it can be written now. Blocks.
    fn check(&self) -> Result<(), StoreError>;
}

/// Messages on their way to a turn. They keep their order of arrival; each is known once, by its
/// channel and id.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// Keeps a batch, all or nothing. An update that is known already changes nothing. One that
    /// steers is addressed to the first message of its session that is not done, if that is the
    /// same sender's. An edit changes what its message says as long as that waits for a turn, and
    /// one that is deleted meanwhile waits no longer. A stranger is told again only of what is
    /// newer than the last telling. Rides.
    async fn persist(&self, channel: &str, updates: Vec<NewUpdate>) -> Result<PersistResult, StoreError>;

    /// Up to `limit` updates that wait for a turn, in order; `after` is the last one of the page
    /// before.
    async fn pending(&self, channel: &str, after: Option<i64>, limit: u32)
    -> Result<Vec<Update>, StoreError>;

    /// Binds updates to a turn of their own, named after the first; `None` when there is nothing
    /// left to answer. Rides.
    async fn claim(&self, channel: &str, claim: UpdateClaim) -> Result<Option<BoundTurn>, StoreError>;

    /// Turns that were bound and have not ended, oldest first, each with the members that it was
    /// bound with.
    async fn bound(&self, channel: &str) -> Result<Vec<BoundTurn>, StoreError>;

    /// The parts of an album that are still known, in order.
    async fn album(&self, channel: &str, album: &str) -> Result<Vec<AlbumPart>, StoreError>;

    /// How often a stranger was told, as far as it is remembered; at most
    /// [`STRANGER_TOLD_MAX`](super::STRANGER_TOLD_MAX).
    async fn count_told(&self, channel: &str, sender: &str) -> Result<u32, StoreError>;

    /// Ends a turn that nobody waits for: its updates are done and free of it.
    async fn dismiss(&self, turn: &TurnId) -> Result<(), StoreError>;
}

/// Replies between the end of a turn and the platform's acknowledgement of their last part.
#[async_trait]
pub trait ReplyStore: Send + Sync {
    /// [`ReplyStore::end_noting`] without files.
    async fn end(&self, channel: &str, turn: &TurnId, reply: NewReply) -> Result<StoredReply, StoreError> {
        self.end_noting(channel, turn, reply, None).await
    }

    /// Ends a turn: its updates are done, its reply is kept, and the files of its message are noted
    /// as the sender's most recent ones. Ending it again changes nothing and returns what is left
    /// of the first reply. Rides.
    async fn end_noting(
        &self,
        channel: &str,
        turn: &TurnId,
        reply: NewReply,
        files: Option<NewRecent>,
    ) -> Result<StoredReply, StoreError>;

    /// [`ReplyStore::tell_noting`] without files, where no place is noted.
    async fn tell(
        &self,
        channel: &str,
        turn: &TurnId,
        reply: NewReply,
    ) -> Result<Option<StoredReply>, StoreError> {
        let telling = NewTelling { turn: turn.clone(), reply, files: Vec::new(), place: None };
        self.tell_noting(channel, telling).await
    }

    /// Stores something that answers no message, once for each turn that it names; `None` when it
    /// was stored before. Its files are held with it, and its place is noted.
    async fn tell_noting(
        &self,
        channel: &str,
        telling: NewTelling,
    ) -> Result<Option<StoredReply>, StoreError>;

    /// Replies of which something is still to be sent, oldest first, each with the parts that are
    /// left, in order.
    async fn load_unsent(&self, channel: &str) -> Result<Vec<StoredReply>, StoreError>;

    /// Marks a part as sent, with the platform's id of the message; what it said is forgotten.
    /// Rides.
    async fn mark_part_sent(&self, turn: &TurnId, n: u32, message: &str) -> Result<(), StoreError>;

    /// Marks a part as failed for good; `instead` is added at the end of the reply and returned.
    async fn mark_part_failed(
        &self,
        turn: &TurnId,
        n: u32,
        reason: &str,
        instead: Vec<NewPart>,
    ) -> Result<Vec<ReplyPart>, StoreError>;
}

/// Which calls wait for a person, and what was decided.
#[async_trait]
pub trait ApprovalStore: Send + Sync {
    /// The approval of exactly this call, the first that was asked for; what else was asked about
    /// it is withdrawn and returned.
    async fn ask(&self, new: NewApproval) -> Result<(ApprovalRow, Vec<ApprovalRow>), StoreError>;

    /// Notes the platform's id of the message that shows it.
    async fn mark_approval_shown(&self, id: &str, message: &str) -> Result<(), StoreError>;

    /// The approval of this id.
    async fn approval(&self, id: &str) -> Result<Option<ApprovalRow>, StoreError>;

    /// Decides one that nobody has decided, in time, and returns how it stands then.
    async fn decide(
        &self,
        id: &str,
        state: ApprovalState,
        by: Option<String>,
    ) -> Result<Option<ApprovalRow>, StoreError>;

    /// Approvals of a channel that are over, and whose message may still show choices, oldest
    /// first; at most [`OPEN_CHOICES_MAX`](super::OPEN_CHOICES_MAX). Those of runs that have ended
    /// are withdrawn first: nobody waits for them any more.
    async fn open_choices(&self, channel: &str) -> Result<Vec<ApprovalRow>, StoreError>;

    /// Notes that the message of an approval shows no choices any more.
    async fn mark_choices_gone(&self, id: &str) -> Result<(), StoreError>;

    /// Remembers paths as approved.
    async fn remember_paths(&self, of: ApprovedPaths, paths: Vec<String>) -> Result<(), StoreError>;

    /// Those of the paths that are remembered. May block.
    fn approved_paths(&self, of: &ApprovedPaths, paths: &[String]) -> Result<Vec<String>, StoreError>;
}

/// What was said in each session.
#[async_trait]
pub trait HistoryStore: Send + Sync {
    /// The latest lines of a session, oldest first; all of those of `turn`.
    async fn lines(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<HistoryLine>, StoreError>;

    /// Adds line `n` of a turn and charges for it; a line that is there stays, and costs nothing.
    /// Rides.
    async fn add_line(
        &self,
        whose: &WhoseTurn,
        n: usize,
        body: String,
        tokens: u64,
    ) -> Result<(), StoreError>;

    /// Puts one line in the place of all before the first one of `kept_from`, and charges for it;
    /// without a line of that nothing changes.
    async fn replace_lines(
        &self,
        whose: &WhoseTurn,
        kept_from: &TurnId,
        body: String,
        tokens: u64,
    ) -> Result<(), StoreError>;

    /// Forgets everything that was said in a session.
    async fn forget_lines(&self, session: &SessionId) -> Result<(), StoreError>;
}

/// What waits for a turn, session by session.
#[async_trait]
pub trait BacklogStore: Send + Sync {
    /// Up to `limit` sessions of which an update waits for a turn, by the oldest one of each.
    async fn sessions(&self, channel: &str, limit: u32) -> Result<Vec<SessionId>, StoreError>;

    /// Up to `limit` updates of a session that wait for a turn, in order.
    async fn load_waiting(
        &self,
        channel: &str,
        session: &SessionId,
        limit: u32,
    ) -> Result<Vec<QueuedUpdate>, StoreError>;

    /// How many messages of a session wait for a turn, an album being one; `besides` is not
    /// counted.
    async fn count_waiting(
        &self,
        channel: &str,
        session: &SessionId,
        besides: Option<i64>,
    ) -> Result<usize, StoreError>;
}

/// What is said to turns that run.
#[async_trait]
pub trait SteerStore: Send + Sync {
    /// What waits to be said to a turn, in order.
    async fn load_steers(&self, channel: &str, turn: &TurnId) -> Result<Vec<SteerUpdate>, StoreError>;

    /// What a turn has taken up, in that order; the updates of one message together.
    async fn load_taken_up(&self, channel: &str, turn: &TurnId) -> Result<Vec<Vec<Update>>, StoreError>;

    /// Takes updates up into a turn as its line `n`: both, or neither when one of them is another
    /// turn's.
    async fn take_up(
        &self,
        whose: &WhoseTurn,
        n: usize,
        body: String,
        taking: &TakeUpRequest,
    ) -> Result<TakeUpResult, StoreError>;
}

/// How often turns were begun, and what that cost.
#[async_trait]
pub trait AttemptStore: Send + Sync {
    /// Counts that a turn is about to run; how often it was so, this time included. Its end forgets
    /// it. Rides.
    async fn attempt(&self, turn: &TurnId, caller: &Caller) -> Result<u32, StoreError>;

    /// Takes the last attempt back. Rides.
    async fn withdraw_attempt(&self, turn: &TurnId) -> Result<(), StoreError>;

    /// What a turn has behind it besides its lines; `None` where no attempt of it is counted.
    async fn load_attempt(&self, turn: &TurnId) -> Result<Option<AttemptRow>, StoreError>;

    /// Charges tokens that a turn has cost without a line to show for them. Rides.
    async fn spend(&self, whose: &WhoseTurn, tokens: u64) -> Result<(), StoreError>;
}

/// Conversations that go on elsewhere.
#[async_trait]
pub trait MoveStore: Send + Sync {
    /// Remembers that what was in `place` goes on elsewhere, both in the channel's own words.
    async fn note_move(&self, channel: &str, place: String, goes_on: String) -> Result<(), StoreError>;

    /// Where conversations were, and where they are, in the order of noting.
    async fn load_moves(&self, channel: &str) -> Result<Vec<(String, String)>, StoreError>;
}

/// Streams of events that go on after a break.
#[async_trait]
pub trait StreamStore: Send + Sync {
    /// [`InboxStore::persist`], and with it how far the stream is read, and places where somebody
    /// was answered. A position of another stream than the one that was begun last, or before one
    /// that is known, changes nothing. Rides.
    async fn persist_at(
        &self,
        channel: &str,
        updates: Vec<NewUpdate>,
        position: StreamPosition,
        places: Vec<ReplyPlace>,
    ) -> Result<PersistResult, StoreError>;

    /// The stream that was begun last.
    async fn stream(&self, channel: &str) -> Result<Option<Stream>, StoreError>;

    /// Notes that another stream begins: what was said before it may have to be asked for.
    async fn begin_stream(&self, channel: &str, position: StreamPosition) -> Result<(), StoreError>;

    /// Notes how far the stream is read, as [`StreamStore::persist_at`] does.
    async fn advance_stream(&self, channel: &str, position: StreamPosition) -> Result<(), StoreError>;

    /// Where people were answered, the latest first. What is known of a place stays while something
    /// that was said before the stream began may have to be asked for.
    async fn places(&self, channel: &str) -> Result<Vec<ReplyPlace>, StoreError>;

    /// Notes that all was asked for that was said before this stream began, up to these.
    async fn mark_caught_up(
        &self,
        channel: &str,
        session: &str,
        places: Vec<ReplyPlace>,
    ) -> Result<(), StoreError>;
}

/// The messages that stand for answers of turns that run.
#[async_trait]
pub trait PlaceholderStore: Send + Sync {
    /// The placeholder of a turn that has not ended.
    async fn placeholder(&self, turn: &TurnId) -> Result<Option<Placeholder>, StoreError>;

    /// Notes that it is about to be sent, unless it is noted.
    async fn mark_placeholder_begun(&self, turn: &TurnId) -> Result<(), StoreError>;

    /// Notes the platform's id of it.
    async fn mark_placeholder_sent(&self, turn: &TurnId, message: &str) -> Result<(), StoreError>;
}

/// Which files people sent last.
#[async_trait]
pub trait RecentStore: Send + Sync {
    /// The files that a sender sent last in a conversation.
    async fn recent(
        &self,
        channel: &str,
        conversation: &str,
        sender: &str,
    ) -> Result<Option<RecentFiles>, StoreError>;
}

/// What calls of one request have handed to another.
#[async_trait]
pub trait DeliveryStore: Send + Sync {
    /// The files that calls of other requests have handed to this one, in order.
    async fn files_handed_over(&self, request: &TurnId) -> Result<Vec<OutgoingAttachment>, StoreError>;
}

/// Who still needs the blobs of replies.
#[async_trait]
pub trait BlobRefStore: Send + Sync {
    /// Notes that the holder needs these blobs, besides what it needs already.
    async fn hold(&self, holder: &BlobHolder, files: &[OutgoingAttachment]) -> Result<(), StoreError>;

    /// Notes that the holder needs none any more.
    async fn let_go(&self, holder: &BlobHolder) -> Result<(), StoreError>;

    /// The SHA-256 of every blob that a holder or a kept reply still needs. May block.
    fn blobs_in_use(&self) -> Result<BTreeSet<String>, StoreError>;
}

/// What each person has used.
#[async_trait]
pub trait UsageStore: Send + Sync {
    /// What a caller has used on the day (of UTC) of `now`, in milliseconds since 1970 UTC.
    async fn load_usage(&self, caller: &Caller, now: i64) -> Result<UsedToday, StoreError>;
}
