//! The seam through which a call writes to people. What it may write to whom was judged before;
//! how a message goes out, once, is known behind this.

use crate::attachments::outgoing::OutgoingFile;
use cofferdam_core::audit::CallFacts;
use cofferdam_core::message::{DirectMessage, SentMessage};
use cofferdam_core::tool::ToolError;
use std::time::Duration;

/// Why a message is not known to be out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsentMessage {
    /// Why.
    pub error: ToolError,
    /// Whether it may go out all the same, or be out already.
    pub may_go_out: bool,
}

/// Writes to people for the calls of one turn. Blocks: for the threads of calls.
pub trait Messaging: Send + Sync {
    /// Whether somebody can be written to: asked before a person is asked to approve it.
    ///
    /// # Errors
    /// `recipient_denied`.
    fn check_served(&self, to: &str) -> Result<(), ToolError>;

    /// Sends a message with these files, which are its own, opened, in order, and waits until it is
    /// out. The same message of the same call is sent once, however often the call runs. `stopped`
    /// says why nobody waits any longer, if so.
    ///
    /// # Errors
    /// `recipient_denied`, `send_failed`, `not_found` for the workflow, those of taking its files,
    /// and what `stopped` says.
    fn send(
        &self,
        of: &CallFacts,
        message: DirectMessage,
        files: Vec<OutgoingFile>,
        stopped: &dyn Fn() -> Option<ToolError>,
    ) -> Result<SentMessage, UnsentMessage>;

    /// Begins a workflow of the turn; its id. The same call begins one, however often it runs.
    ///
    /// # Errors
    /// `tool_unavailable` where none can be gone on with, `quota_exceeded`.
    fn begin(&self, of: &CallFacts, summary: Option<String>) -> Result<String, ToolError>;

    /// Has the reply to a message of a workflow go on with the turn's request.
    ///
    /// # Errors
    /// `not_found`, `invalid_arguments`.
    fn wait(
        &self,
        of: &CallFacts,
        workflow: &str,
        message: &str,
        timeout: Option<Duration>,
    ) -> Result<(), ToolError>;
}
