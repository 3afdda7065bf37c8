//! One call: registry, schema, judge, a person where a rule asks, then the trusted core; in this
//! order and no other.
//!
//! This file is the way from a request to its answer; what happens at each step is in a file of its
//! own.

mod asking;
mod control;
mod request;
#[cfg(test)]
mod tests;
mod toolbox;

pub use request::CallRequest;
pub use toolbox::Toolbox;

use super::RegisteredTool;
use super::threads::{self, Handover};
use asking::{Approved, CallProgress};
use cofferdam_core::audit::{CallFacts, VerdictKind, sha256_hex};
use cofferdam_core::capability::Interface;
use cofferdam_core::limits::Limits;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use cofferdam_policy::{Permit, PermittedCall, Safety, Verdict, redact};
use cofferdam_warden::calls::{CallJob, CallRecord, CountedAs, EarlierRun, KEEPING_TIME_MAX, OutputKeeper};
use cofferdam_warden::sandbox::NOBODY_REACHED;
use control::{deliver, resolve_request};
use request::PendingRequest;
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use toolbox::CallServices;

impl Toolbox {
    /// Runs one call to its audited end.
    ///
    /// # Errors
    /// Every refusal and failure, by code; each is in the audit.
    pub async fn call(&self, mut request: CallRequest) -> Result<ToolAnswer, ToolError> {
        request.tool = self.parts.registry.resolve_name(&request.tool).into_owned();
        let tool = self.parts.registry.get(&request.tool).ok();
        let limits = tool.map_or(Limits::DEFAULT, |tool| tool.policy.limits);
        if let Err(late) = request.take_recent(tool.map(Arc::as_ref), limits).await {
            return Err(self.refuse(request, late).await);
        }
        let asked = PendingRequest::new(request);
        match self.on_a_thread(&asked, limits, None).await? {
            CallProgress::With(answer) => Ok(answer),
            CallProgress::Waiting(waiting) => {
                let approved = self.await_decision(&asked, *waiting).await?;
                match self.run_approved(&asked, limits, approved).await? {
                    CallProgress::With(answer) => Ok(answer),
                    // Only a call without an approval waits for one.
                    CallProgress::Waiting(_) => Err(self.unanswered(asked, threads::crashed()).await),
                }
            }
        }
    }

    /// Runs the call on a thread, to its end or to the question that a person must answer first.
    async fn on_a_thread(
        &self,
        asked: &Arc<PendingRequest>,
        limits: Limits,
        approved: Option<Approved>,
    ) -> Result<CallProgress, ToolError> {
        // What was approved is judged by what holds now, not by what held when it was asked about.
        let parts = if approved.is_some() { self.current() } else { self.parts.clone() };
        let job = asked.clone();
        let work = move |handover: &Handover| parts.call(&job, approved.as_ref(), handover);
        let ended = self.threads.run(&asked.request.share(), limits.deadline.0, work).await;
        match ended {
            // No thread took it, or its thread does not come back.
            Err(refused) if !asked.told.load(Ordering::Acquire) => {
                Err(self.unanswered(asked.clone(), refused).await)
            }
            ended => ended,
        }
    }

    /// Writes down that a call was refused before it ran, and returns what to answer.
    pub async fn refuse(&self, request: CallRequest, why: ToolError) -> ToolError {
        self.unanswered(PendingRequest::new(request), why).await
    }

    /// Writes down a call that no thread answered, off the async threads, and returns what to
    /// answer.
    async fn unanswered(&self, asked: Arc<PendingRequest>, refused: ToolError) -> ToolError {
        let parts = self.parts.clone();
        let work = move || parts.refused(parts.record(&asked), refused);
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| threads::crashed())
    }

    /// Keeps an output that is too long for a model as a file under `/tmp/outputs`, and returns its
    /// path.
    ///
    /// # Errors
    /// What the trusted core refuses.
    pub async fn keep_output(&self, output: OutputKeeper) -> Result<String, ToolError> {
        let (parts, caller) = (self.parts.clone(), output.caller.clone());
        let work = move |handover: &Handover| parts.warden.keep_output(&output, &|| handover.commit());
        self.threads.run(&caller, KEEPING_TIME_MAX, work).await
    }
}

/// Refuses a call that writes to people where nobody is reached, or to somebody who is not served:
/// before a person is asked about it.
fn reachable(request: &CallRequest, tool: &RegisteredTool, judged: &PermittedCall) -> Result<(), ToolError> {
    if !tool.policy.grants.allows(Interface::Messaging) {
        return Ok(());
    }
    let unreached = || ToolError::new(ErrorCode::ToolUnavailable, NOBODY_REACHED);
    let people = request.messaging.as_ref().ok_or_else(unreached)?;
    let recipients = match judged {
        PermittedCall::Permit(permit) => permit.recipients(),
        PermittedCall::Ask(pending) => pending.recipients(),
    };
    recipients.iter().try_for_each(|to| people.check_served(to))
}

/// What a call comes to that is not refused before it runs.
enum Judgement {
    /// It may run.
    Run(Box<(Permit, Arc<RegisteredTool>, EarlierRun)>),
    /// It ran before a crash, and this is its answer.
    Answered(ToolAnswer),
    /// A person must be asked first.
    Wait(Box<asking::WaitingCall>),
}

