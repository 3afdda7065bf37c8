//! A permitted call in its sandbox: what it is given, and what it leaves to be published.

use super::outcome::Progress;
use super::replay::CutOff;
use super::request::CallRequest;
use super::toolbox::Parts;
use crate::tools::Earlier;
use cofferdam_core::audit::{CallFacts, Effect};
use cofferdam_core::message::Delivery;
use cofferdam_core::tool::{Answer, ErrorCode, ToolError};
use cofferdam_policy::Permit;
use cofferdam_warden::attachments::outgoing::Addition;
use cofferdam_warden::publish::{Place, Planned, Workspace};
use cofferdam_warden::sandbox::{Component, Inputs};
use std::sync::Arc;

/// A call that may run.
pub(super) struct Permitted<'a> {
    pub(super) permit: Permit,
    pub(super) component: &'a Component,
    /// What the journal says of it.
    pub(super) earlier: Option<&'a Earlier>,
    /// What an earlier run of it, which a crash cut off, has left to do.
    pub(super) cut: Option<CutOff>,
}

/// A call that returned ok. Nothing of it is published yet.
pub(super) struct Ran {
    pub(super) workspace: Arc<Workspace>,
    pub(super) answer: Answer,
    /// What it changes, in order.
    pub(super) plan: Vec<Planned>,
    /// What it adds to a reply.
    pub(super) reply: Option<Addition>,
    pub(super) written_bytes: u64,
    /// What an earlier run of the call, which a crash cut off, has done of the plan.
    pub(super) before: Option<Vec<Effect>>,
}

impl Parts {
    /// Runs it to its end. What fails until then changes and adds nothing.
    pub(super) fn run(
        &self,
        request: &CallRequest,
        permitted: Permitted<'_>,
        progress: &Progress,
    ) -> Result<Ran, ToolError> {
        let Permitted { permit, component, earlier, cut } = permitted;
        // Not before: what is refused makes no folder.
        let workspace = self.workspace_of(&progress.facts)?;
        let inputs = Inputs {
            attachments: request.attachments.clone(),
            reply: Some(self.outgoing.addition(&request.turn).reaching(self.reaching(request))),
            report: request.report.clone(),
            printed: request.printed.clone(),
            turn: self.ledger.share(&request.turn, earlier),
            made: cut.as_ref().map(CutOff::made).unwrap_or_default(),
            cancel: request.cancel.clone(),
            started: progress.started,
        };
        let read = permit.found().to_vec();
        let finished = self.sandbox.run(permit, component, &workspace, inputs);
        Self::still_found(&workspace, &read)?;
        let result = match &cut {
            None => finished.result?,
            Some(cut) => finished.result.map_err(|error| cut.unfinished(&error.message))?,
        };
        let attachments = finished.reply.as_ref().map(Addition::attachments).unwrap_or_default();
        let elsewhere = finished.reply.as_ref().map(Addition::request).filter(|to| **to != request.turn);
        let answer = match elsewhere.cloned() {
            None => Answer { result, attachments, delivery: None },
            Some(to) => {
                let delivery = Some(Delivery { request: to, attachments });
                Answer { result, attachments: Vec::new(), delivery }
            }
        };
        let (plan, reply, written_bytes) = (finished.plan, finished.reply, finished.written_bytes);
        let Some(cut) = cut else {
            return Ok(Ran { workspace, answer, plan, reply, written_bytes, before: None });
        };
        let plan = cut.rest_of(&answer, plan)?;
        let before = Some(cut.done().to_vec());
        Ok(Ran { workspace, answer: cut.into_answer(), plan, reply, written_bytes, before })
    }

    /// The workspace that a call is in: its session's `/tmp`, its user's files where users have their own.
    pub(super) fn workspace_of(&self, facts: &CallFacts) -> Result<Arc<Workspace>, ToolError> {
        self.workspaces.at(&Place::of(facts)).map_err(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a folder of the workspace cannot be opened"
            );
            let code = if error.is_no_space() { ErrorCode::NoSpace } else { ErrorCode::Internal };
            let said = "the folders of this conversation cannot be opened; the operator finds why in the log";
            ToolError::new(code, said)
        })
    }
}
