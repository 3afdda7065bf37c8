//! What every engine owes runs of workflows.

use crate::{KeptRun, ListedRun, NewRun, RunEnd, StoreError};
use async_trait::async_trait;
use cofferdam_core::id::Caller;

/// Runs of workflows. A task is its place in its run, from 0.
#[async_trait]
pub trait RunStore: Send + Sync {
    /// Keeps a run that begins, its tasks pending; false when `open_max` runs are open.
    async fn begin_run(&self, new: NewRun, open_max: u32) -> Result<bool, StoreError>;

    /// The run of this id.
    async fn load_run(&self, run: &str) -> Result<Option<KeptRun>, StoreError>;

    /// The latest runs, at most [`RUNS_LISTED_MAX`](crate::RUNS_LISTED_MAX).
    async fn list_runs(&self) -> Result<Vec<ListedRun>, StoreError>;

    /// Notes that a task begins; false when its run has ended, or the task has.
    async fn begin_task(&self, run: &str, task: usize) -> Result<bool, StoreError>;

    /// Keeps what a task that has begun came to; where it failed, the run has failed with it. False
    /// when that is kept.
    async fn end_task(&self, run: &str, task: usize, ended: RunEnd) -> Result<bool, StoreError>;

    /// Ends a run that is open; false when it has ended.
    async fn end_run(&self, run: &str, ended: RunEnd) -> Result<bool, StoreError>;

    /// Ends a run that is open, and the task that it is at; false when it has ended. Its end is to
    /// be noted elsewhere.
    async fn cancel_run(&self, run: &str, by: &Caller) -> Result<bool, StoreError>;

    /// The runs that ended up to `until` and whose end is to be noted elsewhere, in milliseconds
    /// since 1970 UTC.
    async fn load_unnoted_runs(&self, until: i64) -> Result<Vec<String>, StoreError>;

    /// The end of a run is noted.
    async fn end_noted(&self, run: &str) -> Result<(), StoreError>;

    /// Opens a run that failed or was cut off: its tasks that are not done are pending again; false
    /// for any other.
    async fn reopen_run(&self, run: &str) -> Result<bool, StoreError>;
}