impl CallServices {
    /// The call on its thread. Its outcome is in the audit, unless it has not ended: a person is
    /// asked first.
    fn call(
        &self,
        asked: &PendingRequest,
        approved: Option<&Approved>,
        handover: &Handover,
    ) -> Result<CallProgress, ToolError> {
        let request = &asked.request;
        let mut record = self.record(asked);
        let text = match &request.arguments {
            Ok(text) => text,
            Err(why) => {
                // Its words are for the sender alone: one of them may be a content without its
                // name.
                let audited = ToolError::new(ErrorCode::InvalidArguments, why.audit_text());
                let told = ToolError::new(ErrorCode::InvalidArguments, why.to_string());
                return self.warden.write_outcome(record, Some(&audited)).and(Err(told));
            }
        };
        let (permit, tool, before) = match self.judgement(text, approved, request, &mut record) {
            Ok(Judgement::Run(run)) => *run,
            Ok(Judgement::Answered(answer)) => {
                return self.warden.end(record, Ok(answer)).map(CallProgress::With);
            }
            Ok(Judgement::Wait(waiting)) => return Ok(CallProgress::Waiting(waiting)),
            Err(refused) => return Err(self.refused(record, refused)),
        };
        let job = CallJob {
            record,
            component: &tool.component,
            before,
            attachments: request.attachments.clone(),
            reaching: resolve_request(request, &self.requests),
            messaging: request.messaging.clone(),
            report: request.report.clone(),
            printed: request.printed.clone(),
            journal: request.journal.clone(),
            cancel: request.cancel.clone(),
            commit: &|| handover.commit(),
            deliver: &|answer| deliver(request, &self.requests, answer),
        };
        self.warden.run(permit, job).map(CallProgress::With)
    }

    /// One after the other: what one refuses, the next never sees.
    fn judgement(
        &self,
        text: &str,
        approved: Option<&Approved>,
        request: &CallRequest,
        record: &mut CallRecord,
    ) -> Result<Judgement, ToolError> {
        let (tool, judged) = self.judge_call(request, text, record)?;
        let journal = request.journal.as_deref().filter(|_| tool.policy.safety != Safety::ReadOnly);
        // What happened is not asked about again.
        let before =
            match self.warden.resume(record, journal, |answer| deliver(request, &self.requests, answer))? {
                ControlFlow::Continue(before) => before,
                ControlFlow::Break(answer) => return Ok(Judgement::Answered(answer)),
            };
        reachable(request, &tool, &judged)?;
        let permit = match judged {
            PermittedCall::Permit(permit) => permit,
            PermittedCall::Ask(pending) => {
                // What a person agreed to was the whole.
                if let Some(error) = before.unfinished_error("its rest needs an approval") {
                    return Err(error);
                }
                match self.begin_approval(request, &tool, pending, approved, record)? {
                    ControlFlow::Continue(permit) => permit,
                    ControlFlow::Break(waiting) => return Ok(Judgement::Wait(waiting)),
                }
            }
        };
        record.verdict = VerdictKind::Permit;
        Ok(Judgement::Run(Box::new((permit, tool, before))))
    }

    /// The tool that is meant, and what the judge says of this call of it.
    ///
    /// # Errors
    /// What the registry, the schema and the judge refuse, in this order.
    fn judge_call(
        &self,
        request: &CallRequest,
        text: &str,
        record: &mut CallRecord,
    ) -> Result<(Arc<RegisteredTool>, PermittedCall), ToolError> {
        let tool = self.registry.get(&request.tool).cloned().inspect_err(|_| {
            // Nothing classifies them, so they are audited by length and hash.
            record.facts.arguments = redact(&Value::String(text.to_owned()), None);
        })?;
        record.facts.component_sha256 = Some(tool.component.sha256().to_owned());
        record.facts.policy_sha256 = Some(tool.policy.sha256.clone());
        record.facts.profile = Some(tool.policy.profile.clone());
        let arguments = tool.read(text).inspect_err(|_| {
            record.facts.arguments = redact(&Value::String(text.to_owned()), None);
        })?;
        record.facts.arguments = redact(&arguments, Some(&tool.policy));
        let (started, limits) = (record.started, tool.policy.limits);
        let stopped = || request.stop_error(started, limits);
        let judged = match tool.judge(request.id.clone(), arguments, &stopped)? {
            Verdict::Permit(permit) => {
                record.verdict = VerdictKind::Permit;
                PermittedCall::Permit(permit)
            }
            Verdict::Ask(pending) => PermittedCall::Ask(pending),
            Verdict::Deny(denial) => return Err(denial.into()),
        };
        Ok((tool, judged))
    }

    /// What the audit is told of a call that begins now.
    fn record(&self, asked: &PendingRequest) -> CallRecord {
        let request = &asked.request;
        let facts = CallFacts {
            call: request.id.clone(),
            turn: request.turn.clone(),
            session: request.session.clone(),
            caller: request.caller.clone(),
            own_workspace: self.warden.workspaces().is_per_user(),
            tool: one_line(&request.tool, 80),
            component_sha256: None,
            policy_sha256: None,
            profile: None,
            arguments: Value::Null,
            arguments_sha256: sha256_hex(request.arguments.as_deref().unwrap_or_default().as_bytes()),
        };
        let counted = match self.registry.get(&request.tool) {
            Ok(_) => CountedAs::Tool(request.tool.clone()),
            Err(_) => CountedAs::Unknown,
        };
        CallRecord::begin(facts, counted, asked.told.clone())
    }

    /// Writes down that a call was refused before it ran; returns what to answer.
    fn refused(&self, record: CallRecord, refused: ToolError) -> ToolError {
        self.warden.write_outcome(record, Some(&refused)).err().unwrap_or(refused)
    }
}
