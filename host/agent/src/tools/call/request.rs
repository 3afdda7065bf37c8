//! A call as somebody asks for it. Nothing in it has been checked.

use crate::tools::{Approver, Journal, RegisteredTool};
use cofferdam_core::arguments::BadArguments;
use cofferdam_core::capability::Interface;
use cofferdam_core::id::{CallId, Caller, SessionId, TurnId};
use cofferdam_core::limits::Limits;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_warden::attachments::{Attachments, RecentAttachments};
use cofferdam_warden::messaging::Messaging;
use cofferdam_warden::sandbox::Reports;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// A call as somebody asks for it: nothing in it has been checked.
pub struct CallRequest {
    /// The same again when the turn is replayed.
    pub id: CallId,
    /// The turn.
    pub turn: TurnId,
    /// The conversation that it belongs to; none where calls stand alone, as on the command line.
    pub session: Option<SessionId>,
    /// Who asks.
    pub caller: Caller,
    /// Which client of the caller asks, where several have one name: each has its own share of the
    /// threads, and nothing else.
    pub client: Option<Arc<str>>,
    /// The tool's name as given.
    pub tool: String,
    /// The arguments as JSON text, or why what was typed cannot become JSON.
    pub arguments: Result<String, BadArguments>,
    /// The turn's attachments.
    pub attachments: Attachments,
    /// Whether files may be added to the reply of its own request; a task of a workflow has none.
    pub has_reply: bool,
    /// Where a tool that may see them finds the attachments of an earlier message; absent where
    /// there is no earlier message.
    pub recent: Option<Arc<dyn RecentAttachments>>,
    /// Takes what the call says of its progress; must not block.
    pub report: Option<Reports>,
    /// Takes the lines that the tool prints; must not block. Absent, they are in the log alone.
    pub printed: Option<Reports>,
    /// Where replayed turns look first; absent where turns are not durable.
    pub journal: Option<Arc<dyn Journal>>,
    /// Writes to people for the turn; absent where nobody is reached.
    pub messaging: Option<Arc<dyn Messaging>>,
    /// Who can be asked to approve it; where nobody can, a call that a policy asks about is
    /// refused.
    pub approver: Option<Arc<dyn Approver>>,
    /// Ends the call early.
    pub cancel: CancellationToken,
}

impl CallRequest {
    /// The only call of its turn: of no session, without files, and nobody is told of it, reached by
    /// it or asked to approve it.
    pub fn new(turn: TurnId, caller: Caller, tool: String, arguments: Result<String, BadArguments>) -> Self {
        Self {
            id: turn.call(0),
            turn,
            session: None,
            caller,
            client: None,
            tool,
            arguments,
            attachments: Attachments::default(),
            has_reply: true,
            recent: None,
            report: None,
            printed: None,
            journal: None,
            messaging: None,
            approver: None,
            cancel: CancellationToken::new(),
        }
    }

    /// Whose share of the threads it takes.
    pub(super) fn share(&self) -> Caller {
        let mut share = self.caller.clone();
        if let Some(client) = &self.client {
            share.sender = format!("{} {client}", share.sender);
        }
        share
    }

    /// Takes in the attachments of an earlier message, for a tool that may see them in a turn that
    /// has none.
    ///
    /// # Errors
    /// `timed_out` when that takes longer than the call may.
    pub(super) async fn take_recent(
        &mut self,
        tool: Option<&RegisteredTool>,
        limits: Limits,
    ) -> Result<(), ToolError> {
        let sees_recent = tool.is_some_and(|tool| tool.policy.grants.allows(Interface::RecentAttachments));
        if sees_recent
            && self.attachments.is_empty()
            && let Some(recent) = self.recent.clone()
        {
            tokio::select! {
                found = recent.recent() => self.attachments = found,
                // The call itself then says what became of it.
                () = self.cancel.cancelled() => {}
                () = tokio::time::sleep(limits.deadline.0) => {
                    let said = "fetching the files of the earlier message took longer than the call may take; \
                                nothing was changed";
                    return Err(ToolError::new(ErrorCode::TimedOut, said));
                }
            }
        }
        Ok(())
    }

    /// Why nothing of a call that began then is wanted any more, if so.
    pub(super) fn stop_error(&self, started: Instant, limits: Limits) -> Option<ToolError> {
        if self.cancel.is_cancelled() {
            let said = "the turn was cancelled; nothing was changed";
            return Some(ToolError::new(ErrorCode::Cancelled, said));
        }
        (started.elapsed() >= limits.deadline.0).then(|| {
            let said =
                format!("the arguments were not checked within {}; nothing was changed", limits.deadline);
            ToolError::new(ErrorCode::TimedOut, said)
        })
    }
}

/// A request, and whether the audit has its outcome: written once, by the side that answers.
pub(super) struct PendingRequest {
    pub(super) request: CallRequest,
    pub(super) told: Arc<AtomicBool>,
}

impl PendingRequest {
    pub(super) fn new(request: CallRequest) -> Arc<Self> {
        Arc::new(Self { request, told: Arc::default() })
    }
}
