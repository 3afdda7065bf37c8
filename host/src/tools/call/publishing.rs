//! What a call that returned ok in time leaves: the journal first, then the intent, then the files.
//!
//! Nothing of it happens after the watchdog has answered.

use super::outcome::Progress;
use super::request::CallRequest;
use super::running::Ran;
use super::toolbox::Parts;
use super::unwritten::{unaudited, unjournaled};
use crate::tools::Handover;
use cofferdam_core::audit::{Event, Intent};
use cofferdam_core::tool::{Answer, ErrorCode, ToolError};
use cofferdam_warden::attachments::outgoing::Addition;
use cofferdam_warden::audit::Durability;
use cofferdam_warden::publish::{Planned, told};

impl Parts {
    /// Publishes what there is, keeps what goes out, and returns the answer.
    ///
    /// # Errors
    /// One that replaces the guest's result; what had landed by then is in `progress`.
    pub(super) fn published(
        &self,
        request: &CallRequest,
        ran: Ran,
        progress: &mut Progress,
        handover: &Handover,
    ) -> Result<Answer, ToolError> {
        let Ran { workspace, answer, plan, reply, written_bytes, before } = ran;
        if plan.is_empty() && reply.is_none() {
            return Ok(answer);
        }
        if !handover.commit() {
            let said = match &before {
                None => "the deadline passed before publishing; nothing was changed".to_owned(),
                Some(done) => format!("the deadline passed; done before the gateway stopped: {}", told(done)),
            };
            return Err(ToolError::new(ErrorCode::TimedOut, said));
        }
        progress.publishing = Some(self.audit.publishing().map_err(|e| unaudited(&e))?);
        if before.is_none() {
            self.enter(request, &answer, written_bytes, &progress.facts.arguments_sha256)?;
        }
        // The whole plan, also where its first steps happened in an earlier run: a crash now is settled as a whole.
        let before = before.unwrap_or_default();
        let added = reply.as_ref().map(Addition::effects).unwrap_or_default();
        let planned = before.iter().cloned().chain(plan.iter().map(Planned::effect));
        let files = planned.chain(added.iter().cloned()).collect();
        let intent = Event::Intent(Intent { facts: progress.facts.clone(), files });
        progress.intent = Some(self.audit.append(intent, Durability::Synced).map_err(|e| unaudited(&e))?);
        self.deliver(request, &answer)?;
        match workspace.publish(plan) {
            Ok(files) => progress.files = [before, files, added].concat(),
            Err(mut failure) => {
                failure.landed.splice(..0, before);
                progress.files = failure.landed.clone();
                return Err(failure.into());
            }
        }
        // Not before: what fails until here adds nothing.
        if let Some(reply) = reply {
            reply.keep();
        }
        Ok(answer)
    }

    /// Enters the answer into the turn's journal, or what was written where there is none.
    fn enter(
        &self,
        request: &CallRequest,
        answer: &Answer,
        written_bytes: u64,
        arguments_sha256: &str,
    ) -> Result<(), ToolError> {
        let Some(journal) = &request.journal else {
            self.ledger.enter(&request.turn, written_bytes);
            return Ok(());
        };
        let recorded = journal.record(request.id.as_str(), arguments_sha256, answer, written_bytes);
        recorded.map_err(|e| unjournaled("the journal cannot be written, so nothing was changed", &e))
    }
}
