//! A run that a turn begins: what is kept of it, and what the audit is told.

use crate::workflows::began::BegunRun;
use cofferdam_chat::runs::CallingTurn;
use cofferdam_core::audit::{Workflow, WorkflowState};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_store::{KeptRun, NewRun, RunOwner};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The workflow's id of all runs that turns begin.
pub(super) const WORKFLOW: &str = "turn";

/// What a run of a turn began with; of the fields of a file's run it says the trigger alone.
#[derive(Serialize, Deserialize)]
pub(in crate::workflows) struct BeganInTurn {
    #[serde(flatten)]
    pub(in crate::workflows) begun: BegunRun,
    /// The request that goes on.
    pub(in crate::workflows) request: TurnId,
    /// What was noted to go on by.
    pub(in crate::workflows) summary: Option<String>,
    /// Whether the one who asked was served in private: then they must be when it goes on.
    pub(in crate::workflows) was_served: bool,
}

impl BeganInTurn {
    /// What is kept of a run.
    ///
    /// # Errors
    /// It is nothing that any release writes.
    pub(in crate::workflows) fn from_kept(kept: &KeptRun) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&kept.new.began_with)
    }
}

/// A run of a turn that begins; `was_served` says whether the one who asked is served in private.
pub(super) fn new_run(
    run: String,
    asking: &CallingTurn,
    summary: Option<String>,
    was_served: bool,
) -> NewRun {
    let CallingTurn { request, session, by, answer_to, .. } = asking;
    let trigger = json!({
        "kind": WORKFLOW, "channel": by.channel, "sender": by.sender, "session": session.as_str(),
        "request": request.as_str(),
    });
    let begun = BegunRun { input: json!({}), trigger, ..BegunRun::default() };
    let began = BeganInTurn { begun, request: request.clone(), summary, was_served };
    NewRun {
        run,
        workflow: WORKFLOW.to_owned(),
        by: by.clone(),
        began_with: serde_json::to_string(&began).expect("plain data"),
        file_sha256: String::new(),
        tasks: Vec::new(),
        owner: RunOwner::Turn,
        answer_to: Some(answer_to.clone()),
        answers: false,
    }
}

/// What the audit is told of a run.
pub(in crate::workflows) fn event(new: &NewRun, state: WorkflowState, by: Option<&Caller>) -> Workflow {
    Workflow {
        run: new.run.clone(),
        workflow: new.workflow.clone(),
        file_sha256: new.file_sha256.clone(),
        state: Some(state),
        by: by.map(Caller::to_string),
        ..Workflow::default()
    }
}
