//! What is kept of a run and told of it: problems as JSON, results of tasks, what each event of the
//! audit has.

use super::{ExecuteError, PreparedRun};
use cofferdam_core::audit::Workflow;
use cofferdam_core::id::TurnId;
use cofferdam_core::secret::redact;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{KeptRun, RunState, StoreError, TaskState};
use cofferdam_workflow::FileProblem;
use serde_json::{Map, Value, json};

/// Why a task has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum TaskProblem {
    /// It fails with this, and its run with it.
    #[error(transparent)]
    Fails(#[from] ToolError),
    /// What it does cannot be kept, or written down, for now: it is begun once more when its run
    /// goes on.
    #[error(transparent)]
    Later(#[from] ExecuteError),
}

impl From<StoreError> for TaskProblem {
    fn from(error: StoreError) -> Self {
        Self::Later(error.into())
    }
}

/// What becomes of a task whose texts cannot be rendered. Where they are written is said in the log
/// alone.
pub(super) fn unrendered(run: &PreparedRun, error: FileProblem) -> ToolError {
    tracing::warn!(run = run.id, %error, "a text of a workflow cannot be rendered");
    error.into()
}

/// What is kept of an error that ended a run, or one of its tasks, as JSON.
pub(in crate::workflows) fn failed_end(error: &ToolError, task: Option<&str>) -> String {
    let mut kept = json!({ "code": error.code, "message": error.message });
    if let Some(task) = task {
        kept["task"] = task.into();
    }
    kept.to_string()
}

/// What every event of a run has.
pub(super) fn about(run: &PreparedRun) -> Workflow {
    Workflow {
        run: run.id.clone(),
        workflow: run.plan.workflow().id.clone(),
        file_sha256: run.file_sha256.clone(),
        ..Workflow::default()
    }
}

/// Each task is a turn of its own, with the run's id in its.
pub(super) fn turn_of(run: &PreparedRun, n: usize) -> TurnId {
    TurnId::new(format!("{}/{}", run.id, run.plan.task_id(n)))
}

/// The results of the tasks that are done, by their ids.
pub(super) fn outputs(kept: &KeptRun) -> Map<String, Value> {
    let done = kept.tasks.iter().filter(|task| task.state == TaskState::Done);
    let read = |text: &String| serde_json::from_str(text).unwrap_or_default();
    done.map(|task| (task.id.clone(), task.output.as_ref().map_or(Value::Null, read))).collect()
}

/// What the end of a run says where it was begun. A result may hold a secret; what is told is for
/// others.
pub(crate) fn describe_end(kept: &KeptRun) -> String {
    let read = |text: &Option<String>| -> Value {
        text.as_ref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    };
    let said = match kept.state {
        RunState::Done => match read(&kept.output) {
            Value::String(text) => text,
            Value::Null => format!("{} is done.", kept.new.workflow),
            other => other.to_string(),
        },
        RunState::Failed => {
            let error = read(&kept.error);
            let part = |key: &str| error[key].as_str().unwrap_or("internal").to_owned();
            format!("{}: {}", part("code"), part("message"))
        }
        RunState::Cancelled => format!("{}: somebody has ended {}", ErrorCode::Cancelled, kept.new.run),
        RunState::Running => format!("{} goes on.", kept.new.run),
    };
    redact(&said).into_owned()
}
