//! Why a task has no result: it fails, or nobody can tell for now.

use super::{ExecuteError, PreparedRun};
use cofferdam_core::tool::ToolError;
use cofferdam_store::StoreError;
use cofferdam_workflow::PlanError;

/// Why a task has no result.
pub(super) enum TaskProblem {
    /// It fails with this, and its run with it.
    Fails(ToolError),
    /// What it does cannot be kept, or written down, for now: it is begun once more when its run
    /// goes on.
    Later(ExecuteError),
}

impl From<ToolError> for TaskProblem {
    fn from(error: ToolError) -> Self {
        Self::Fails(error)
    }
}

impl From<ExecuteError> for TaskProblem {
    fn from(error: ExecuteError) -> Self {
        Self::Later(error)
    }
}

impl From<StoreError> for TaskProblem {
    fn from(error: StoreError) -> Self {
        Self::Later(error.into())
    }
}

/// What becomes of a task whose texts cannot be rendered. Where they are written is said in the log
/// alone.
pub(super) fn unrendered(run: &PreparedRun, error: PlanError) -> ToolError {
    tracing::warn!(run = run.id, %error, "a text of a workflow cannot be rendered");
    error.into()
}
