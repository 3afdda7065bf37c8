//! Tasks that reach people: whom, with which words, and until when.

use crate::file::{RenderedText, TaskWork, TemplateText};
use crate::problem::FileFault;
use crate::template::{RenderScope, Template};
use cofferdam_core::id::Caller;
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::tool::ErrorCode;

/// A message after phase one.
#[derive(Clone, Debug)]
pub struct SendWork {
    to: RenderedText,
    text: RenderedText,
    files: Vec<RenderedText>,
}

/// A wait for the reply to a message, after phase one.
#[derive(Clone, Debug)]
pub struct WaitWork {
    /// The number of the task that sends the message.
    pub reply_to: usize,
    timeout: RenderedText,
    otherwise: Option<RenderedText>,
}

/// A question to a person, after phase one.
#[derive(Clone, Debug)]
pub struct ApproveWork {
    from: Option<RenderedText>,
    text: RenderedText,
    timeout: RenderedText,
}

/// A message with everything put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadySend {
    /// Who gets it.
    pub to: Caller,
    /// What it says.
    pub text: String,
    /// Paths of the workspace.
    pub files: Vec<String>,
}

/// A wait with everything put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyWait {
    /// How long at most.
    pub timeout: TimeSpan,
    /// The text that counts as the reply when nobody has replied by then; none: the task fails.
    pub otherwise: Option<String>,
}

/// A question with everything put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyApprove {
    /// Who is asked; none: who began the run.
    pub from: Option<Caller>,
    /// What they are asked.
    pub text: String,
    /// How long at most.
    pub timeout: TimeSpan,
}

/// Phase one of a text that says a person or a time: refuses what is said already and is not what
/// `read` takes.
fn settle_checked<T>(
    text: &TemplateText,
    scope: &RenderScope,
    read: impl Fn(&RenderedText, &RenderScope) -> Result<T, FileFault>,
) -> Result<RenderedText, FileFault> {
    let planned = text.settle(scope, &Template::names_tasks)?;
    if planned.is_ready() {
        read(&planned, scope)?;
    }
    Ok(planned)
}

impl RenderedText {
    fn recipient(&self, scope: &RenderScope) -> Result<Caller, FileFault> {
        let written = self.finish(scope)?;
        let refuse =
            || self.text.refuse(crate::file::person_problem(&written)).with_code(ErrorCode::RecipientDenied);
        Caller::parse(&written).ok_or_else(refuse)
    }

    fn timeout(&self, scope: &RenderScope) -> Result<TimeSpan, FileFault> {
        let written = self.finish(scope)?;
        TimeSpan::parse(&written).map_err(|problem| self.text.refuse(format!("`timeout`: {problem}")))
    }
}

impl SendWork {
    pub(super) fn finish(&self, scope: &RenderScope) -> Result<ReadySend, FileFault> {
        Ok(ReadySend {
            to: self.to.recipient(scope)?,
            text: self.text.finish(scope)?,
            files: self.files.iter().map(|file| file.finish(scope)).collect::<Result<_, _>>()?,
        })
    }
}

impl WaitWork {
    pub(super) fn finish(&self, scope: &RenderScope) -> Result<ReadyWait, FileFault> {
        let otherwise = self.otherwise.as_ref().map(|line| line.finish(scope)).transpose()?;
        Ok(ReadyWait { timeout: self.timeout.timeout(scope)?, otherwise })
    }
}

impl ApproveWork {
    pub(super) fn finish(&self, scope: &RenderScope) -> Result<ReadyApprove, FileFault> {
        Ok(ReadyApprove {
            from: self.from.as_ref().map(|whom| whom.recipient(scope)).transpose()?,
            text: self.text.finish(scope)?,
            timeout: self.timeout.timeout(scope)?,
        })
    }
}

/// Phase one of a task that reaches people; none for any other.
pub(super) fn settle(work: &TaskWork, scope: &RenderScope) -> Result<Option<super::PlannedWork>, FileFault> {
    let line = |text: &TemplateText| text.settle(scope, &Template::names_tasks);
    Ok(Some(match work {
        TaskWork::Send { to, text, files } => super::PlannedWork::Send(SendWork {
            to: settle_checked(to, scope, RenderedText::recipient)?,
            text: line(text)?,
            files: files.iter().map(line).collect::<Result<_, _>>()?,
        }),
        TaskWork::Wait { reply_to, timeout, otherwise } => super::PlannedWork::Wait(WaitWork {
            reply_to: *reply_to,
            timeout: settle_checked(timeout, scope, RenderedText::timeout)?,
            otherwise: otherwise.as_ref().map(line).transpose()?,
        }),
        TaskWork::Approve { from, text, timeout } => super::PlannedWork::Approve(ApproveWork {
            from: from
                .as_ref()
                .map(|from| settle_checked(from, scope, RenderedText::recipient))
                .transpose()?,
            text: line(text)?,
            timeout: settle_checked(timeout, scope, RenderedText::timeout)?,
        }),
        TaskWork::Agent { .. } | TaskWork::Tool { .. } => return Ok(None),
    }))
}
