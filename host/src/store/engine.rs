//! SQLite as a storage engine: each method is done where its table is.

use super::seam::{Approvals, Conversations, Inbox, Outbox, Storage};
use super::{
    AlbumPart, Approval, ApprovalState, ApprovedPaths, Begun, BoundTurn, Claim, Holder, Line, NewApproval,
    NewPart, NewRecent, NewReply, NewUpdate, Part, Persisted, Placeholder, Queued, Recent, Reply, Sqlite,
    Steer, StoreError, TakeUp, TakenUp, Update, Used, WhoseTurn,
};
use async_trait::async_trait;
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingAttachment;
use std::collections::BTreeSet;

#[async_trait]
impl Storage for Sqlite {
    async fn prune(&self, now: i64) -> Result<usize, StoreError> {
        Sqlite::prune(self, now).await
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.aside(Sqlite::settle_here).await
    }

    fn check(&self) -> Result<(), StoreError> {
        Sqlite::check(self)
    }
}

#[async_trait]
impl Inbox for Sqlite {
    async fn persist(&self, channel: &str, updates: Vec<NewUpdate>) -> Result<Persisted, StoreError> {
        Sqlite::persist(self, channel, updates).await
    }

    async fn pending(
        &self,
        channel: &str,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Update>, StoreError> {
        Sqlite::pending(self, channel, after, limit).await
    }

    async fn sessions(&self, channel: &str, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        Sqlite::sessions(self, channel, limit).await
    }

    async fn waiting(
        &self,
        channel: &str,
        session: &SessionId,
        limit: u32,
    ) -> Result<Vec<Queued>, StoreError> {
        Sqlite::waiting(self, channel, session, limit).await
    }

    async fn count_waiting(
        &self,
        channel: &str,
        session: &SessionId,
        besides: Option<i64>,
    ) -> Result<usize, StoreError> {
        Sqlite::count_waiting(self, channel, session, besides).await
    }

    async fn claim(&self, channel: &str, claim: Claim) -> Result<Option<BoundTurn>, StoreError> {
        Sqlite::claim(self, channel, claim).await
    }

    async fn bound(&self, channel: &str) -> Result<Vec<BoundTurn>, StoreError> {
        Sqlite::bound(self, channel).await
    }

    async fn album(&self, channel: &str, album: &str) -> Result<Vec<AlbumPart>, StoreError> {
        Sqlite::album(self, channel, album).await
    }

    async fn steers(&self, channel: &str, turn: &TurnId) -> Result<Vec<Steer>, StoreError> {
        Sqlite::steers(self, channel, turn).await
    }

    async fn taken_up(&self, channel: &str, turn: &TurnId) -> Result<Vec<Vec<Update>>, StoreError> {
        Sqlite::taken_up(self, channel, turn).await
    }

    async fn times_told(&self, channel: &str, sender: &str) -> Result<u32, StoreError> {
        Sqlite::times_told(self, channel, sender).await
    }

    async fn dismiss(&self, turn: &TurnId) -> Result<(), StoreError> {
        Sqlite::dismiss(self, turn).await
    }

    async fn attempt(&self, turn: &TurnId, caller: &Caller) -> Result<u32, StoreError> {
        Sqlite::attempt(self, turn, caller).await
    }

    async fn withdraw_attempt(&self, turn: &TurnId) -> Result<(), StoreError> {
        Sqlite::withdraw_attempt(self, turn).await
    }

    async fn note_move(&self, channel: &str, place: String, goes_on: String) -> Result<(), StoreError> {
        Sqlite::note_move(self, channel, place, goes_on).await
    }

    async fn moves(&self, channel: &str) -> Result<Vec<(String, String)>, StoreError> {
        Sqlite::moves(self, channel).await
    }
}

#[async_trait]
impl Outbox for Sqlite {
    async fn end_noting(
        &self,
        channel: &str,
        turn: &TurnId,
        reply: NewReply,
        files: Option<NewRecent>,
    ) -> Result<Reply, StoreError> {
        Sqlite::end_noting(self, channel, turn, reply, files).await
    }

    async fn tell(&self, channel: &str, turn: &TurnId, reply: NewReply) -> Result<Option<Reply>, StoreError> {
        Sqlite::tell(self, channel, turn, reply).await
    }

    async fn unsent(&self, channel: &str) -> Result<Vec<Reply>, StoreError> {
        Sqlite::unsent(self, channel).await
    }

