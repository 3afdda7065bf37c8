//! The outcome of a call in the audit: written once, by the first who answers the call.
//!
//! Without its record there is no answer, except where the intent already tells.

use super::Warden;
use super::unwritten::audit_error;
use crate::audit::{Durability, HeldLock};
use cofferdam_core::audit::{AuditEvent, CallFacts, CallOutcome, Effect, VerdictKind};
use cofferdam_core::counts::COUNTS;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ToolAnswer, ToolError};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How a call appears among those that were counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountedAs {
    /// Under the name of a tool that there is.
    Tool(String),
    /// As a call of a tool that there is not.
    Unknown,
    /// Not at all: it is the gateway's own doing.
    Not,
}

/// What is known of a call while it runs, for its audit records.
#[derive(Debug)]
pub struct CallRecord {
    /// Who called what, as far as it is known.
    pub facts: CallFacts,
    /// What the policy said, as far as the call came.
    pub verdict: VerdictKind,
    /// How it is counted.
    pub counted: CountedAs,
    /// When the call's time began.
    pub started: Instant,
    pub(super) intent: Option<u64>,
    pub(super) files: Vec<Effect>,
    /// Held from before the intent until after the outcome, so that an intent without an outcome
    /// can only come from a crash.
    pub(super) publishing: Option<HeldLock<File>>,
    /// Whether the outcome is written. The first who answers writes it.
    told: Arc<AtomicBool>,
}

impl CallRecord {
    /// Of a call that begins now. All who may answer it share `told`: the first writes the outcome.
    pub fn begin(facts: CallFacts, counted: CountedAs, told: Arc<AtomicBool>) -> Self {
        Self {
            facts,
            verdict: VerdictKind::Deny,
            counted,
            started: Instant::now(),
            intent: None,
            files: Vec::new(),
            publishing: None,
            told,
        }
    }
}

impl Warden {
    /// Writes the outcome down and returns it. Without its record there is no answer, except where
    /// the intent already tells.
    ///
    /// # Errors
    /// The result's own, or that it cannot be written down.
    pub fn end(
        &self,
        record: CallRecord,
        result: Result<ToolAnswer, ToolError>,
    ) -> Result<ToolAnswer, ToolError> {
        self.write_outcome(record, result.as_ref().err()).and(result)
    }

    /// The same for a call without a result; `audited` is what the audit may hold of why it failed.
    ///
    /// # Errors
    /// That it cannot be written down.
    pub fn write_outcome(&self, record: CallRecord, audited: Option<&ToolError>) -> Result<(), ToolError> {
        // The watchdog may have answered meanwhile, and said so.
        if record.told.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let settles_intent = record.intent.is_some();
        let outcome = CallOutcome {
            facts: record.facts,
            verdict: record.verdict,
            reason: audited.map(|error| one_line(&error.message, 1024)),
            code: audited.map(|error| error.code),
            files: record.files,
            intent: record.intent,
            reconciled: false,
            settled_by: None,
            duration_us: u64::try_from(record.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        match &record.counted {
            CountedAs::Tool(tool) => COUNTS.calls.note_call(Some(tool), outcome.code, outcome.duration_us),
            CountedAs::Unknown => COUNTS.calls.note_call(None, outcome.code, outcome.duration_us),
            CountedAs::Not => {}
        }
        let appended = self.parts.audit.append(AuditEvent::Outcome(outcome), Durability::Buffered);
        drop(record.publishing);
        match appended {
            Ok(_) => Ok(()),
            Err(error) if settles_intent => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the outcome is not in the audit; the next start settles its intent"
                );
                Ok(())
            }
            Err(error) => Err(audit_error(error)),
        }
    }
}
