//! Conversations in the store: what was said, never the bytes of an attachment, and never what a
//! provider was told of attachments in an earlier turn.

mod line;
mod mend;

pub(super) use mend::{mend, not_run_result};

use super::HistoryEntry;
use crate::tools::Journal;
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::id::{CallId, Caller, SessionId, TurnId};
use cofferdam_core::limits::ByteSize;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_store::{
    AttemptRow, HistoryLine, Store, StoreError, TakeUpRequest, TurnBeginning, UsedToday, WhoseTurn, now_ms,
};
use std::sync::Arc;

/// Keeps the conversations of sessions. Turns of one session follow one another.
#[derive(Clone)]
pub struct History {
    /// Where they are.
    pub(super) store: Store,
    is_replayed: bool,
    #[cfg(test)]
    pub(super) crash: Arc<super::tests::CrashPoint>,
}

impl History {
    /// Conversations whose turns go on after a crash.
    pub fn durable(store: Store) -> Self {
        Self::new(store, true)
    }

    /// Conversations whose turns end with the program: no call of theirs is remembered.
    pub fn transient(store: Store) -> Self {
        Self::new(store, false)
    }

    fn new(store: Store, is_replayed: bool) -> Self {
        Self {
            store,
            is_replayed,
            #[cfg(test)]
            crash: Arc::default(),
        }
    }

    /// Where the side-effecting calls of a turn are remembered, whose person may write so much in a
    /// day; absent where no turn is replayed.
    pub(super) fn journal(&self, day: ByteSize) -> Option<Arc<dyn Journal>> {
        self.is_replayed.then(|| Arc::new(self.store.with_day_budget(day)) as Arc<dyn Journal>)
    }

    /// What was said in a session, oldest first: the latest of earlier turns, all of `turn`.
    pub(super) async fn load(
        &self,
        session: &SessionId,
        turn: &TurnId,
    ) -> Result<Vec<KeptHistory>, HistoryError> {
        parse_lines(self.store.lines(session, turn).await?)
    }

    /// The same for a turn that begins, and what else it begins with.
    pub(super) async fn load_turn_beginning(
        &self,
        whose: &WhoseTurn,
    ) -> Result<(Vec<KeptHistory>, TurnBeginning), HistoryError> {
        let mut beginning = self.store.load_turn_beginning(whose).await?;
        #[cfg(test)]
        {
            beginning.begun = beginning.begun.map(|begun| self.crash.age(&whose.turn, begun));
        }
        Ok((parse_lines(std::mem::take(&mut beginning.lines))?, beginning))
    }

    /// Keeps entry `n` of a turn, counted from 0, and charges its tokens to its caller. Durable
    /// when it returns, where turns are; an entry that is there already stays, and costs nothing.
    /// With an answer nothing is held for a retry any more.
    ///
    /// # Errors
    /// [`HistoryError`]; then nothing must follow from the entry.
    pub(super) async fn append(
        &self,
        whose: &WhoseTurn,
        n: usize,
        entry: &HistoryEntry,
        besides: &EntryExtras,
    ) -> Result<(), HistoryError> {
        #[cfg(test)]
        self.crash.before_entry().await;
        let row = line::to_row(entry, besides, &whose.caller);
        match entry.answer() {
            Some(_) => self.store.add_answer(whose, n, row, besides.tokens).await?,
            None => self.store.add_line(whose, n, row, besides.tokens).await?,
        }
        #[cfg(test)]
        self.crash.after_entry().await;
        Ok(())
    }

    /// Keeps what a turn takes up as its entry `n`, and in the same step makes it the turn's: what
    /// waited is never said twice and never lost.
    ///
    /// # Errors
    /// [`HistoryError`]; then it still waits.
    pub(super) async fn take_up(
        &self,
        whose: &WhoseTurn,
        n: usize,
        entry: &HistoryEntry,
        taking: &TakeUpRequest,
    ) -> Result<bool, HistoryError> {
        let body = line::to_row(entry, &EntryExtras::default(), &whose.caller);
        #[cfg(test)]
        self.crash.before_entry().await;
        let taken = self.store.take_up(whose, n, body, taking).await?;
        #[cfg(test)]
        self.crash.after_entry().await;
        Ok(taken)
    }

    /// Puts a summary in the place of everything before the first entry of `kept_from`.
    ///
    /// # Errors
    /// [`HistoryError`]; then nothing has changed.
    pub(super) async fn summarize(
        &self,
        whose: &WhoseTurn,
        kept_from: &TurnId,
        summary: &HistoryEntry,
        tokens: u64,
    ) -> Result<(), HistoryError> {
        let body = line::to_row(summary, &EntryExtras::default(), &whose.caller);
        Ok(self.store.replace_lines(whose, kept_from, body, tokens).await?)
    }

    /// What a turn has behind it besides its entries; `None` where no turn runs again.
    pub(super) async fn load_attempt(&self, turn: &TurnId) -> Result<Option<AttemptRow>, HistoryError> {
        let begun = self.store.load_attempt(turn).await?;
        #[cfg(test)]
        let begun = begun.map(|begun| self.crash.age(turn, begun));
        Ok(begun)
    }

    /// What a caller has used today.
    pub(super) async fn load_usage(&self, caller: &Caller) -> Result<UsedToday, HistoryError> {
        Ok(self.store.load_usage(caller, now_ms()).await?)
    }

    /// Whether an earlier run of this very call has recorded its answer.
    pub(super) async fn is_call_recorded(
        &self,
        call: &CallId,
        arguments: &str,
    ) -> Result<bool, HistoryError> {
        Ok(self.store.is_call_recorded(call, &sha256_hex(arguments.as_bytes())).await?)
    }
}

fn parse_lines(lines: Vec<HistoryLine>) -> Result<Vec<KeptHistory>, HistoryError> {
    lines.into_iter().map(|kept| line::read(kept.turn, &kept.body)).collect()
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

impl From<StoreError> for HistoryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt(_) | StoreError::Newer { .. } => Self::Unreadable(error.to_string()),
            _ => Self::Store(error.for_people()),
        }
    }
}
