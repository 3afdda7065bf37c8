//! The seam behind which conversations are kept: what was said, never the bytes of an attachment,
//! and never what a provider was told of attachments in an earlier turn.

mod durable;
mod line;
mod memory;
mod mend;

pub use memory::InMemory;
pub(super) use mend::{mend, not_run_result};

use super::HistoryEntry;
use crate::tools::Journal;
use async_trait::async_trait;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_store::{AttemptRow, BlobHolder, TakeUpRequest, TakeUpResult, UsedToday, WhoseTurn};
use std::sync::Arc;

/// Keeps the conversations of sessions. Turns of one session follow one another.
#[async_trait]
pub trait History: Send + Sync {
    /// Where the side-effecting calls of a turn are remembered; absent where no turn is replayed.
    fn journal(&self) -> Option<Arc<dyn Journal>>;

    /// What was said in a session, oldest first: the latest of earlier turns, all of `turn`.
    ///
    /// # Errors
    /// [`HistoryError`].
    async fn load(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<KeptHistory>, HistoryError>;

    /// Keeps entry `n` of a turn, counted from 0, and charges its tokens to its caller. Durable
    /// when it returns, where turns are; an entry that is there already stays, and costs nothing.
    ///
    /// # Errors
    /// [`HistoryError`]; then nothing must follow from the entry.
    async fn append(
        &self,
        whose: &WhoseTurn,
        n: usize,
        entry: &HistoryEntry,
        besides: &EntryExtras,
    ) -> Result<(), HistoryError>;

    /// Keeps what a turn takes up as its entry `n`, and in the same step makes it the turn's: what
    /// waited is never said twice and never lost.
    ///
    /// # Errors
    /// [`HistoryError`]; then it still waits.
    async fn take_up(
        &self,
        whose: &WhoseTurn,
        n: usize,
        entry: &HistoryEntry,
        taking: &TakeUpRequest,
    ) -> Result<TakeUpResult, HistoryError>;

    /// Puts a summary in the place of everything before the first entry of `kept_from`.
    ///
    /// # Errors
    /// [`HistoryError`]; then nothing has changed.
    async fn summarize(
        &self,
        whose: &WhoseTurn,
        kept_from: &TurnId,
        summary: &HistoryEntry,
        tokens: u64,
    ) -> Result<(), HistoryError>;

    /// Forgets a session.
    ///
    /// # Errors
    /// [`HistoryError`]; then nothing is forgotten.
    async fn forget(&self, session: &SessionId) -> Result<(), HistoryError>;

    /// Has the files of a reply stay, for the turn that sends them or for a retry.
    ///
    /// # Errors
    /// [`HistoryError`]; then they may be gone by then.
    async fn hold(&self, holder: &BlobHolder, files: &[OutgoingAttachment]) -> Result<(), HistoryError>;

    /// Nobody needs what the holder needed.
    ///
    /// # Errors
    /// [`HistoryError`]; then it stays for a while.
    async fn let_go(&self, holder: &BlobHolder) -> Result<(), HistoryError>;

    /// The files that calls of other requests have handed to this turn, in order.
    ///
    /// # Errors
    /// [`HistoryError`].
    async fn files_handed_over(&self, turn: &TurnId) -> Result<Vec<OutgoingAttachment>, HistoryError>;

    /// What a turn has behind it besides its entries; `None` where no turn runs again.
    ///
    /// # Errors
    /// [`HistoryError`].
    async fn load_attempt(&self, turn: &TurnId) -> Result<Option<AttemptRow>, HistoryError>;

    /// Charges tokens that a turn has cost without an entry to show for them.
    ///
    /// # Errors
    /// [`HistoryError`]; then they are not charged.
    async fn spend(&self, whose: &WhoseTurn, tokens: u64) -> Result<(), HistoryError>;

    /// What a caller has used today.
    ///
    /// # Errors
    /// [`HistoryError`].
    async fn load_usage(&self, caller: &Caller) -> Result<UsedToday, HistoryError>;
}

/// An entry as it comes back.
#[derive(Clone, Debug)]
pub struct KeptHistory {
    /// The turn that said it.
    pub turn: TurnId,
    /// The entry; attachments without their bytes, calls' results as they were shown.
    pub entry: HistoryEntry,
    /// What it brought besides.
    pub besides: EntryExtras,
    /// Who asked, where it is a request and that was kept.
    pub asker: Option<Caller>,
}

/// What an entry brings besides what is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryExtras {
    /// Tokens that it cost.
    pub tokens: u64,
    /// Files that it adds to the reply.
    pub files: Vec<OutgoingAttachment>,
    /// Calls that the provider asked for in it beyond what a step may have.
    pub left_out: usize,
}

/// Why a conversation cannot be kept or had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The store fails; it may work again, as when there is room on the disk.
    #[error("the conversation cannot be kept: {0}")]
    Store(String),
    /// What was kept is nothing that any release writes.
    #[error("the conversation cannot be read: {0}")]
    Unreadable(String),
}
