//! Writing to people for a call: to whom the judge named, with files that it named for reading.

use super::{Authority, denied};
use crate::attachments::outgoing::OutgoingFile;
use crate::messaging::Messaging;
use cofferdam_core::audit::CallFacts;
use cofferdam_core::capability::Interface;
use cofferdam_core::message::{DirectMessage, SentMessage};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::sync::Arc;

/// Files of one message that a call writes.
pub const MESSAGE_FILES_MAX: usize = 10;

/// Said of tools that write to people where nobody can be reached.
pub const NOBODY_REACHED: &str = "people are written to by a running `cofferdam serve` alone, and this call is not one of \
     its chats; ask for it in a chat with the bot, or write a workflow with `send`";

impl Authority {
    /// Who reaches people, and for which call.
    pub(super) fn messaging(&self) -> Result<(&Arc<dyn Messaging>, &CallFacts), ToolError> {
        if !self.permit.grants().allows(Interface::Messaging) {
            return Err(denied("nobody may be written to here; the policy's profile grants it"));
        }
        let reaches = self.inputs.messaging.as_ref().map(|(people, of)| (people, of));
        reaches.ok_or_else(|| ToolError::new(ErrorCode::ToolUnavailable, NOBODY_REACHED))
    }

    pub(super) fn send(&mut self, message: DirectMessage) -> Result<SentMessage, ToolError> {
        let (people, of) = self.messaging()?;
        let to = one_line(&message.to, 80);
        if !self.permit.may_write_to(&message.to) {
            return Err(denied(format!(
                "{to} was not judged as a recipient of this call; use the argument itself"
            )));
        }
        if message.files.len() > MESSAGE_FILES_MAX {
            let said =
                format!("a message takes at most {MESSAGE_FILES_MAX} files; send the rest in another one");
            return Err(ToolError::new(ErrorCode::QuotaExceeded, said));
        }
        let source = |path: &String| {
            let body = self.permitted_body(path)?;
            Ok(OutgoingFile { body, name: None, mime_type: None })
        };
        let files = message.files.iter().map(source).collect::<Result<_, ToolError>>()?;
        let limits = *self.permit.limits();
        let stopped = || self.clock.stop_reason().map(|stopped| stopped.to_tool_error(&limits));
        let sent = people.send(of, message, files, &stopped);
        if sent.as_ref().err().is_none_or(|unsent| unsent.may_go_out) {
            self.written_to.insert(to);
        }
        sent.map_err(|unsent| unsent.error)
    }

    /// Why a call failed, and what stands all the same: nobody takes back what it wrote to people.
    pub(in crate::sandbox) fn tell_written(&self, error: ToolError) -> ToolError {
        if self.written_to.is_empty() {
            return error;
        }
        let to: Vec<&str> = self.written_to.iter().map(String::as_str).collect();
        let stands = format!(", but what it wrote to {} is out, or may go out yet", to.join(", "));
        // However much a guest has to say.
        let why = one_line(&error.message, ToolError::MESSAGE_BYTES_MAX.saturating_sub(stands.len()));
        ToolError::new(error.code, why + &stands)
    }
}