    async fn part_sent(&self, turn: &TurnId, n: u32, message: &str) -> Result<(), StoreError> {
        Sqlite::part_sent(self, turn, n, message).await
    }

    async fn part_failed(
        &self,
        turn: &TurnId,
        n: u32,
        reason: &str,
        instead: Vec<NewPart>,
    ) -> Result<Vec<Part>, StoreError> {
        Sqlite::part_failed(self, turn, n, reason, instead).await
    }

    async fn placeholder(&self, turn: &TurnId) -> Result<Option<Placeholder>, StoreError> {
        Sqlite::placeholder(self, turn).await
    }

    async fn placeholder_begun(&self, turn: &TurnId) -> Result<(), StoreError> {
        Sqlite::placeholder_begun(self, turn).await
    }

    async fn placeholder_sent(&self, turn: &TurnId, message: &str) -> Result<(), StoreError> {
        Sqlite::placeholder_sent(self, turn, message).await
    }

    async fn recent(
        &self,
        channel: &str,
        conversation: &str,
        sender: &str,
    ) -> Result<Option<Recent>, StoreError> {
        Sqlite::recent(self, channel, conversation, sender).await
    }

    async fn handed_over(&self, request: &TurnId) -> Result<Vec<OutgoingAttachment>, StoreError> {
        Sqlite::handed_over(self, request).await
    }

    async fn hold(&self, holder: &Holder, files: &[OutgoingAttachment]) -> Result<(), StoreError> {
        Sqlite::hold(self, holder, files).await
    }

    async fn let_go(&self, holder: &Holder) -> Result<(), StoreError> {
        Sqlite::let_go(self, holder).await
    }

    fn blobs_in_use(&self) -> Result<BTreeSet<String>, StoreError> {
        Sqlite::blobs_in_use(self)
    }
}

#[async_trait]
impl Approvals for Sqlite {
    async fn ask(&self, new: NewApproval) -> Result<(Approval, Vec<Approval>), StoreError> {
        Sqlite::ask(self, new).await
    }

    async fn approval_shown(&self, id: &str, message: &str) -> Result<(), StoreError> {
        Sqlite::approval_shown(self, id, message).await
    }

    async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        Sqlite::approval(self, id).await
    }

    async fn decide(
        &self,
        id: &str,
        state: ApprovalState,
        by: Option<String>,
    ) -> Result<Option<Approval>, StoreError> {
        Sqlite::decide(self, id, state, by).await
    }

    async fn remember_paths(&self, of: ApprovedPaths, paths: Vec<String>) -> Result<(), StoreError> {
        Sqlite::remember_paths(self, of, paths).await
    }

    fn approved_paths(&self, of: &ApprovedPaths, paths: &[String]) -> Result<Vec<String>, StoreError> {
        Sqlite::approved_paths(self, of, paths)
    }
}

#[async_trait]
impl Conversations for Sqlite {
    async fn lines(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<Line>, StoreError> {
        Sqlite::lines(self, session, turn).await
    }

    async fn add_line(
        &self,
        whose: &WhoseTurn,
        n: usize,
        body: String,
        tokens: u64,
    ) -> Result<(), StoreError> {
        Sqlite::add_line(self, whose, n, body, tokens).await
    }

    async fn take_up(
        &self,
        whose: &WhoseTurn,
        n: usize,
        body: String,
        taking: &TakeUp,
    ) -> Result<TakenUp, StoreError> {
        Sqlite::take_up(self, whose, n, body, taking).await
    }

    async fn replace_lines(
        &self,
        whose: &WhoseTurn,
        kept_from: &TurnId,
        body: String,
        tokens: u64,
    ) -> Result<(), StoreError> {
        Sqlite::replace_lines(self, whose, kept_from, body, tokens).await
    }

    async fn forget_lines(&self, session: &SessionId) -> Result<(), StoreError> {
        Sqlite::forget_lines(self, session).await
    }

    async fn begun(&self, turn: &TurnId) -> Result<Option<Begun>, StoreError> {
        Sqlite::begun(self, turn).await
    }

    async fn spend(&self, whose: &WhoseTurn, tokens: u64) -> Result<(), StoreError> {
        Sqlite::spend(self, whose, tokens).await
    }

    async fn used(&self, caller: &Caller, now: i64) -> Result<Used, StoreError> {
        Sqlite::used(self, caller, now).await
    }
}
