//! What becomes of a call, as the audit is told: once, by whoever answers, whatever it was.
//!
//! Without its record there is no answer, except where the intent already tells.

use super::request::{Asked, CallRequest};
use super::toolbox::Parts;
use super::unwritten::unaudited;
use cofferdam_core::audit::{CallFacts, Effect, Event, Outcome, VerdictKind, sha256_hex};
use cofferdam_core::counts::COUNTS;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{Answer, ToolError};
use cofferdam_warden::audit::{Durability, PublishingGuard};
use cofferdam_warden::publish::Workspaces;
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What is known of a call while it runs, for its audit records.
pub(super) struct Progress {
    pub(super) facts: CallFacts,
    pub(super) started: Instant,
    pub(super) verdict: VerdictKind,
    pub(super) intent: Option<u64>,
    pub(super) files: Vec<Effect>,
    /// Held from before the intent until after the outcome, so that an intent without an outcome
    /// can only come from a crash.
    pub(super) publishing: Option<PublishingGuard>,
}

impl Progress {
    /// Of a call that begins now.
    pub(super) fn of(request: &CallRequest, workspaces: &Workspaces) -> Self {
        Self {
            facts: CallFacts {
                call: request.id.clone(),
                turn: request.turn.clone(),
                session: request.session.clone(),
                caller: request.caller.clone(),
                own_workspace: workspaces.per_user(),
                tool: one_line(&request.tool, 80),
                component_sha256: None,
                policy_sha256: None,
                profile: None,
                arguments: Value::Null,
                arguments_sha256: sha256_hex(request.arguments.as_deref().unwrap_or_default().as_bytes()),
            },
            started: Instant::now(),
            verdict: VerdictKind::Deny,
            intent: None,
            files: Vec::new(),
            publishing: None,
        }
    }
}

impl Parts {
    /// Writes the outcome down. Without it there is no answer, except where the intent already tells.
    pub(super) fn record_outcome(
        &self,
        asked: &Asked,
        progress: Progress,
        result: &Result<Answer, ToolError>,
    ) -> Result<(), ToolError> {
        // The watchdog may have answered meanwhile, and said so.
        if asked.told.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let settles_intent = progress.intent.is_some();
        let error = result.as_ref().err();
        let outcome = Outcome {
            facts: progress.facts,
            verdict: progress.verdict,
            reason: error.map(|e| one_line(&e.message, 1024)),
            code: error.map(|e| e.code),
            files: progress.files,
            intent: progress.intent,
            reconciled: false,
            duration_us: u64::try_from(progress.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        let known = self.registry.get(&asked.request.tool).is_ok().then_some(&*asked.request.tool);
        COUNTS.calls.ended(known, outcome.code, outcome.duration_us);
        let appended = self.audit.append(Event::Outcome(outcome), Durability::Buffered);
        drop(progress.publishing);
        match appended {
            Ok(_) => Ok(()),
            Err(error) if settles_intent => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the outcome is not in the audit; the next start settles its intent"
                );
                Ok(())
            }
            Err(error) => Err(unaudited(&error)),
        }
    }

    /// Writes down a call that no thread answered; returns what to answer.
    pub(super) fn refused(&self, asked: &Asked, refused: ToolError) -> ToolError {
        self.refused_knowing(asked, Progress::of(&asked.request, &self.workspaces), refused)
    }

    /// The same, where more is known of it.
    pub(super) fn refused_knowing(&self, asked: &Asked, progress: Progress, refused: ToolError) -> ToolError {
        let result = Err(refused.clone());
        self.record_outcome(asked, progress, &result).err().unwrap_or(refused)
    }
}
