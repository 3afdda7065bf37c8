//! The order in which files change: the journal first, then the intent, then what goes to another
//! request, then the files, and the outcome when the call ends. The other request may not take what
//! it is handed, and then no file changes; what it has taken, it sends in every case.
//!
//! Nothing of it happens after the watchdog has answered.

use super::Warden;
use super::record::CallRecord;
use super::unwritten::audit_error;
use crate::attachments::outgoing::Addition;
use crate::audit::Durability;
use crate::publish::{PlannedChange, Workspace, describe_effects};
use cofferdam_core::audit::{AuditEvent, CallFacts, Effect, Intent};
use cofferdam_core::tool::{ErrorCode, ToolError};

/// What is to be published.
pub(super) struct Publication<'a> {
    /// Where.
    pub(super) workspace: &'a Workspace,
    /// What an earlier run of the call, which a crash cut off, has done of the plan.
    pub(super) before: Option<Vec<Effect>>,
    /// What is changed, in order.
    pub(super) plan: Vec<PlannedChange>,
    /// What is added to a reply.
    pub(super) reply: Option<Addition>,
    /// Says whether the caller still waits.
    pub(super) commit: &'a dyn Fn() -> bool,
    /// Keeps the answer where a replayed turn finds it; of one that is kept, sees that the turn is
    /// still this process's. Under the lock, because a node that takes the turn over settles under
    /// it what was begun here.
    pub(super) keep: &'a dyn Fn(&CallFacts) -> Result<(), ToolError>,
    /// Hands over what goes to another request.
    pub(super) deliver: &'a dyn Fn() -> Result<(), ToolError>,
}

impl Warden {
    /// Publishes what there is. What had landed by an error is in `record`, which holds the lock
    /// until the outcome is written.
    ///
    /// # Errors
    /// One that replaces the call's result.
    pub(super) fn publish(
        &self,
        record: &mut CallRecord,
        publication: Publication<'_>,
    ) -> Result<(), ToolError> {
        let Publication { workspace, before, plan, reply, commit, keep, deliver } = publication;
        if plan.is_empty() && reply.is_none() {
            return Ok(());
        }
        if !commit() {
            let said = match &before {
                None => "the deadline passed before publishing; nothing was changed".to_owned(),
                Some(done) => format!(
                    "the deadline passed; done before the gateway stopped: {}",
                    describe_effects(done)
                ),
            };
            return Err(ToolError::new(ErrorCode::TimedOut, said));
        }
        let audit = &self.parts.audit;
        record.publishing = Some(audit.lock_publishing().map_err(audit_error)?);
        keep(&record.facts)?;
        // The whole plan, also where its first steps happened in an earlier run: a crash now is
        // settled as a whole.
        let before = before.unwrap_or_default();
        let added = reply.as_ref().map(Addition::effects).unwrap_or_default();
        let planned = before.iter().cloned().chain(plan.iter().map(PlannedChange::effect));
        let files = planned.chain(added.iter().cloned()).collect();
        let intent = AuditEvent::Intent(Intent { facts: record.facts.clone(), files });
        record.intent = Some(audit.append(intent, Durability::Synced).map_err(audit_error)?);
        deliver()?;
        match workspace.publish(plan) {
            Ok(files) => record.files = [before, files, added].concat(),
            Err(mut failure) => {
                let elsewhere = reply.is_some_and(|reply| *reply.request() != record.facts.turn);
                let handed = added.into_iter().filter(|_| elsewhere);
                failure.landed.splice(..0, before.into_iter().chain(handed));
                record.files = failure.landed.clone();
                return Err(failure.into());
            }
        }
        // Not before: what fails until here adds nothing to the call's own reply.
        if let Some(reply) = reply {
            reply.keep();
        }
        Ok(())
    }
}
