//! A turn: one user message (or album) and everything done to answer it.
//!
//! Channels make turns and get one `OutgoingResponse` back; providers decide what to say and which
//! tools to call. This room knows neither Telegram nor any model.
//!
//! ```text
//! Turn ─► runner ─► talk: what was said, kept as it happens ─► answer
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
mod progress;
mod provider;
mod repeats;
mod rounds;
mod runner;
mod shortening;
mod steering;
mod talk;
mod task;
#[cfg(test)]
mod tests;
mod tools;
mod untrusted;
pub mod words;

pub use clock::Clock;
pub use config::Config;
pub use conversation::{Conversation, Entry, Shown};
pub use history::{Besides, History, HistoryError, InMemory, Kept};
pub use progress::{Progress, Step};
pub use provider::{
    Delta, Deltas, Markup, Memory, Provider, ProviderError, Reply, Request, Stop, ToolCall, ToolSpec, Usage,
};
pub use runner::{Runner, Turn, Whose};
pub use steering::{Said, Steering};
pub use task::{TaskAnswer, TaskFailure, TaskRequest};
pub use tools::Tools;
