//! Tasks that reach people: whom, with which words, and until when.

use super::RunPlan;
use crate::file::{ApproveWork, SendWork, TemplateText, WaitWork};
use crate::problem::{FileFault, FileProblem};
use crate::template::{RenderScope, Template};
use cofferdam_core::id::Caller;
use cofferdam_core::limits::TimeSpan;
use cofferdam_core::tool::ErrorCode;
use serde_json::{Map, Value};

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

impl TemplateText {
    /// Phase one of a text that says a person or a time: refuses what is said already and is not
    /// what `read` takes.
    pub(super) fn settle_checked<T>(
        &self,
        scope: &RenderScope,
        read: impl Fn(&Self, &RenderScope) -> Result<T, FileFault>,
    ) -> Result<Self, FileFault> {
        let planned = self.settle(scope, &Template::names_tasks)?;
        if planned.is_ready() {
            read(&planned, scope)?;
        }
        Ok(planned)
    }

    pub(super) fn recipient(&self, scope: &RenderScope) -> Result<Caller, FileFault> {
        let written = self.render(scope)?;
        let refuse =
            || self.refuse(crate::file::person_problem(&written)).with_code(ErrorCode::RecipientDenied);
        Caller::parse(&written).ok_or_else(refuse)
    }

    pub(super) fn timeout(&self, scope: &RenderScope) -> Result<TimeSpan, FileFault> {
        let written = self.render(scope)?;
        TimeSpan::parse(&written).map_err(|problem| self.refuse(format!("`timeout`: {problem}")))
    }
}

impl RunPlan {
    /// The message that a task sends.
    ///
    /// # Errors
    /// [`FileProblem`].
    pub fn message(&self, work: &SendWork, outputs: &Map<String, Value>) -> Result<ReadySend, FileProblem> {
        self.finish(outputs, |scope| {
            Ok(ReadySend {
                to: work.to.recipient(&scope)?,
                text: work.text.render(&scope)?,
                files: work.files.iter().map(|file| file.render(&scope)).collect::<Result<_, _>>()?,
            })
        })
    }

    /// How a task waits.
    ///
    /// # Errors
    /// [`FileProblem`].
    pub fn wait(&self, work: &WaitWork, outputs: &Map<String, Value>) -> Result<ReadyWait, FileProblem> {
        self.finish(outputs, |scope| {
            let otherwise = work.otherwise.as_ref().map(|line| line.render(&scope)).transpose()?;
            Ok(ReadyWait { timeout: work.timeout.timeout(&scope)?, otherwise })
        })
    }

    /// What a task asks a person.
    ///
    /// # Errors
    /// [`FileProblem`].
    pub fn question(
        &self,
        work: &ApproveWork,
        outputs: &Map<String, Value>,
    ) -> Result<ReadyApprove, FileProblem> {
        self.finish(outputs, |scope| {
            Ok(ReadyApprove {
                from: work.from.as_ref().map(|whom| whom.recipient(&scope)).transpose()?,
                text: work.text.render(&scope)?,
                timeout: work.timeout.timeout(&scope)?,
            })
        })
    }
}
