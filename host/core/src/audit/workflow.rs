//! What is written down of runs of workflows.

use serde::{Deserialize, Serialize};

/// What a run of a workflow came to, or what one of its tasks shows an agent. The calls of its
/// tasks have the run's id in `turn` and `call`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// The run.
    pub run: String,
    /// The workflow's id.
    pub workflow: String,
    /// SHA-256 of the workflow's file, lower-case hex.
    pub file_sha256: String,
    /// What the run came to; absent where a task asks an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<WorkflowState>,
    /// Who began it or had it go on or end: channel and sender, `cli:1000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The task that asks an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What it shows; empty where it shows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<WorkflowAttachment>>,
    /// Who gets a message, of a task that sends one: channel and person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// SHA-256 of what a message says, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_sha256: Option<String>,
}

/// What a run of a workflow came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowState {
    /// It began.
    Started,
    /// It waits for a person.
    Waiting,
    /// It goes on after it was cut off, failed or waited.
    Resumed,
    /// All its tasks are done.
    Done,
    /// A task failed.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

/// What a task shows an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowAttachment {
    /// `image`, `video`, `audio`, `pdf`, `file` or `url`.
    pub r#type: String,
    /// Below the declaring file's folder, or in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Without user, and `?[redacted]` for a query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// As detected; of files alone, as all below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Length in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// SHA-256 of the bytes, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}
