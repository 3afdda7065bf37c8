//! What every engine owes runs that a turn begins, whose replies go on with its request.

use crate::{
    DueWait, GoingOn, NewDirect, NewMessage, NewRun, NewTurnWait, StoreError, StoredReply, TurnWaited,
};
use async_trait::async_trait;
use cofferdam_core::id::TurnId;

/// Runs that a turn begins. Their tasks come one by one, each under an id that names its call.
#[async_trait]
pub trait TurnRunStore: Send + Sync {
    /// Keeps a message to somebody that belongs to no run, to be sent; `None` when it is kept
    /// already.
    async fn keep_direct(&self, new: NewDirect) -> Result<Option<StoredReply>, StoreError>;

    /// Keeps a run that a turn begins, unless so many are open; whether it is there now.
    async fn begin_turn_run(&self, new: NewRun, turn: TurnId, open_max: u32) -> Result<bool, StoreError>;

    /// Keeps the message of a further task, to be sent; `None` when it is kept already, or the run
    /// has ended. The task's place is found here.
    async fn keep_turn_message(&self, id: &str, new: NewMessage) -> Result<Option<StoredReply>, StoreError>;

    /// Keeps the result of a task: its output, or the error that it failed with.
    async fn end_turn_task(&self, run: &str, id: &str, ended: crate::RunEnd) -> Result<(), StoreError>;

    /// Begins to wait for the reply to a message.
    async fn wait_in_turn(&self, new: NewTurnWait, now: i64) -> Result<TurnWaited, StoreError>;

    /// The waits that are over by `now`: somebody has replied, or nobody has in time. A reply in
    /// several parts is over once the last of them is `settled` milliseconds old.
    async fn due_waits(&self, now: i64, settled: i64) -> Result<Vec<DueWait>, StoreError>;

    /// Has the request of a run go on: ends the wait, and keeps the message that a turn answers, in
    /// one step. False when the wait is over otherwise.
    async fn go_on(&self, going: GoingOn) -> Result<bool, StoreError>;

    /// Ends the runs that nobody goes on with: nothing is waited for, and the turn that could wait
    /// has ended. A reply that nobody has waited for yet is waited for instead. The ids of those
    /// that ended.
    async fn end_idle_turn_runs(&self, now: i64) -> Result<Vec<String>, StoreError>;
}
