//! Answering: from a message that a channel has brought to a reply that is out, through every crash
//! in between. The same for every channel; what only a channel can do it does behind [`Channel`].
//!
//! ```text
//! channel ─► arrivals ─► lanes (turn/) ─► unit ─► the turn (turn/) ─► reply (outbound/)
//!                                          │
//!                  files, recent, mailbox ─┘  the files that a message means, what is noted of them, what is said to
//!                                             the turn while it runs
//! ```
//!
//! It joins `turn` with `outbound` and knows no platform: what a message is, and where bytes come
//! from, is a channel's.

mod about;
pub mod arrivals;
mod base;
mod channel;
mod files;
mod mailbox;
mod mention;
mod recent;
mod resumed;
#[cfg(test)]
mod tests;
mod unit;
mod voice;

pub use about::{Author, MessageFacts, NamedUser};
pub use arrivals::{IntakeState, hand_on};
pub use base::ChannelServices;
pub use channel::{Channel, ChannelTurn, MessageAction, RequestFiles, StartDecision, TurnRequest};
pub(crate) use files::fetch_files;
pub use mention::{Mentions, text_after_mention, strip_mention};
pub use resumed::ResumedTurn;
