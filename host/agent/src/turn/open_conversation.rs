//! The conversation of one turn as it grows. An entry is kept before anything follows from it, so
//! that a turn that runs again finds how far it came: which step was decided, which calls have
//! their result.

use super::history::{EntryExtras, History, HistoryError, KeptHistory};
use super::instructions::UNSHOWABLE;
use super::{HistoryEntry, ToolCall};
use cofferdam_core::attachment::addendum as told_of;
use cofferdam_core::id::TurnId;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_store::{AttemptRow, BlobHolder, TakeUpRequest, UsedToday, WhoseTurn, now_ms};
use cofferdam_warden::attachments::Attachments;
use std::time::Duration;

/// A conversation, the request in it that is to be answered, and where it is kept.
pub(super) struct OpenConversation {
    /// What was said, earlier turns first.
    pub(super) entries: Vec<HistoryEntry>,
    /// The turn of each entry.
    turns: Vec<TurnId>,
    /// Where the request stands: an [`HistoryEntry::User`].
    pub(super) start: usize,
    /// The turn that answers it.
    turn: TurnId,
    /// Tokens that the turn has cost.
    pub(super) tokens: u64,
    /// Calls beyond what a step may have, of the last one.
    pub(super) left_out: usize,
    /// Files that calls have added to the reply to the request.
    files: Vec<OutgoingAttachment>,
    /// Absent where no turn is kept.
    keeping: Option<HistoryPlace>,
    /// Where its tokens are charged, and to whom, though it is not kept.
    charged: Option<HistoryPlace>,
}

/// Where a conversation is kept, and for whom.
pub(super) struct HistoryPlace {
    pub(super) history: History,
    pub(super) whose: WhoseTurn,
    /// What the turn has behind it, where it runs again.
    pub(super) begun: Option<AttemptRow>,
    /// What its caller had used today when it began, until that is asked.
    pub(super) used: Option<UsedToday>,
    /// Whether files may have been handed over to it before.
    pub(super) may_have_files: bool,
}

impl OpenConversation {
    /// A turn that stands alone and is kept nowhere; each step is charged when it is taken, where
    /// there is a place for that.
    pub(super) fn new_unkept(turn: TurnId, request: HistoryEntry, charged: Option<HistoryPlace>) -> Self {
        let (entries, turns, files, keeping) = (vec![request], vec![turn.clone()], Vec::new(), None);
        Self { entries, turns, start: 0, turn, tokens: 0, left_out: 0, files, keeping, charged }
    }

    /// What was kept, with its last request as the one that is to be answered. It may have been
    /// answered.
    ///
    /// `None` when nobody has asked for anything.
    pub(super) fn resume(keeping: HistoryPlace, kept: Vec<KeptHistory>) -> Option<Self> {
        let turn = keeping.whose.turn.clone();
        let start = kept.iter().rposition(|kept| matches!(kept.entry, HistoryEntry::User { .. }))?;
        let own = kept.iter().filter(|kept| kept.turn == turn);
        let spent = keeping.begun.map_or(0, |begun| begun.spent);
        let tokens = own.map(|kept| kept.besides.tokens).fold(spent, u64::saturating_add);
        let mut steps = kept.iter().rev().filter(|kept| matches!(kept.entry, HistoryEntry::Assistant { .. }));
        let left_out = steps.next().map_or(0, |kept| kept.besides.left_out);
        let files = kept[start..].iter().flat_map(|kept| kept.besides.files.clone()).collect();
        let turns = kept.iter().map(|kept| kept.turn.clone()).collect();
        let entries = kept.into_iter().map(|kept| kept.entry).collect();
        let (keeping, charged) = (Some(keeping), None);
        Some(Self { entries, turns, start, turn, tokens, left_out, files, keeping, charged })
    }

    /// The same with a new request of the turn at the end, which is kept unless it is there
    /// already.
    pub(super) async fn begin(
        mut keeping: HistoryPlace,
        mut kept: Vec<KeptHistory>,
        mut request: HistoryEntry,
    ) -> Result<Self, HistoryError> {
        let turn = keeping.whose.turn.clone();
        match kept.iter_mut().find(|kept| kept.turn == turn) {
            // The provider is told what it was told, the time included, and the attachments have
            // their bytes again.
            Some(own) => {
                if let (HistoryEntry::User { text, .. }, HistoryEntry::User { text: kept, .. }) =
                    (&mut request, &own.entry)
                {
                    text.clone_from(kept);
                }
                own.entry = request;
                // It goes on with its calls, which may take long.
                keeping.used = None;
            }
            None => {
                let besides = EntryExtras::default();
                keeping.history.append(&keeping.whose, 0, &request, &besides).await?;
                let asker = Some(keeping.whose.caller.clone());
                kept.push(KeptHistory { turn, entry: request, besides, asker });
            }
        }
        Self::resume(keeping, kept).ok_or_else(|| HistoryError::Unreadable("the request is not in it".into()))
    }

