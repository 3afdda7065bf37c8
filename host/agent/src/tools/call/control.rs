//! What the trusted core asks of a call's caller: which other request a file of it is for.

use super::request::CallRequest;
use crate::open_requests::{CallOrigin, NO_REPLY, Requests, nothing_open_error};
use cofferdam_core::journal::JournalError;
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use cofferdam_warden::attachments::outgoing::Resolve;
use cofferdam_warden::calls::journal_error;
use std::sync::Arc;

/// Finds the request that a call means. One without a reply is not found: nobody would send the
/// files.
pub(super) fn resolve_request(request: &CallRequest, requests: &Arc<Requests>) -> Resolve {
    let (requests, has_reply) = (requests.clone(), request.has_reply);
    let from = CallOrigin {
        request: request.turn.clone(),
        session: request.session.clone(),
        caller: request.caller.clone(),
    };
    Arc::new(move |to| match requests.resolve(&from, to)? {
        own if own == from.request && !has_reply => Err(ToolError::new(ErrorCode::PathDenied, NO_REPLY)),
        found => Ok(found),
    })
}

/// Hands the files of a call's answer to the other request that it names, once.
pub(super) fn deliver(
    request: &CallRequest,
    requests: &Requests,
    answer: &ToolAnswer,
) -> Result<(), ToolError> {
    let Some(delivery) = &answer.delivery else { return Ok(()) };
    let said = "the files cannot be handed over, so nothing was sent";
    let unwritten = |e: JournalError| journal_error(said, &e);
    let none = || ToolError::new(ErrorCode::Internal, format!("{said}: no turn is kept here"));
    let journal = request.journal.as_ref().ok_or_else(none)?;
    let call = request.id.as_str();
    if journal.is_delivered(call).map_err(unwritten)? {
        return Ok(());
    }
    let handed = requests.run_while_open(&delivery.request, || journal.deliver(call, delivery));
    handed.ok_or_else(|| nothing_open_error(delivery.request.as_str()))?.map_err(unwritten)
}
