//! The seam behind which a model, or no model at all, decides what happens next in a turn.

use super::HistoryEntry;
use async_trait::async_trait;
use cofferdam_core::arguments::BadArguments;
use serde_json::Value;

/// Decides the next step of a turn.
///
/// Called again with the results appended until it answers without tool calls. A streaming provider
/// hands text to `deltas` as it arrives and still returns the whole at the end.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The next step. Tries again by itself what time may heal, as long as nothing went to
    /// `deltas`.
    ///
    /// # Errors
    /// [`ProviderError`]; its text goes to the user in place of an answer. Dropping the future
    /// cancels.
    async fn respond(
        &self,
        request: StepRequest<'_>,
        deltas: &mut Deltas<'_>,
    ) -> Result<StepReply, ProviderError>;

    /// Whether it is shown the conversation of the session so far; else each turn stands alone, and
    /// none is kept.
    fn has_memory(&self) -> bool;

    /// Whether its answers are written in Markdown; else every character stands for itself.
    fn is_markdown(&self) -> bool {
        false
    }
}

/// What a provider sees.
#[derive(Clone, Copy)]
pub struct StepRequest<'a> {
    /// What the operator and this program tell a model of its task; empty where there is no model.
    pub instructions: &'a str,
    /// The conversation so far, oldest first; what belongs to the turn that runs comes last.
    pub conversation: &'a [HistoryEntry],
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
pub struct StepReply {
    /// What the user is to read.
    pub text: Option<String>,
    /// Calls to run.
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it cost, as far as the provider says.
    pub usage: TokenUsage,
}

/// Why a provider stopped speaking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// It has said everything, or waits for its tools.
    #[default]
    Done,
    /// Its limit of output tokens was reached: text and calls may be cut off.
    Length,
    /// It declined to go on.
    Declined,
}

/// Tokens of one step, by an estimate where the server does not count; 0 where the provider says
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Read, cached ones included.
    pub input_tokens: u64,
    /// Written.
    pub output_tokens: u64,
}

impl TokenUsage {
    /// Bytes of text that are taken for one token, where nobody counts.
    const BYTES_PER_TOKEN: u64 = 4;

    /// About how many tokens so many bytes are.
    pub fn estimate_tokens(bytes: usize) -> u64 {
        bytes as u64 / Self::BYTES_PER_TOKEN
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }

    /// About how many bytes so many tokens are.
    pub fn bytes(tokens: u64) -> u64 {
        tokens.saturating_mul(Self::BYTES_PER_TOKEN)
    }
}

/// A tool call as a provider asks for it: unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Names the call among those of its step, in the provider's own words; the runner changes
    /// nothing in it.
    pub id: String,
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
    /// What the request has cost so far, in place of what was told before: the person who stops the
    /// answer pays for that. 0 read where the provider does not say.
    Spent(TokenUsage),
}

/// Takes parts of an answer as they arrive. Must not block.
pub type Deltas<'a> = dyn FnMut(Delta) + Send + 'a;

/// Why a provider could not decide. Each text is for the user, in plain words, without secrets or
/// addresses; what an operator needs besides is in the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Not reached, overloaded or cut off, after trying again where that was right. The same
    /// request may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// An answer that broke off in the middle: it counts for nothing but its cost. The same request
    /// may succeed later.
    #[error("{said}")]
    BrokeOff {
        /// What the user is told.
        said: String,
        /// What it cost: as the server said, and what was written at least by an estimate; 0 read
        /// where the provider does not say.
        usage: TokenUsage,
    },
    /// The same request will be refused again: a wrong key, an unknown model.
    #[error("{0}")]
    Refused(String),
    /// The same with what came with messages being shown, which may be the reason: without it, it
    /// may succeed.
    #[error("{0}")]
    Unshowable(String),
    /// The conversation does not fit into the model; a shorter one may.
    #[error("{0}")]
    TooLong(String),
}