    /// Adds an entry, once it is kept and charged.
    pub(super) async fn push(
        &mut self,
        entry: HistoryEntry,
        besides: EntryExtras,
    ) -> Result<(), HistoryError> {
        if let Some(HistoryPlace { history, whose, .. }) = &self.keeping {
            let n = self.turns.iter().filter(|turn| **turn == self.turn).count();
            history.append(whose, n, &entry, &besides).await?;
        } else {
            self.charge(besides.tokens).await?;
        }
        if matches!(entry, HistoryEntry::Assistant { .. }) {
            self.left_out = besides.left_out;
        }
        self.entries.push(entry);
        self.turns.push(self.turn.clone());
        self.tokens += besides.tokens;
        self.files.extend(besides.files);
        Ok(())
    }

    /// Adds what was said to the turn meanwhile, once it is kept and the turn's own; whether it is.
    pub(super) async fn take_up(
        &mut self,
        entry: HistoryEntry,
        taking: &TakeUpRequest,
    ) -> Result<bool, HistoryError> {
        let Some(HistoryPlace { history, whose, .. }) = &self.keeping else { return Ok(false) };
        let n = self.turns.iter().filter(|turn| **turn == self.turn).count();
        let taken = history.take_up(whose, n, &entry, taking).await?;
        if taken {
            self.entries.push(entry);
            self.turns.push(self.turn.clone());
        }
        Ok(taken)
    }

    /// Puts a summary in the place of the entries before `end`, which begins a turn.
    pub(super) async fn summarize(
        &mut self,
        end: usize,
        summary: HistoryEntry,
        tokens: u64,
    ) -> Result<(), HistoryError> {
        if let Some(HistoryPlace { history, whose, .. }) = &self.keeping {
            history.summarize(whose, &self.turns[end], &summary, tokens).await?;
        }
        self.entries.splice(..end, [summary]);
        self.turns.splice(..end, [TurnId::new("")]);
        self.start = self.start + 1 - end;
        self.tokens += tokens;
        Ok(())
    }

    /// Charges what the turn has cost without an entry to show for it.
    pub(super) async fn spend(&mut self, tokens: u64) -> Result<(), HistoryError> {
        self.charge(tokens).await?;
        self.tokens = self.tokens.saturating_add(tokens);
        Ok(())
    }

    async fn charge(&self, tokens: u64) -> Result<(), HistoryError> {
        if let Some(HistoryPlace { history, whose, .. }) = self.keeping.as_ref().or(self.charged.as_ref())
            && tokens > 0
        {
            history.store.spend(whose, tokens).await?;
        }
        Ok(())
    }

    /// What the caller had used today when the turn began, the first time that this is asked.
    pub(super) fn take_used_today(&mut self) -> Option<UsedToday> {
        self.keeping.as_mut()?.used.take()
    }

    /// What came with the request, and with each message that was added to it, in order.
    pub(super) fn attachments(&self) -> Vec<Attachments> {
        let came = |entry: &HistoryEntry| match entry {
            HistoryEntry::User { attachments, .. } | HistoryEntry::Steer { attachments, .. } => {
                Some(attachments.clone())
            }
            _ => None,
        };
        self.current().iter().filter_map(came).collect()
    }

    /// Gives the request and what was added to it their attachments back, as
    /// [`OpenConversation::attachments`] lists them; returns all of them, under one count.
    pub(super) fn attach(&mut self, found: Vec<Attachments>) -> Attachments {
        let (mut found, mut all) = (found.into_iter(), Attachments::default());
        for (attachments, addendum) in self.files_mut() {
            let own = found.next().unwrap_or_else(|| attachments.clone());
            (all, *attachments) = all.extend_with(&own);
            *addendum = told_of(&attachments.infos());
        }
        all
    }

    /// Has the provider be shown no more of what came with the request and what was added to it,
    /// and be told so; false when there is nothing to be shown. Tools have it all the same.
    pub(super) fn show_no_files(&mut self) -> bool {
        let mut changed = false;
        for (attachments, addendum) in self.files_mut() {
            if attachments.iter().any(|attachment| attachment.blob.is_some()) {
                *attachments = Attachments::default();
                *addendum = Some(format!("{}\n{UNSHOWABLE}", addendum.as_deref().unwrap_or_default()));
                changed = true;
            }
        }
        changed
    }

