//! A turn: one user message (or album) and everything done to answer it.
//!
//! Channels make turns and get one `OutgoingResponse` back; providers decide what to say and which
//! tools to call. This room knows neither Telegram nor any model.

mod config;
mod conversation;
mod newest;
mod progress;
mod provider;
mod runner;

pub use config::Config;
pub use conversation::{Conversation, Entry};
pub use newest::{Newest, Watcher};
pub use progress::{Progress, Step};
pub use provider::{
    Delta, Deltas, Memory, Provider, ProviderError, Reply, Request, Stop, ToolCall, ToolSpec, Usage,
};
pub use runner::{Runner, Turn};
