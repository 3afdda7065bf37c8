//! What a turn is doing, for whoever shows it: a typing action, a line in the terminal, the demo.

use cofferdam_core::attachment::AttachmentInfo;
use cofferdam_core::id::CallId;

/// A step of a turn that a person may be shown.
#[derive(Clone, Debug)]
pub enum Step {
    /// The attachments are in.
    Attachments(Vec<AttachmentInfo>),
    /// A tool call starts.
    Calling {
        /// The call.
        call: CallId,
        /// The tool as it was asked for.
        tool: String,
    },
    /// A call tells what it is doing now: the tool's own words, which the sandbox has made one short line.
    /// They may come thousands of times a second; whoever shows them shows the newest, and not too often.
    Report {
        /// The call.
        call: CallId,
        /// What it is doing.
        message: String,
    },
}

/// Takes the steps of a turn. Must not block.
pub trait Progress: Send + Sync {
    /// Takes one step.
    fn step(&self, step: Step);
}

/// Shows nothing.
impl Progress for () {
    fn step(&self, _: Step) {}
}
