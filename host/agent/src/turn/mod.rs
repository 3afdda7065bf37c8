//! A turn: one user message (or album) and everything done to answer it.
//!
//! Channels make turns and get one `OutgoingResponse` back; providers decide what to say and which
//! tools to call. This room knows neither Telegram nor any model.
//!
//! ```text
//! Turn ─► runner ─► open_conversation: what was said, kept as it happens ─► answer
//!                     ▲ │
//!             calls ──┘ └─► rounds: limits, steering, provider, its step
//! ```

mod calls;
mod clock;
mod compaction;
mod config;
mod conversation;
mod cost;
mod history;
mod instructions;
mod open_conversation;
mod progress;
mod provider;
mod refetch;
mod repeats;
mod rounds;
mod runner;
mod shortening;
mod steering;
mod task;
#[cfg(test)]
mod tests;
mod tools;
mod untrusted;
pub mod words;

pub use clock::WallClock;
pub use config::Config;
pub use conversation::{HistoryEntry, TaskAttachments};
pub use history::{EntryExtras, History, HistoryError, KeptHistory};
pub use progress::{StepListener, TurnStep};
pub use provider::{
    Delta, Deltas, Provider, ProviderError, StepReply, StepRequest, Stop, TokenUsage, ToolCall, ToolSpec,
};
pub use runner::{ConversationOwner, Runner, TurnInput};
pub use steering::{Steering, SteeringMessage};
pub use task::{TaskFailure, TaskRequest};
pub use tools::Tools;