    /// What came with the request and with each message that was added to it, and what the provider
    /// is told of that.
    fn files_mut(&mut self) -> impl Iterator<Item = (&mut Attachments, &mut Option<String>)> {
        self.entries[self.start..].iter_mut().filter_map(|entry| match entry {
            HistoryEntry::User { attachments, addendum, .. }
            | HistoryEntry::Steer { attachments, addendum, .. } => Some((attachments, addendum)),
            _ => None,
        })
    }

    /// Messages that were added to the request.
    pub(super) fn steers(&self) -> usize {
        self.current().iter().filter(|entry| matches!(entry, HistoryEntry::Steer { .. })).count()
    }

    /// The request and everything after it.
    pub(super) fn current(&self) -> &[HistoryEntry] {
        &self.entries[self.start..]
    }

    /// The answer, if the request has one, which ends with it.
    pub(super) fn answer(&self) -> Option<&str> {
        self.entries.last()?.answer()
    }

    /// Whether the turn itself has said anything yet.
    pub(super) fn has_begun(&self) -> bool {
        self.own_entries().next().is_some()
    }

    /// Whether calls of others may have handed files over to the turn before it ran this time.
    pub(super) fn may_have_files(&self) -> bool {
        self.keeping.as_ref().is_none_or(|keeping| keeping.may_have_files)
    }

    /// The calls of the last step that have no result yet, in order.
    pub(super) fn pending(&self) -> &[ToolCall] {
        let entries = &self.entries;
        let results =
            entries.iter().rev().take_while(|entry| matches!(entry, HistoryEntry::ToolResult { .. })).count();
        match entries.iter().rev().nth(results) {
            Some(HistoryEntry::Assistant { tool_calls, .. }) => tool_calls.get(results..).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Steps that the turn has taken.
    pub(super) fn rounds(&self) -> usize {
        self.own_entries().filter(|entry| matches!(entry, HistoryEntry::Assistant { .. })).count()
    }

    /// Calls that the turn has asked for, those without a result included.
    pub(super) fn calls(&self) -> usize {
        let asked = |entry: &HistoryEntry| match entry {
            HistoryEntry::Assistant { tool_calls, .. } => tool_calls.len(),
            _ => 0,
        };
        self.own_entries().map(asked).sum()
    }

    /// Calls of the turn that have their result.
    pub(super) fn results(&self) -> usize {
        self.own_entries().filter(|entry| matches!(entry, HistoryEntry::ToolResult { .. })).count()
    }

    /// Whether a call has brought anything since the request.
    pub(super) fn has_results(&self) -> bool {
        self.current().iter().any(|entry| matches!(entry, HistoryEntry::ToolResult { .. }))
    }

    /// How long ago the turn first began: a crash gives no time back. A clock that was set back
    /// makes it younger.
    pub(super) fn age(&self) -> Duration {
        let begun = self.keeping.as_ref().and_then(|keeping| keeping.begun);
        begun.map_or(Duration::ZERO, |begun| {
            Duration::from_millis(u64::try_from(now_ms().saturating_sub(begun.at)).unwrap_or(0))
        })
    }

    /// Files that calls have added to the reply to the request, in order.
    pub(super) fn files(&mut self) -> Vec<OutgoingAttachment> {
        std::mem::take(&mut self.files)
    }

    /// Has the files that were added stay for a retry. One that goes all the same is told of when
    /// it is sent.
    pub(super) async fn keep_files_for_retry(&self) {
        let Some(HistoryPlace { history, whose, .. }) =
            self.keeping.as_ref().filter(|_| !self.files.is_empty())
        else {
            return;
        };
        let retry = BlobHolder::Retry(whose.session.clone());
        if let Err(error) = history.store.hold(&retry, &self.files).await.map_err(HistoryError::from) {
            tracing::error!(%error, "files may be gone before a retry sends them");
        }
    }

    /// Has files that an earlier turn added be this turn's own.
    pub(super) async fn take_over_files(&self) -> Result<(), HistoryError> {
        if let Some(HistoryPlace { history, whose, .. }) =
            self.keeping.as_ref().filter(|_| !self.files.is_empty())
        {
            history.store.hold(&BlobHolder::Turn(whose.turn.clone()), &self.files).await?;
        }
        Ok(())
    }

    /// What the turn itself has said and done: of a retry, nothing that was before it.
    pub(super) fn own_entries(&self) -> impl Iterator<Item = &HistoryEntry> {
        let own = self.turns.iter().zip(&self.entries).filter(|(turn, _)| **turn == self.turn);
        own.map(|(_, entry)| entry)
    }
}
