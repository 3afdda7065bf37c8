//! The requests of a call in the audit: each one, also one that was refused.

use super::Warden;
use super::unwritten::audit_error;
use crate::audit::Durability;
use crate::sandbox::{ExchangeNote, WebAccess};
use cofferdam_core::audit::{AuditEvent, CallFacts, NetworkRequest};
use cofferdam_core::secret::redact;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ErrorCode;
use cofferdam_core::web::{FailureKind, RequestRecord};

impl Warden {
    /// The way to the network for this call.
    pub(super) fn web_of(&self, facts: &CallFacts) -> WebAccess {
        let (audit, web) = (self.parts.audit.clone(), self.parts.web.clone());
        let (call, turn, caller, tool) =
            (facts.call.clone(), facts.turn.clone(), facts.caller.clone(), facts.tool.clone());
        let note = move |noted: ExchangeNote| {
            let ExchangeNote { asked: RequestRecord { method, host, path }, status, bytes, sending, failure } =
                noted;
            // What may change something there is on disk before it is sent.
            let durability = if sending { Durability::Synced } else { Durability::Buffered };
            let request = NetworkRequest {
                call: call.clone(),
                turn: turn.clone(),
                caller: caller.clone(),
                tool: tool.clone(),
                method: one_line(&method, 40),
                host: one_line(&redact(&host), 300),
                path: one_line(&redact(&path), 1024),
                status,
                bytes,
                sending,
                code: failure.as_ref().and_then(|failure| code(failure.kind)),
                reason: failure.map(|failure| one_line(&redact(&failure.message), 1024)),
            };
            audit.append(AuditEvent::Network(request), durability).map(drop).map_err(audit_error)
        };
        WebAccess { web, note: Box::new(note) }
    }
}

/// The code of a failure; none where the server or the way to it is at fault.
fn code(kind: FailureKind) -> Option<ErrorCode> {
    match kind {
        FailureKind::Denied => Some(ErrorCode::NetworkDenied),
        FailureKind::TooLarge => Some(ErrorCode::TooLarge),
        FailureKind::Late => Some(ErrorCode::TimedOut),
        FailureKind::NotFound => Some(ErrorCode::NotFound),
        FailureKind::Packed | FailureKind::Broken => None,
    }
}
