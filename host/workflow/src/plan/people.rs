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
    to: PlannedRecipient,
    text: RenderedText,
    files: Vec<RenderedText>,
}

/// A wait for the reply to a message, after phase one.
#[derive(Clone, Debug)]
pub struct WaitWork {
    /// The number of the task that sends the message.
    pub reply_to: usize,
    timeout: PlannedTimeout,
    otherwise: Option<RenderedText>,
}

/// A question to a person, after phase one.
#[derive(Clone, Debug)]
pub struct ApproveWork {
    from: Option<PlannedRecipient>,
    text: RenderedText,
    timeout: PlannedTimeout,
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

/// A person, where a template may say who.
#[derive(Clone, Debug)]
struct PlannedRecipient(TemplateText, RenderedText);

/// A time, where a template may say how long.
#[derive(Clone, Debug)]
struct PlannedTimeout(TemplateText, RenderedText);

impl PlannedRecipient {
    fn settle(text: &TemplateText, scope: &RenderScope) -> Result<Self, FileFault> {
        let whom = Self(text.clone(), text.settle(scope, &Template::names_tasks)?);
        match whom.1.is_ready() {
            true => whom.finish(scope).map(|_| whom),
            false => Ok(whom),
        }
    }

    fn finish(&self, scope: &RenderScope) -> Result<Caller, FileFault> {
        let written = self.1.finish(scope)?;
        let refuse =
            || self.0.refuse(crate::file::person_problem(&written)).with_code(ErrorCode::RecipientDenied);
        Caller::parse(&written).ok_or_else(refuse)
    }
}

impl PlannedTimeout {
    fn settle(text: &TemplateText, scope: &RenderScope) -> Result<Self, FileFault> {
        let limit = Self(text.clone(), text.settle(scope, &Template::names_tasks)?);
        match limit.1.is_ready() {
            true => limit.finish(scope).map(|_| limit),
            false => Ok(limit),
        }
    }

    fn finish(&self, scope: &RenderScope) -> Result<TimeSpan, FileFault> {
        let written = self.1.finish(scope)?;
        TimeSpan::parse(&written).map_err(|problem| self.0.refuse(format!("`timeout`: {problem}")))
    }
}

impl SendWork {
    pub(super) fn finish(&self, scope: &RenderScope) -> Result<ReadySend, FileFault> {
        Ok(ReadySend {
            to: self.to.finish(scope)?,
            text: self.text.finish(scope)?,
            files: self.files.iter().map(|file| file.finish(scope)).collect::<Result<_, _>>()?,
        })
    }
}

impl WaitWork {
    pub(super) fn finish(&self, scope: &RenderScope) -> Result<ReadyWait, FileFault> {
        let otherwise = self.otherwise.as_ref().map(|line| line.finish(scope)).transpose()?;
        Ok(ReadyWait { timeout: self.timeout.finish(scope)?, otherwise })
    }
}

impl ApproveWork {
    pub(super) fn finish(&self, scope: &RenderScope) -> Result<ReadyApprove, FileFault> {
        Ok(ReadyApprove {
            from: self.from.as_ref().map(|whom| whom.finish(scope)).transpose()?,
            text: self.text.finish(scope)?,
            timeout: self.timeout.finish(scope)?,
        })
    }
}

/// Phase one of a task that reaches people; none for any other.
pub(super) fn settle(work: &TaskWork, scope: &RenderScope) -> Result<Option<super::PlannedWork>, FileFault> {
    let line = |text: &TemplateText| text.settle(scope, &Template::names_tasks);
    Ok(Some(match work {
        TaskWork::Send { to, text, files } => super::PlannedWork::Send(SendWork {
            to: PlannedRecipient::settle(to, scope)?,
            text: line(text)?,
            files: files.iter().map(line).collect::<Result<_, _>>()?,
        }),
        TaskWork::Wait { reply_to, timeout, otherwise } => super::PlannedWork::Wait(WaitWork {
            reply_to: *reply_to,
            timeout: PlannedTimeout::settle(timeout, scope)?,
            otherwise: otherwise.as_ref().map(line).transpose()?,
        }),
        TaskWork::Approve { from, text, timeout } => super::PlannedWork::Approve(ApproveWork {
            from: from.as_ref().map(|from| PlannedRecipient::settle(from, scope)).transpose()?,
            text: line(text)?,
            timeout: PlannedTimeout::settle(timeout, scope)?,
        }),
        TaskWork::Agent { .. } | TaskWork::Tool { .. } => return Ok(None),
    }))
}
