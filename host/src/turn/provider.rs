//! The seam behind which a model, or no model at all, decides what happens next in a turn.

use super::Conversation;
use async_trait::async_trait;
use cofferdam_core::arguments::BadArguments;
use serde_json::Value;

/// Decides the next step of a turn.
///
/// Called again with the results appended until it answers without tool calls. A streaming provider
/// hands text to `deltas` as it arrives and still returns the whole at the end.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The next step.
    ///
    /// # Errors
    /// [`ProviderError`]; its text goes to the user in place of an answer. Dropping the future cancels.
    async fn respond(&self, request: Request<'_>, deltas: &mut dyn Deltas) -> Result<Reply, ProviderError>;
}

/// What a provider sees.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The turn so far.
    pub conversation: &'a Conversation,
    /// The tools that may be called.
    pub tools: &'a [ToolSpec],
}

/// A tool as a provider sees it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The wire name.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// JSON Schema of the arguments.
    pub arguments: Value,
}

/// A step decided by a provider: text, tool calls, or both. No tool calls ends the turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What the user is to read.
    pub text: Option<String>,
    /// Calls to run, in order.
    pub tool_calls: Vec<ToolCall>,
}

/// A tool call as a provider asks for it: unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The tool's name as given.
    pub tool: String,
    /// The arguments as JSON text, or why what was typed cannot become JSON.
    pub arguments: Result<String, BadArguments>,
}

/// A part of an answer that arrives before the whole.
#[derive(Clone, Debug)]
pub enum Delta {
    /// More text.
    Text(String),
}

/// Takes parts of an answer as they arrive. Must not block.
pub trait Deltas: Send {
    /// Takes one part.
    fn take(&mut self, delta: Delta);
}

/// Why a provider could not decide.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The provider cannot be reached or answers nonsense; the text is for the user.
    #[error("{0}")]
    Unavailable(String),
}
