//! A change of the gateway's own that no call makes: its intent is on disk before it, its outcome
//! says how it went.

use super::{AuditError, AuditLog, Durability};
use cofferdam_core::audit::{AuditEvent, CallOutcome, Intent, VerdictKind};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::time::Instant;

/// Of why a change failed, so many bytes are told.
const REASON_BYTES_MAX: usize = 500;

impl AuditLog {
    /// Makes a change between its intent and its outcome. Without the intent it is not made.
    ///
    /// # Errors
    /// What the change says; or why its intent or its outcome cannot be written, and the next start
    /// writes the outcome then.
    pub fn change_audited(
        &self,
        intent: Intent,
        change: impl FnOnce() -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        let failed = |error: AuditError| ToolError::new(ErrorCode::Internal, format!("the audit: {error}"));
        let began = Instant::now();
        // Nobody settles what is open until the outcome is written.
        let _publishing = self.lock_publishing().map_err(failed)?;
        let seq = self.append(AuditEvent::Intent(intent.clone()), Durability::Synced).map_err(failed)?;
        let changed = change();
        let error = changed.as_ref().err();
        let outcome = CallOutcome {
            facts: intent.facts,
            verdict: VerdictKind::Permit,
            reason: error.map(|error| one_line(&error.message, REASON_BYTES_MAX)),
            code: error.map(|error| error.code),
            files: if error.is_none() { intent.files } else { Vec::new() },
            intent: Some(seq),
            reconciled: false,
            settled_by: None,
            duration_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        let written = self.append(AuditEvent::Outcome(outcome), Durability::Buffered).map_err(failed);
        changed.and(written.map(drop))
    }
}
