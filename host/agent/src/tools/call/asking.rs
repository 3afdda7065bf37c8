//! A call that a policy asks about: what a person must see first, waiting for them without a
//! thread, and going on with exactly what they agreed to.

use super::request::{CallRequest, PendingRequest};
use super::toolbox::{CallServices, Toolbox};
use crate::tools::approval::describe_call;
use crate::tools::threads;
use crate::tools::{ApprovalRequest, Decision, RegisteredTool};
use cofferdam_core::audit::{ApprovalRecord, ApprovalState, CallFacts};
use cofferdam_core::id::Caller;
use cofferdam_core::limits::Limits;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use cofferdam_policy::{
    ApprovalCondition, Facts, GuestPath, PendingPermit, Permit, PermittedCall, Reason, spell_word,
};
use cofferdam_warden::calls::CallRecord;
use cofferdam_warden::publish::FileOwner;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How far a call got on its thread.
pub(super) enum CallProgress {
    /// Its result.
    With(ToolAnswer),
    /// A person must be asked first; no thread waits for the answer.
    Waiting(Box<WaitingCall>),
}

/// A call that waits for a person.
pub(super) struct WaitingCall {
    approval: ApprovalRequest,
    facts: CallFacts,
}

/// The call that was approved.
pub(super) struct Approved {
    /// Its name.
    sha256: String,
    tool: String,
    /// The paths that need no approval any more once it has gone on.
    remember: Vec<GuestPath>,
}

/// Paths that one approval tells of.
const PATHS_MAX: usize = 50;

impl CallServices {
    /// The permit of a call that rules ask about: at once where the facts speak for it, or by an
    /// approval of exactly this. Without either a person must be asked.
    pub(super) fn begin_approval(
        &self,
        request: &CallRequest,
        tool: &RegisteredTool,
        pending: PendingPermit,
        approved: Option<&Approved>,
        record: &CallRecord,
    ) -> Result<ControlFlow<Box<WaitingCall>, Permit>, ToolError> {
        if pending.writes().len() + pending.reads().len() > PATHS_MAX {
            return Err(arguments_too_long());
        }
        let facts = self.facts((request, approved), &pending, &FileOwner::from_facts(&record.facts));
        let pending = match pending.decide(&facts) {
            PermittedCall::Permit(permit) => return Ok(ControlFlow::Continue(permit)),
            PermittedCall::Ask(pending) => pending,
        };
        let rules = rules(pending.reasons());
        let Some(approver) = &request.approver else {
            let said = format!(
                "a person must approve this call ({rules}), and nobody can be asked here; ask in a chat, or add \
                 --approve to cofferdam call or run"
            );
            return Err(ToolError::new(ErrorCode::ApprovalRequired, said));
        };
        let called = approver.asker_name();
        let asker = (&request.caller, called.as_deref());
        let infos = request.attachments.infos();
        let text = describe_call(&tool.policy, &pending, asker, &infos).ok_or_else(arguments_too_long)?;
        if let Some(Approved { sha256, .. }) = approved {
            return Ok(ControlFlow::Continue(pending.grant(&text, sha256)?));
        }
        let approval = ApprovalRequest {
            call: request.id.clone(),
            turn: request.turn.clone(),
            caller: request.caller.clone(),
            tool: tool.policy.tool.to_string(),
            sha256: pending.sha256(&text),
            text,
            remember: paths(pending.reasons()),
        };
        let facts = record.facts.clone();
        self.warden.note(ApprovalRecord {
            facts: facts.clone(),
            call_sha256: approval.sha256.clone(),
            approval: ApprovalState::Asked,
            by: None,
            reason: Some(rules),
        })?;
        Ok(ControlFlow::Break(Box::new(WaitingCall { approval, facts })))
    }

    /// What the disk and the memory of approvals say. A call that was approved is held against what
    /// was shown, also where another one has had its paths remembered meanwhile.
    fn facts(
        &self,
        (request, approved): (&CallRequest, Option<&Approved>),
        pending: &PendingPermit,
        owner: &FileOwner,
    ) -> Facts {
        let mut first = paths(pending.reasons());
        first.retain(|path| approved.is_none_or(|approved| !approved.remember.contains(path)));
        let approved = match &request.approver {
            Some(approver) if !first.is_empty() => {
                approver.find_approved(pending.call().tool.as_str(), &first).into_iter().collect()
            }
            _ => Default::default(),
        };
        Facts { approved, asker: Some(request.caller.to_string()), ..self.warden.facts(pending, owner) }
    }

