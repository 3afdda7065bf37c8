//! What the trusted core asks of a call's caller: which other request a file of it is for.

use super::request::CallRequest;
use crate::open_requests::{CallOrigin, NotOpen, Requests};
use cofferdam_core::journal::JournalError;
use cofferdam_core::tool::{ErrorCode, ToolAnswer, ToolError};
use cofferdam_warden::attachments::outgoing::Resolve;
use cofferdam_warden::calls::journal_error;
use std::sync::Arc;

/// One call, as its caller sees it.
pub(super) struct RunningCall<'a> {
    pub(super) request: &'a CallRequest,
    pub(super) requests: &'a Arc<Requests>,
}

impl RunningCall<'_> {
    /// Finds the request that the call means. One without a reply is not found: nobody would send
    /// the files.
    pub(super) fn resolve_request(&self) -> Resolve {
        let (requests, has_reply) = (self.requests.clone(), self.request.has_reply);
        let from = CallOrigin {
            request: self.request.turn.clone(),
            session: self.request.session.clone(),
            caller: self.request.caller.clone(),
        };
        Arc::new(move |to| match requests.resolve(&from, to)? {
            own if own == from.request && !has_reply => Err(NotOpen::NoReply.into()),
            found => Ok(found),
        })
    }

    /// Hands the files of an answer to the other request that it names, once.
    pub(super) fn deliver(&self, answer: &ToolAnswer) -> Result<(), ToolError> {
        let Some(delivery) = &answer.delivery else { return Ok(()) };
        let said = "the files cannot be handed over, so nothing was sent";
        let unwritten = |e: JournalError| journal_error(said, &e);
        let none = || ToolError::new(ErrorCode::Internal, format!("{said}: no turn is kept here"));
        let journal = self.request.journal.as_ref().ok_or_else(none)?;
        let call = self.request.id.as_str();
        if journal.is_delivered(call).map_err(unwritten)? {
            return Ok(());
        }
        let handed = self.requests.run_while_open(&delivery.request, || journal.deliver(call, delivery));
        handed.ok_or_else(|| NotOpen::NothingOpen(delivery.request.to_string()))?.map_err(unwritten)
    }
}
