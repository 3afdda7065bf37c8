//! What every engine owes runs that wait for people.

use crate::{AnswerTo, NewMessage, NewReply, NewWait, SendState, StoreError, StoredReply, WaitState};
use async_trait::async_trait;
use cofferdam_core::id::TurnId;

/// What runs say to people and wait for. A task is its place in its run, from 0.
#[async_trait]
pub trait WaitStore: Send + Sync {
    /// Keeps the message of a task, to be sent, and that a reply to it is waited for; `None` when
    /// it is kept already, or the run has ended.
    async fn keep_message(&self, new: NewMessage) -> Result<Option<StoredReply>, StoreError>;

    /// What became of a message; once it is out, its ids are kept for as long as its run.
    async fn load_send_state(&self, turn: &TurnId) -> Result<SendState, StoreError>;

    /// Begins a wait, unless it has begun, and says how it stands. One whose time is over has timed
    /// out, unless somebody has replied before.
    async fn wait(&self, new: NewWait, now: i64) -> Result<WaitState, StoreError>;

    /// The files of the reply to the message of a task, in the words of their channel, which is
    /// named as in the store; none where it has none, or nobody has replied.
    async fn files_of_reply(&self, run: &str, task: usize) -> Result<Option<(String, String)>, StoreError>;

    /// The runs of the one `serve` that have something to do now: all that are open, but for those
    /// that wait for a reply and have time left. `deadline` is how long a run may take, in
    /// milliseconds.
    async fn runs_to_go_on(&self, now: i64, deadline: i64) -> Result<Vec<String>, StoreError>;

    /// Has the one `serve` go on with an open run; false when it has ended.
    async fn hand_over_run(&self, run: &str) -> Result<bool, StoreError>;

    /// Promises that the end of an open run is told; whether it is promised.
    async fn acknowledge_run(&self, run: &str) -> Result<bool, StoreError>;

    /// Runs that have ended, and whose end was promised to be told and is not yet.
    async fn load_unanswered_runs(&self) -> Result<Vec<String>, StoreError>;

    /// Tells the end of such a run, once.
    async fn answer_run(
        &self,
        run: &str,
        to: AnswerTo,
        said: NewReply,
    ) -> Result<Option<StoredReply>, StoreError>;

    /// Has the waits and deadlines of the one `serve`'s runs follow a clock that was set.
    async fn shift_waits(&self, by: i64) -> Result<(), StoreError>;

    /// Has no wait last longer from `now` on than it may in all: the clock may have been set back
    /// meanwhile.
    async fn bound_waits(&self, now: i64) -> Result<(), StoreError>;

    /// Since when the times of a schedule have been looked for; from `now` on where they have not.
    async fn begin_schedule_check(&self, workflow: &str, now: i64) -> Result<i64, StoreError>;

    /// Notes that the times of a schedule up to this one need no further look.
    async fn end_schedule_check(&self, workflow: &str, until: i64) -> Result<(), StoreError>;
}
