//! A permitted call: its sandbox, what it leaves to be published, and its outcome.

use super::publication::Publication;
use super::record::CallRecord;
use super::replay::{EarlierRun, InterruptedPlan};
use super::unwritten::journal_error;
use super::{Parts, Warden};
use crate::attachments::Attachments;
use crate::attachments::outgoing::{Addition, Resolve};
use crate::messaging::Messaging;
use crate::publish::{FileOwner, PublishError, Workspace};
use crate::sandbox::{CallInputs, Component, FinishedCall, Reports};
use cofferdam_core::audit::{CallFacts, VerdictKind};
use cofferdam_core::journal::Journal;
use cofferdam_core::message::Delivery;
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use cofferdam_policy::{GuestPath, PathSnapshot, Permit};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a call needs besides its permit.
pub struct CallJob<'a> {
    /// What the audit is told.
    pub record: CallRecord,
    /// The tool's component.
    pub component: &'a Component,
    /// What an earlier run of it has left.
    pub before: EarlierRun,
    /// The call's attachments; not handed on unless the permit grants them.
    pub attachments: Attachments,
    /// Finds the request whose reply a file is added to.
    pub reaching: Resolve,
    /// Writes to people; none where nobody is reached.
    pub messaging: Option<Arc<dyn Messaging>>,
    /// Takes progress reports, if anybody does.
    pub report: Option<Reports>,
    /// Takes the lines that the guest prints, if anybody does.
    pub printed: Option<Reports>,
    /// Keeps the answer before anything is published; none where turns are not durable.
    pub journal: Option<Arc<dyn Journal>>,
    /// Ends the call early.
    pub cancel: CancellationToken,
    /// Claims the right to publish. False when the caller was answered meanwhile: nothing may
    /// change any more.
    pub commit: &'a dyn Fn() -> bool,
    /// Hands the files of an answer to the other request that it names, once; nothing where it
    /// names none. An error says why that does not take them; nothing is published then. They stay
    /// there where publishing fails, as its error and the outcome say.
    pub deliver: &'a dyn Fn(&ToolAnswer) -> Result<(), ToolError>,
}

impl Warden {
    /// Runs a judged call to its audited end. Blocks; meant for a thread of its own, never an async
    /// worker.
    ///
    /// # Errors
    /// Every failure, by code; what had landed by then is in the audit.
    pub fn run(&self, permit: Permit, mut job: CallJob<'_>) -> Result<ToolAnswer, ToolError> {
        job.record.verdict = VerdictKind::Permit;
        let result = self.run_to_publication(permit, &mut job);
        self.end(job.record, result)
    }

    fn run_to_publication(&self, permit: Permit, job: &mut CallJob<'_>) -> Result<ToolAnswer, ToolError> {
        // Not before: what is refused makes no folder.
        let workspace = self.workspace_of(&job.record.facts)?;
        let inputs = self.inputs_of(&permit, job);
        let read = permit.found().to_vec();
        let finished = self.parts.sandbox.run(permit, job.component, &workspace, inputs);
        // What fails until the plan is published changes and adds nothing.
        check_still_found(&workspace, &read)?;
        let FinishedCall { result, mut plan, written_bytes, reply } = finished;
        let cut = job.before.cut.take();
        let result = result.map_err(|error| match &cut {
            None => error,
            Some(cut) => cut.unfinished_error(&error.message),
        })?;
        let attachments = reply.as_ref().map(Addition::attachments).unwrap_or_default();
        let elsewhere = reply.as_ref().map(Addition::request).filter(|to| **to != job.record.facts.turn);
        let mut answer = match elsewhere.cloned() {
            None => ToolAnswer { result, attachments, delivery: None },
            Some(request) => {
                let delivery = Some(Delivery { request, attachments });
                ToolAnswer { result, attachments: Vec::new(), delivery }
            }
        };
        let before = match cut {
            None => None,
            Some(cut) => {
                plan = cut.rest_of(&answer, plan)?;
                answer = cut.answer;
                Some(cut.done)
            }
        };
        let CallJob { record, journal, commit, deliver, .. } = job;
        let (journal, is_kept) = (journal.as_deref(), before.is_some());
        let not_own = "the journal does not say that this turn goes on here, so nothing more was changed";
        let unwritten = "the journal cannot be written, so nothing was changed";
        let keep = |facts: &CallFacts| match journal {
            Some(journal) if is_kept => journal.ensure_own().map_err(|e| journal_error(not_own, &e)),
            Some(journal) => journal
                .record(facts.call.as_str(), &facts.arguments_sha256, &answer, written_bytes)
                .map_err(|e| journal_error(unwritten, &e)),
            // Counted here where there is no journal.
            None => {
                self.quota.enter(&facts.turn, written_bytes);
                Ok(())
            }
        };
        let deliver = || deliver(&answer);
        let (keep, deliver) = (&keep, &deliver);
        let publication =
            Publication { workspace: &workspace, before, plan, reply, commit: *commit, keep, deliver };
        self.publish(record, publication)?;
        Ok(answer)
    }

    /// What the guest is run with.
    fn inputs_of(&self, permit: &Permit, job: &CallJob<'_>) -> CallInputs {
        let turn = &job.record.facts.turn;
        CallInputs {
            attachments: job.attachments.clone(),
            reply: Some(self.parts.outgoing.addition(turn).reaching(job.reaching.clone())),
            messaging: job.messaging.clone().map(|messaging| (messaging, job.record.facts.clone())),
            report: job.report.clone(),
            printed: job.printed.clone(),
            web: permit.grants().network.is_some().then(|| self.web_of(&job.record.facts)),
            turn: self.quota.share(turn, job.before.earlier.as_ref()),
            made: job.before.cut.as_ref().map(InterruptedPlan::made).unwrap_or_default(),
            cancel: job.cancel.clone(),
            started: job.record.started,
        }
    }

    /// The workspace that a call is in: its session's `/tmp`, its user's files where users have
    /// their own.
    pub(super) fn workspace_of(&self, facts: &CallFacts) -> Result<Arc<Workspace>, ToolError> {
        let Parts { workspaces, .. } = &self.parts;
        workspaces.open_for(&FileOwner::from_facts(facts)).map_err(|error| {
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

/// Refuses a call that was approved for what it reads, once something else is found there: what a
/// guest reads by itself passes by the gateway.
fn check_still_found(
    workspace: &Workspace,
    approved: &[(GuestPath, Option<PathSnapshot>)],
) -> Result<(), ToolError> {
    for (path, seen) in approved {
        if workspace.read_snapshot(path)? != *seen {
            return Err(PublishError::NotAsApproved { path: path.clone() }.into());
        }
    }
    Ok(())
}
