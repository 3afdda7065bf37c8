//! Where runs and their tasks stand, and who carries a run out, in the words of their rows.

use crate::value::{column_words, words};
use serde::Serialize;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It is carried out, or was when its process ended.
    Running,
    /// All its tasks are done.
    Done,
    /// A task failed.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// It has not begun.
    Pending,
    /// It has begun.
    Running,
    /// Its result is kept.
    Done,
    /// It ended the run, or the run failed while it ran.
    Failed,
    /// Somebody ended the run while it ran.
    Cancelled,
}

words! { RunState, "a state {:?}": Running = "running" Done = "done" Failed = "failed" Cancelled = "cancelled" }
words! { TaskState, "a state {:?}":
    Pending = "pending" Running = "running" Done = "done" Failed = "failed" Cancelled = "cancelled"
}

/// Who carries a run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOwner {
    /// The command that began it or had it go on.
    Command,
    /// The one `serve`.
    Serve,
    /// The turns of the request that began it.
    Turn,
}

column_words! { RunOwner, "an owner {:?}": Command = "cli" Serve = "serve" Turn = "turn" }
