//! From a message that a channel has brought to a reply that is out, through every crash
//! in between. The same for every channel; what only a channel can do it does behind [`Channel`].
//!
//! ```text
//! channel ─► incoming ─► session_queue ─► turn ─► the turn (cofferdam-agent) ─► reply (outbound)
//!                                          │                          channel ◄─ sending ◄─┘
//!                  files, recent, mailbox ─┘  the files that a message means, what is noted
//!                                             what is said to the turn while it runs
//! ```
//!
//! It joins `turn` with `outbound` and knows no platform: what a message is, and where bytes come
//! from, is a channel's.

mod about;
mod channel;
mod files;
pub mod incoming;
mod mailbox;
mod mention;
mod recent;
mod resumed;
mod sending;
mod services;
#[cfg(test)]
mod tests;
mod turn;
mod voice;

pub use about::{Author, describe_message};
use channel::begin_activity;
pub use channel::{
    Channel, ChannelTurn, CurrentChannel, MessageAction, PlatformChannel, RequestFiles, StartDecision,
    TurnRequest,
};
pub(crate) use files::fetch_files;
pub use incoming::hand_on;
pub use mention::{strip_mention, text_after_mention};
pub use resumed::ResumedTurn;
pub use services::{ChannelServices, SettleAudit};