    /// Writes a decision down; without that a call that was approved does not run. A call that was
    /// not is refused, and that is written down too.
    fn record_decision(
        &self,
        asked: &PendingRequest,
        waiting: WaitingCall,
        decision: Decision,
    ) -> Result<Approved, ToolError> {
        let WaitingCall { approval: ApprovalRequest { sha256, tool, remember, .. }, facts } = waiting;
        let who = |by: &Caller| one_line(&by.to_string(), 80);
        let (state, by, refused) = match &decision {
            Decision::Approved(by) => (ApprovalState::Approved, Some(who(by)), None),
            Decision::Denied(by) => {
                let said = format!("{} did not approve this call; nothing was changed", who(by));
                (ApprovalState::Denied, Some(who(by)), Some((ErrorCode::ApprovalDenied, said)))
            }
            Decision::Expired => {
                let said = "nobody approved this call in time; nothing was changed, ask again".to_owned();
                (ApprovalState::Expired, None, Some((ErrorCode::ApprovalDenied, said)))
            }
            Decision::Withdrawn => {
                let said =
                    "the call was cancelled before anybody approved it; nothing was changed".to_owned();
                (ApprovalState::Withdrawn, None, Some((ErrorCode::Cancelled, said)))
            }
            Decision::Unasked(why) => {
                let said = format!("this call needs an approval, and nobody could be asked: {why}");
                (ApprovalState::Withdrawn, None, Some((ErrorCode::ApprovalRequired, said)))
            }
        };
        let reason = refused.as_ref().map(|(_, said)| one_line(said, 400));
        let noted = self.warden.note(ApprovalRecord {
            facts: facts.clone(),
            call_sha256: sha256.clone(),
            approval: state,
            by,
            reason,
        });
        let refused = match (noted, refused) {
            (Ok(()), None) => return Ok(Approved { sha256, tool, remember }),
            (Err(unaudited), None) => unaudited,
            (_, Some((code, said))) => ToolError::new(code, said),
        };
        let mut record = self.record(asked);
        record.facts = facts;
        Err(self.refused(record, refused))
    }
}

impl Toolbox {
    /// Asks, and waits for the answer off all threads.
    ///
    /// # Errors
    /// All that is not an approval; it is in the audit.
    pub(super) async fn await_decision(
        &self,
        asked: &Arc<PendingRequest>,
        waiting: WaitingCall,
    ) -> Result<Approved, ToolError> {
        let request = &asked.request;
        let decision = match &request.approver {
            Some(approver) => approver.decide(&waiting.approval, &request.cancel).await,
            None => Decision::Unasked("there is nobody".to_owned()),
        };
        let (parts, asked) = (self.parts.clone(), asked.clone());
        let settled =
            tokio::task::spawn_blocking(move || parts.record_decision(&asked, waiting, decision)).await;
        settled.unwrap_or_else(|_| Err(threads::crashed()))
    }

    /// Goes on with a call that was approved. Its paths are remembered after that alone: until then
    /// all of it is held against what was shown, and what is not that any more is asked about anew.
    ///
    /// # Errors
    /// Every refusal and failure, by code; each is in the audit.
    pub(super) async fn run_approved(
        &self,
        asked: &Arc<PendingRequest>,
        limits: Limits,
        approved: Approved,
    ) -> Result<CallProgress, ToolError> {
        let (tool, paths) = (approved.tool.clone(), approved.remember.clone());
        let ended = self.on_a_thread(asked, limits, Some(approved)).await;
        // What was stopped may go on after a restart, and is judged anew then.
        let has_gone_on = !matches!(
            &ended,
            Err(error) if matches!(error.code, ErrorCode::ApprovalDenied | ErrorCode::Cancelled)
        );
        if let Some(approver) = asked.request.approver.as_ref().filter(|_| has_gone_on && !paths.is_empty()) {
            approver.remember_approved(&tool, &paths).await;
        }
        ended
    }
}

/// The paths that an approval is remembered for.
fn paths(reasons: &[Reason]) -> Vec<GuestPath> {
    let first = reasons.iter().filter(|reason| reason.when == ApprovalCondition::FirstTimePerPath);
    first.filter_map(|reason| reason.path.clone()).collect()
}

/// `path = "on-overwrite" at tools/file_write.toml:12`, for each rule that asks.
fn rules(reasons: &[Reason]) -> String {
    let mut rules: Vec<String> = Vec::new();
    for reason in reasons {
        let rule =
            format!("{} = {:?} at {}", one_line(&reason.about, 200), spell_word(&reason.when), reason.at);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    one_line(&rules.join(", "), 1000)
}

fn arguments_too_long() -> ToolError {
    let said = "this call needs an approval, and touches more than a person can be shown at once; do less in one call";
    ToolError::new(ErrorCode::ApprovalRequired, said)
}
