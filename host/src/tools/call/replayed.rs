//! A call that already happened, before a crash: its answer again, and nothing a second time.

use super::outcome::{Progress, unaudited};
use super::request::CallRequest;
use super::toolbox::Parts;
use crate::tools::Earlier;
use cofferdam_core::audit::VerdictKind;
use cofferdam_core::policy::Safety;
use cofferdam_core::tool::{Answer, ErrorCode, ToolError};

impl Parts {
    /// The answer of this very call from before a crash, if its effects are there.
    pub(super) fn replayed(
        &self,
        request: &CallRequest,
        earlier: Option<&Earlier>,
        progress: &mut Progress,
    ) -> Result<Option<Answer>, ToolError> {
        let Some(answer) = earlier.and_then(|earlier| earlier.answer.clone()) else { return Ok(None) };
        match self.audit.landed(&request.id) {
            Ok(Some(files)) if self.outgoing.adopt(&request.turn, &answer.attachments) => {
                self.deliver(request, &answer)?;
                progress.files = files;
                progress.verdict = VerdictKind::Permit;
                Ok(Some(answer))
            }
            Ok(Some(_)) => Ok(None),
            Ok(None) => Ok(None),
            Err(error) => Err(unaudited(&error)),
        }
    }
}

/// What the journal of a durable turn says, for a call that may change something.
pub(super) fn earlier(
    request: &CallRequest,
    safety: Safety,
    arguments_sha256: &str,
) -> Result<Option<Earlier>, ToolError> {
    let Some(journal) = request.journal.as_ref().filter(|_| safety != Safety::ReadOnly) else {
        return Ok(None);
    };
    let unreadable = |e| ToolError::new(ErrorCode::Internal, format!("the journal cannot be read: {e}"));
    journal.earlier(request.id.as_str(), arguments_sha256).map(Some).map_err(unreadable)
}
