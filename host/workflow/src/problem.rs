//! What is wrong with a file, and where.

use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};

/// A place in one of the files of a workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileMark {
    /// Which file: 0 is the workflow's own, the others are files of agents in the order of reading.
    pub(crate) file: u16,
    /// From 1.
    pub(crate) line: u32,
    /// In characters, from 1.
    pub(crate) column: u32,
}

impl FileMark {
    /// The place at this line and column, which are 1 at least.
    pub(crate) fn new(file: u16, line: usize, column: usize) -> Self {
        let number = |n: usize| u32::try_from(n.max(1)).unwrap_or(u32::MAX);
        Self { file, line: number(line), column: number(column) }
    }
}

/// What is wrong, and what to write instead; also why a run cannot begin, or a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct FileProblem {
    /// The file, as the caller named it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
    /// For programs.
    pub code: ErrorCode,
    /// One line for the operator.
    pub problem: String,
}

/// Without the place: people read this, and the file is named by a path of the machine.
impl From<FileProblem> for ToolError {
    fn from(problem: FileProblem) -> Self {
        Self { code: problem.code, message: problem.problem }
    }
}

/// The same while the names of files are not at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileFault {
    pub(crate) mark: FileMark,
    /// Of the task that it fails, where it comes up in phase two.
    pub(crate) code: ErrorCode,
    pub(crate) problem: String,
}

/// Longer sentences are cut: they quote what was written.
const PROBLEM_BYTES_MAX: usize = 600;

impl FileFault {
    pub(crate) fn new(mark: FileMark, problem: impl AsRef<str>) -> Self {
        let problem = one_line(problem.as_ref(), PROBLEM_BYTES_MAX);
        Self { mark, code: ErrorCode::TemplateFailed, problem }
    }

    pub(crate) fn with_code(self, code: ErrorCode) -> Self {
        Self { code, ..self }
    }

    pub(crate) fn in_file(self, file: &str) -> FileProblem {
        let FileMark { line, column, .. } = self.mark;
        FileProblem { file: one_line(file, 400), line, column, code: self.code, problem: self.problem }
    }
}

/// What was written, short enough for a message.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", one_line(text, 80))
}

/// Names in a sentence: `a, b and c`.
pub(crate) fn list_names(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
