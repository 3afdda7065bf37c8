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

mod alive;
mod attempt;
mod calls;
mod clock;
mod compaction;
mod config;
mod conversation;
mod cost;
pub mod desk;
mod guests;
mod history;
mod instructions;
pub mod lanes;
mod live;
mod newest;
mod progress;
mod provider;
mod repeats;
mod rounds;
mod runner;
mod shortening;
mod steering;
mod talk;
#[cfg(test)]
mod tests;
mod tools;
mod untrusted;
pub mod words;

pub use alive::{AGAIN, Alive, Arriving, Sign, Working};
pub use attempt::attempt;
pub use clock::Clock;
pub use config::Config;
pub use conversation::{Conversation, Entry};
pub use guests::Guests;
pub use history::{Besides, History, HistoryError, InMemory, Kept};
pub use live::{Live, Screen};
pub use newest::{Newest, Patience, Sight, Watcher};
pub use progress::{Progress, Step};
pub use provider::{
    Delta, Deltas, Markup, Memory, Provider, ProviderError, Reply, Request, Stop, ToolCall, ToolSpec, Usage,
};
pub use runner::{Runner, Turn, Whose};
pub use steering::{Said, Steering};
pub use tools::Tools;

/// A turn that was begun so often and never ended is not run any more. A message that kills the gateway cannot be told
/// from one that was under way whenever something else did, so the number is not small.
pub const ATTEMPTS_MAX: u32 = 16;
