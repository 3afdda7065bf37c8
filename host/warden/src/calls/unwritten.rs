//! What a call is answered where the gateway cannot write down what it must: refused, for nothing
//! happens unrecorded.

use crate::audit::AuditError;
use cofferdam_core::journal::JournalError;
use cofferdam_core::tool::{ErrorCode, ToolError};

/// What to answer when the audit cannot be written.
pub(super) fn audit_error(error: AuditError) -> ToolError {
    tracing::error!(error = &error as &dyn std::error::Error, "the audit failed");
    if let AuditError::TooLong { bytes, bytes_max } = &error {
        let said = format!(
            "the changes of this call need {bytes} bytes in the audit, of at most {bytes_max}, so nothing was changed; \
             make fewer of them in one call"
        );
        return ToolError::new(ErrorCode::TooLarge, said);
    }
    let said = "the audit cannot be written, so the call was refused";
    if error.is_no_space() {
        return no_space_error(said);
    }
    ToolError::new(ErrorCode::Internal, format!("{said}; the operator finds why in the log"))
}

/// What to answer when the journal fails or refuses; `said` is what a failure comes to.
pub fn journal_error(said: &str, error: &JournalError) -> ToolError {
    if let JournalError::OverDayBudget(_) = error {
        return ToolError::new(ErrorCode::QuotaExceeded, format!("nothing was changed: {error}"));
    }
    tracing::error!(error = error as &dyn std::error::Error, "the journal failed");
    match error {
        JournalError::NoSpace => no_space_error(said),
        _ => ToolError::new(ErrorCode::Internal, format!("{said}: {error}")),
    }
}

/// Not the workspace's disk, which the caller could make room on.
fn no_space_error(said: &str) -> ToolError {
    let why = "the gateway's own disk is full, and its operator must free space in its state directory";
    ToolError::new(ErrorCode::NoSpace, format!("{said}: {why}"))
}
