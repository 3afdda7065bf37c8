//! From what a turn decided to what a channel sends: splitting, order, retries, and a record of
//! each part.
//!
//! [`OutgoingResponse`](cofferdam_core::message::OutgoingResponse) is the only source of what is
//! sent. The mechanism is the same for every channel: it sends through a [`Router`], which hands
//! each part to the channel of its target, and a channel translates and adds nothing.

mod bundle;
mod content;
mod deliver;
mod limits;
mod lost;
mod markdown;
mod pace;
mod plan;
mod rich;
mod split;
mod spoken;

pub use crate::send_error::SendError;
pub use bundle::{BundledFile, FileBundle};
pub use content::PartContent;
pub use deliver::{
    PART_FAILURES_MAX, PART_TIMEOUTS_MAX, ROUTING_ERROR, Router, SENDING_PAUSES, SendingPart, deliver,
};
pub use limits::{ChannelLimits, MediaKind, units};
pub use markdown::markdown;
pub use pace::{Pacer, Rate};
pub use plan::{MESSAGES_MAX, PlaceholderRef, plan, split_text};
pub use rich::{SPANS_MAX, Style, StyledSpan, StyledText};
pub(crate) use split::first_piece;
pub use spoken::SpeakableText;
