//! Tasks that ask a person: the question is asked once however often the process is killed, and one
//! decision counts.

use super::people::{AGAIN, retry_reach};
use super::{ExecuteError, Executor, PreparedRun, TaskProblem, WorkflowState, turn_of, unrendered};
use cofferdam_agent::tools::{ApprovalRequest, Approver, Decision, SHOWN_UNITS_MAX};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::id::Caller;
use cofferdam_core::secret::redact;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::{NewWait, WaitState, now_ms};
use cofferdam_workflow::ApproveWork;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

impl Executor {
    /// Asks a person, and waits for their decision.
    pub(super) async fn approve(
        &self,
        run: &PreparedRun,
        n: usize,
        work: &ApproveWork,
        outputs: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, TaskProblem> {
        let ready = run.plan.question(work, outputs).map_err(|error| unrendered(run, error))?;
        let from = ready.from.unwrap_or_else(|| run.by.clone());
        let messenger = self.messenger(&from, cancel).await?;
        // What was put in may hold a secret; what is asked is for others.
        let text = redact(&ready.text).into_owned();
        if text.encode_utf16().count() > SHOWN_UNITS_MAX {
            let message =
                format!("the text of `approve` is longer than {SHOWN_UNITS_MAX}; write a shorter one");
            return Err(ToolError::new(ErrorCode::TooLarge, message).into());
        }
        let patience = i64::try_from(ready.timeout.0.as_millis()).unwrap_or(i64::MAX);
        let (id, asked) = (run.id.clone(), from.to_string());
        let new = NewWait { run: id, task: n, of: None, from: asked, patience, is_awaited_later: false };
        self.begin_question(run, new).await?;
        let approver = retry_reach(|| messenger.approver(&from.sender, ready.timeout.0), cancel).await?;
        let turn = turn_of(run, n);
        // Of what was given: a run that goes on may know other secrets, and asks once.
        let told = json!([from.to_string(), ready.text]).to_string();
        let approval = ApprovalRequest {
            call: turn.call(0),
            turn,
            caller: Caller { channel: from.channel.clone(), sender: run.by.sender.clone() },
            tool: "approve".to_owned(),
            text,
            sha256: sha256_hex(told.as_bytes()),
            remember: Vec::new(),
        };
        let decision = self.await_decision(approver.as_ref(), &approval, cancel).await?;
        let by = match &decision {
            Decision::Approved(by) | Decision::Denied(by) => Some(by),
            _ => None,
        };
        self.note(run, WorkflowState::Resumed, by)?;
        let refused = |code: ErrorCode, message: String| Err(ToolError::new(code, message).into());
        match decision {
            Decision::Approved(by) => Ok(json!({ "approved": true, "by": by.to_string() })),
            Decision::Denied(by) => {
                refused(ErrorCode::ApprovalDenied, format!("{}:{} denied it", by.channel, by.sender))
            }
            Decision::Expired => {
                refused(ErrorCode::TimedOut, format!("{from} did not decide within {}", ready.timeout))
            }
            Decision::Withdrawn => {
                refused(ErrorCode::ApprovalDenied, "the question was withdrawn".to_owned())
            }
            Decision::Unasked(why) => refused(ErrorCode::SendFailed, one_line(&why, 500)),
        }
    }

    /// Notes that a question is asked; how long it still is, its approval says.
    async fn begin_question(&self, run: &PreparedRun, new: NewWait) -> Result<(), ExecuteError> {
        if let WaitState::Open { begins: true, .. } = self.store.wait(new, now_ms()).await? {
            self.note(run, WorkflowState::Waiting, None)?;
        }
        Ok(())
    }

    /// The decision; the question outlasts a stop of the program, and not the end of the run.
    async fn await_decision(
        &self,
        approver: &dyn Approver,
        approval: &ApprovalRequest,
        cancel: &CancellationToken,
    ) -> Result<Decision, ToolError> {
        let own = CancellationToken::new();
        let deciding = approver.decide(approval, &own);
        tokio::pin!(deciding);
        let decision = tokio::select! {
            decision = &mut deciding => decision,
            () = cancel.cancelled() => {
                if !self.stop.is_cancelled() {
                    own.cancel();
                    deciding.await;
                }
                return Err(ToolError::cancelled());
            }
        };
        if decision == Decision::Withdrawn {
            // A channel that stops says so a moment before the program does.
            cancel.run_until_cancelled(tokio::time::sleep(AGAIN)).await;
            if self.stop.is_cancelled() {
                return Err(ToolError::cancelled());
            }
        }
        Ok(decision)
    }
}
