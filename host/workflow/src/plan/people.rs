//! Tasks that reach people: whom, with which words, and until when.

use crate::file::{Line, Text, Work};
use crate::problem::Fault;
use crate::template::{Scope, Template};
use cofferdam_core::id::Caller;
use cofferdam_core::limits::Span;
use cofferdam_core::tool::ErrorCode;

/// A message after phase one.
#[derive(Clone, Debug)]
pub struct SendWork {
    to: Whom,
    text: Line,
    files: Vec<Line>,
}

/// A wait for the reply to a message, after phase one.
#[derive(Clone, Debug)]
pub struct WaitWork {
    /// The number of the task that sends the message.
    pub reply_to: usize,
    timeout: Limit,
    otherwise: Option<Line>,
}

/// A question to a person, after phase one.
#[derive(Clone, Debug)]
pub struct ApproveWork {
    from: Option<Whom>,
    text: Line,
    timeout: Limit,
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
    pub timeout: Span,
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
    pub timeout: Span,
}

/// A person, where a template may say who.
#[derive(Clone, Debug)]
struct Whom(Text, Line);

/// A time, where a template may say how long.
#[derive(Clone, Debug)]
struct Limit(Text, Line);

impl Whom {
    fn settle(text: &Text, scope: &Scope) -> Result<Self, Fault> {
        let whom = Self(text.clone(), text.settle(scope, &Template::names_tasks)?);
        match whom.1.is_ready() {
            true => whom.finish(scope).map(|_| whom),
            false => Ok(whom),
        }
    }

    fn finish(&self, scope: &Scope) -> Result<Caller, Fault> {
        let written = self.1.finish(scope)?;
        let refuse = || self.0.refuse(crate::file::not_a_person(&written)).coded(ErrorCode::RecipientDenied);
        Caller::parse(&written).ok_or_else(refuse)
    }
}

impl Limit {
    fn settle(text: &Text, scope: &Scope) -> Result<Self, Fault> {
        let limit = Self(text.clone(), text.settle(scope, &Template::names_tasks)?);
        match limit.1.is_ready() {
            true => limit.finish(scope).map(|_| limit),
            false => Ok(limit),
        }
    }

    fn finish(&self, scope: &Scope) -> Result<Span, Fault> {
        let written = self.1.finish(scope)?;
        Span::parse(&written).map_err(|problem| self.0.refuse(format!("`timeout`: {problem}")))
    }
}

impl SendWork {
    pub(super) fn finish(&self, scope: &Scope) -> Result<ReadySend, Fault> {
        Ok(ReadySend {
            to: self.to.finish(scope)?,
            text: self.text.finish(scope)?,
            files: self.files.iter().map(|file| file.finish(scope)).collect::<Result<_, _>>()?,
        })
    }
}

impl WaitWork {
    pub(super) fn finish(&self, scope: &Scope) -> Result<ReadyWait, Fault> {
        let otherwise = self.otherwise.as_ref().map(|line| line.finish(scope)).transpose()?;
        Ok(ReadyWait { timeout: self.timeout.finish(scope)?, otherwise })
    }
}

impl ApproveWork {
    pub(super) fn finish(&self, scope: &Scope) -> Result<ReadyApprove, Fault> {
        Ok(ReadyApprove {
            from: self.from.as_ref().map(|whom| whom.finish(scope)).transpose()?,
            text: self.text.finish(scope)?,
            timeout: self.timeout.finish(scope)?,
        })
    }
}

/// Phase one of a task that reaches people; none for any other.
pub(super) fn settle(work: &Work, scope: &Scope) -> Result<Option<super::PlannedWork>, Fault> {
    let line = |text: &Text| text.settle(scope, &Template::names_tasks);
    Ok(Some(match work {
        Work::Send { to, text, files } => super::PlannedWork::Send(SendWork {
            to: Whom::settle(to, scope)?,
            text: line(text)?,
            files: files.iter().map(line).collect::<Result<_, _>>()?,
        }),
        Work::Wait { reply_to, timeout, otherwise } => super::PlannedWork::Wait(WaitWork {
            reply_to: *reply_to,
            timeout: Limit::settle(timeout, scope)?,
            otherwise: otherwise.as_ref().map(line).transpose()?,
        }),
        Work::Approve { from, text, timeout } => super::PlannedWork::Approve(ApproveWork {
            from: from.as_ref().map(|from| Whom::settle(from, scope)).transpose()?,
            text: line(text)?,
            timeout: Limit::settle(timeout, scope)?,
        }),
        Work::Agent { .. } | Work::Tool { .. } => return Ok(None),
    }))
}
