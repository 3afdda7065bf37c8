//! Conversations in the database.

use super::{EntryExtras, History, HistoryError, KeptHistory, line};
use crate::tools::Journal;
use crate::turn::HistoryEntry;
use async_trait::async_trait;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_store::{
    AttemptRow, BlobHolder, Store, StoreError, TakeUpRequest, TakeUpResult, UsedToday, WhoseTurn, now_ms,
};
use std::sync::Arc;

#[async_trait]
impl History for Store {
    fn journal(&self) -> Option<Arc<dyn Journal>> {
        Some(self.clone())
    }

    async fn load(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<KeptHistory>, HistoryError> {
        let lines = (**self).lines(session, turn).await?;
        lines.into_iter().map(|kept| line::read(kept.turn, &kept.body)).collect()
    }

    async fn append(
        &self,
        whose: &WhoseTurn,
        n: usize,
        entry: &HistoryEntry,
        besides: &EntryExtras,
    ) -> Result<(), HistoryError> {
        Ok((**self).add_line(whose, n, line::to_row(entry, besides, &whose.caller), besides.tokens).await?)
    }

    async fn take_up(
        &self,
        whose: &WhoseTurn,
        n: usize,
        entry: &HistoryEntry,
        taking: &TakeUpRequest,
    ) -> Result<TakeUpResult, HistoryError> {
        let body = line::to_row(entry, &EntryExtras::default(), &whose.caller);
        Ok((**self).take_up(whose, n, body, taking).await?)
    }

    async fn summarize(
        &self,
        whose: &WhoseTurn,
        kept_from: &TurnId,
        summary: &HistoryEntry,
        tokens: u64,
    ) -> Result<(), HistoryError> {
        let body = line::to_row(summary, &EntryExtras::default(), &whose.caller);
        Ok((**self).replace_lines(whose, kept_from, body, tokens).await?)
    }

    async fn forget(&self, session: &SessionId) -> Result<(), HistoryError> {
        Ok((**self).forget_lines(session).await?)
    }

    async fn hold(&self, holder: &BlobHolder, files: &[OutgoingAttachment]) -> Result<(), HistoryError> {
        Ok((**self).hold(holder, files).await?)
    }

    async fn let_go(&self, holder: &BlobHolder) -> Result<(), HistoryError> {
        Ok((**self).let_go(holder).await?)
    }

    async fn files_handed_over(&self, turn: &TurnId) -> Result<Vec<OutgoingAttachment>, HistoryError> {
        Ok((**self).files_handed_over(turn).await?)
    }

    async fn load_attempt(&self, turn: &TurnId) -> Result<Option<AttemptRow>, HistoryError> {
        Ok((**self).load_attempt(turn).await?)
    }

    async fn spend(&self, whose: &WhoseTurn, tokens: u64) -> Result<(), HistoryError> {
        Ok((**self).spend(whose, tokens).await?)
    }

    async fn load_usage(&self, caller: &Caller) -> Result<UsedToday, HistoryError> {
        Ok((**self).load_usage(caller, now_ms()).await?)
    }
}

impl From<StoreError> for HistoryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt(_) | StoreError::Newer { .. } => Self::Unreadable(error.to_string()),
            _ => Self::Store(error.to_string()),
        }
    }
}
