//! Conversations for as long as the program runs: for the terminal, which shares no database with
//! `serve`.

use super::{EntryExtras, History, HistoryError, KeptHistory, line};
use crate::tools::Journal;
use crate::turn::HistoryEntry;
use async_trait::async_trait;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_store::{AttemptRow, BlobHolder, TakeUpRequest, TakeUpResult, UsedToday, WhoseTurn};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keeps conversations in memory, in the same form as the database has them. They grow no longer
/// than a summary and what follows it; bytes that calls write are not counted.
#[derive(Debug, Default)]
pub struct InMemory(Mutex<HeldHistory>);

#[derive(Debug, Default)]
struct HeldHistory {
    lines: HashMap<SessionId, Vec<(TurnId, String)>>,
    tokens: HashMap<Caller, u64>,
}

impl InMemory {
    fn lock(&self) -> MutexGuard<'_, HeldHistory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldHistory {
    fn charge(&mut self, caller: &Caller, tokens: u64) {
        *self.tokens.entry(caller.clone()).or_default() += tokens;
    }
}

#[async_trait]
impl History for InMemory {
    fn journal(&self) -> Option<Arc<dyn Journal>> {
        None
    }

    async fn load(&self, session: &SessionId, _: &TurnId) -> Result<Vec<KeptHistory>, HistoryError> {
        let held = self.lock();
        let lines = held.lines.get(session).into_iter().flatten();
        lines.map(|(turn, body)| line::read(turn.clone(), body)).collect()
    }

    async fn append(
        &self,
        whose: &WhoseTurn,
        n: usize,
        entry: &HistoryEntry,
        besides: &EntryExtras,
    ) -> Result<(), HistoryError> {
        let mut held = self.lock();
        let lines = held.lines.entry(whose.session.clone()).or_default();
        if lines.iter().filter(|(turn, _)| *turn == whose.turn).count() == n {
            lines.push((whose.turn.clone(), line::to_row(entry, besides, &whose.caller)));
            held.charge(&whose.caller, besides.tokens);
        }
        Ok(())
    }

    /// Nothing waits where nothing is kept: the caller who offers it has it in hand.
    async fn take_up(
        &self,
        whose: &WhoseTurn,
        n: usize,
        entry: &HistoryEntry,
        _: &TakeUpRequest,
    ) -> Result<TakeUpResult, HistoryError> {
        self.append(whose, n, entry, &EntryExtras::default()).await.map(|()| TakeUpResult::Yes)
    }

    async fn summarize(
        &self,
        whose: &WhoseTurn,
        kept_from: &TurnId,
        summary: &HistoryEntry,
        tokens: u64,
    ) -> Result<(), HistoryError> {
        let mut held = self.lock();
        let lines = held.lines.entry(whose.session.clone()).or_default();
        if let Some(first) = lines.iter().position(|(turn, _)| turn == kept_from) {
            let place = TurnId::new(format!("{}#", whose.session));
            lines.splice(..first, [(place, line::to_row(summary, &EntryExtras::default(), &whose.caller))]);
            held.charge(&whose.caller, tokens);
        }
        Ok(())
    }

    async fn forget(&self, session: &SessionId) -> Result<(), HistoryError> {
        self.lock().lines.remove(session);
        Ok(())
    }

    /// Files are shown here when they are added, and not sent.
    async fn hold(&self, _: &BlobHolder, _: &[OutgoingAttachment]) -> Result<(), HistoryError> {
        Ok(())
    }

    async fn let_go(&self, _: &BlobHolder) -> Result<(), HistoryError> {
        Ok(())
    }

    /// Nobody else's calls run here.
    async fn files_handed_over(&self, _: &TurnId) -> Result<Vec<OutgoingAttachment>, HistoryError> {
        Ok(Vec::new())
    }

    async fn load_attempt(&self, _: &TurnId) -> Result<Option<AttemptRow>, HistoryError> {
        Ok(None)
    }

    async fn spend(&self, whose: &WhoseTurn, tokens: u64) -> Result<(), HistoryError> {
        self.lock().charge(&whose.caller, tokens);
        Ok(())
    }

    async fn load_usage(&self, caller: &Caller) -> Result<UsedToday, HistoryError> {
        let tokens = self.lock().tokens.get(caller).copied().unwrap_or(0);
        Ok(UsedToday { tokens, written_bytes: 0 })
    }
}
