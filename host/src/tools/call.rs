//! One call: registry, schema, judge, sandbox, publisher, audit, in this order and no other.
//!
//! This file is the way from a request to its answer; what happens at each step is in a file of its own.

mod asking;
mod delivering;
mod judged;
mod keep;
mod outcome;
mod publishing;
mod replay;
mod request;
mod running;
#[cfg(test)]
mod tests;
mod toolbox;
mod unwritten;

pub use keep::Output;
pub use request::CallRequest;
pub use toolbox::{Mechanisms, Toolbox};

use super::Judged;
use super::threads::{self, Handover};
use asking::{Approved, Asking, Ended};
use cofferdam_core::audit::VerdictKind;
use cofferdam_core::limits::Limits;
use cofferdam_core::tool::{Answer, ErrorCode, ToolError};
use outcome::Progress;
use replay::{Replay, earlier};
use request::Asked;
use running::Permitted;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use toolbox::Parts;

impl Toolbox {
    /// Runs one call to its audited end.
    ///
    /// # Errors
    /// Every refusal and failure, by code; each is in the audit.
    pub async fn call(&self, mut request: CallRequest) -> Result<Answer, ToolError> {
        request.tool = self.parts.registry.named(&request.tool).into_owned();
        let tool = self.parts.registry.get(&request.tool).ok();
        let limits = tool.map_or(Limits::DEFAULT, |tool| tool.policy.limits);
        if let Err(late) = request.take_recent(tool.map(Arc::as_ref), limits).await {
            return Err(self.refuse(request, late).await);
        }
        let asked = Asked::of(request);
        match self.on_a_thread(&asked, limits, None).await? {
            Ended::With(answer) => Ok(answer),
            Ended::Waiting(waiting) => {
                let approved = self.decided(&asked, *waiting).await?;
                match self.on_a_thread(&asked, limits, Some(approved)).await? {
                    Ended::With(answer) => Ok(answer),
                    // Only a call without an approval waits for one.
                    Ended::Waiting(_) => Err(self.unanswered(asked, threads::crashed()).await),
                }
            }
        }
    }

    /// Runs the call on a thread, to its end or to the question that a person must answer first.
    async fn on_a_thread(
        &self,
        asked: &Arc<Asked>,
        limits: Limits,
        approved: Option<Approved>,
    ) -> Result<Ended, ToolError> {
        // What was approved is judged by what holds now, whatever held when it was asked about.
        let parts = if approved.is_some() { self.in_force() } else { self.parts.clone() };
        let job = asked.clone();
        let work = move |handover: Handover| parts.call(&job, approved.as_ref(), &handover);
        let ended = self.threads.run(&asked.request.caller, limits.deadline.0, work).await;
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
        self.unanswered(Asked::of(request), why).await
    }

    /// Writes down a call that no thread answered, off the async threads, and returns what to answer.
    async fn unanswered(&self, asked: Arc<Asked>, refused: ToolError) -> ToolError {
        let parts = self.parts.clone();
        let appended = tokio::task::spawn_blocking(move || parts.refused(&asked, refused)).await;
        appended.unwrap_or_else(|_| threads::crashed())
    }
}

impl Parts {
    /// The call on its thread. Its outcome is in the audit, unless it has not ended: a person is asked first.
    fn call(
        &self,
        asked: &Asked,
        approved: Option<&Approved>,
        handover: &Handover,
    ) -> Result<Ended, ToolError> {
        let request = &asked.request;
        let mut progress = Progress::of(request, &self.workspaces);
        let text = match &request.arguments {
            Ok(text) => text,
            Err(why) => {
                // Its words are for the sender alone: one of them may be a content without its name.
                let audited = ToolError::new(ErrorCode::InvalidArguments, why.audited());
                let told = ToolError::new(ErrorCode::InvalidArguments, why.to_string());
                return self.record_outcome(asked, progress, &Err(audited)).and(Err(told));
            }
        };
        let running = Running { text, approved, handover };
        match self.steps(request, &running, &mut progress) {
            Ok(Ended::Waiting(waiting)) => Ok(Ended::Waiting(waiting)),
            Ok(Ended::With(answer)) => {
                let answer = Ok(answer);
                self.record_outcome(asked, progress, &answer).and(answer).map(Ended::With)
            }
            Err(error) => self.record_outcome(asked, progress, &Err(error.clone())).and(Err(error)),
        }
    }

    /// One after the other: what one refuses, the next never sees.
    fn steps(
        &self,
        request: &CallRequest,
        running: &Running<'_>,
        progress: &mut Progress,
    ) -> Result<Ended, ToolError> {
        let (tool, judged) = self.judged(request, running.text, progress)?;
        let earlier = earlier(request, tool.policy.safety, &progress.facts.arguments_sha256)?;
        // What happened is not asked about again.
        let cut = match self.replayed(request, earlier.as_ref(), progress)? {
            Replay::Fresh => None,
            Replay::CutOff(cut) => Some(cut),
            Replay::Answered(answer) => return Ok(Ended::With(answer)),
        };
        if let (Some(cut), Judged::Ask(_)) = (&cut, &judged) {
            // What a person agreed to was the whole.
            return Err(cut.unfinished("its rest needs an approval"));
        }
        let permit = match judged {
            Judged::Permit(permit) => permit,
            Judged::Ask(ask) => match self.asking(request, &tool, ask, running.approved, progress)? {
                Asking::Permit(permit) => *permit,
                Asking::Wait(waiting) => return Ok(Ended::Waiting(waiting)),
            },
        };
        progress.verdict = VerdictKind::Permit;
        let permitted = Permitted { permit, component: &tool.component, earlier: earlier.as_ref(), cut };
        let ran = self.run(request, permitted, progress)?;
        self.published(request, ran, progress, running.handover).map(Ended::With)
    }
}

/// What a call has on its thread, besides the request.
struct Running<'a> {
    text: &'a str,
    approved: Option<&'a Approved>,
    handover: &'a Handover,
}
