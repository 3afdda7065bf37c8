//! Files of a call for the reply to another request: which one is meant, and that it gets them once.

use super::request::CallRequest;
use super::toolbox::Parts;
use super::unwritten::unjournaled;
use crate::bus::{Origin, Rejected};
use cofferdam_core::journal::JournalError;
use cofferdam_core::tool::{Answer, ErrorCode, ToolError};
use cofferdam_warden::attachments::outgoing::Resolve;
use std::sync::Arc;

impl Parts {
    /// Finds the request that the call means.
    pub(super) fn reaching(&self, request: &CallRequest) -> Resolve {
        let requests = self.requests.clone();
        let from = Origin {
            request: request.turn.clone(),
            session: request.session.clone(),
            caller: request.caller.clone(),
        };
        Arc::new(move |to| Ok(requests.resolve(&from, to)?))
    }

    /// Hands the files of a call to the other request that it named, once, while that is being answered.
    pub(super) fn deliver(&self, request: &CallRequest, answer: &Answer) -> Result<(), ToolError> {
        let Some(delivery) = &answer.delivery else { return Ok(()) };
        let said = "the files cannot be handed over, so nothing was sent";
        let unwritten = |e: JournalError| unjournaled(said, &e);
        let none = || ToolError::new(ErrorCode::Internal, format!("{said}: no turn is kept here"));
        let journal = request.journal.as_ref().ok_or_else(none)?;
        let call = request.id.as_str();
        if journal.delivered(call).map_err(unwritten)? {
            return Ok(());
        }
        let handed = self.requests.while_open(&delivery.request, || journal.deliver(call, delivery));
        handed.ok_or_else(|| Rejected::NothingOpen(delivery.request.to_string()))?.map_err(unwritten)
    }
}
