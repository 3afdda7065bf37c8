//! What a turn is doing, for the code that shows it: a typing action, a line in the terminal, the
//! demo.

use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::id::CallId;

/// A step of a turn that a person may be shown.
#[derive(Clone, Debug)]
pub enum TurnStep {
    /// The attachments are in.
    Attachments(Vec<AttachmentInfo>),
    /// Files of the message come in.
    Fetching {
        /// So many are in, or cannot be had.
        done: usize,
        /// So many are fetched.
        of: usize,
    },
    /// The provider is asked for its next step.
    Asking,
    /// More of what the provider says in this step; pieces come as fast as it writes.
    Text(String),
    /// A tool call starts.
    Calling {
        /// The call.
        call: CallId,
        /// The tool as it was asked for.
        tool: String,
        /// Its place among the calls of its step, from 1.
        number: usize,
        /// Calls of its step.
        of: usize,
    },
    /// A tool call has ended.
    Called {
        /// The call.
        call: CallId,
    },
    /// A call tells what it is doing now: the tool's own words, which the sandbox has made one
    /// short line. They may come thousands of times a second; the code that shows them shows the
    /// newest, and not too often.
    Report {
        /// The call.
        call: CallId,
        /// What it is doing.
        message: String,
    },
}

/// Takes the steps of a turn. Must not block.
pub trait StepListener: Send + Sync {
    /// Takes one step.
    fn step(&self, step: TurnStep);
}

/// Shows nothing.
impl StepListener for () {
    fn step(&self, _: TurnStep) {}
}
