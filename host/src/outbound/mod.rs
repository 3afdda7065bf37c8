//! From what a turn decided to what a channel sends: splitting, order, retries, and a record of each part.
//!
//! [`OutgoingResponse`](cofferdam_core::message::OutgoingResponse) is the only source of what is sent. The
//! mechanism is the same for every channel; a channel translates through its [`Router`] and adds nothing.
//! Which addresses may be contacted, and how long to pause before the next attempt, is the same for every edge.

mod address;
mod backoff;
mod bundle;
mod deliver;
mod lost;
mod manners;
mod markdown;
mod pace;
mod plan;
mod rich;
mod split;

pub use address::{Address, BadAddress, Reach};
pub use backoff::Backoff;
pub use bundle::{Bundle, Shown};
pub use deliver::{Delivery, ROUTING_ERROR, Router, SendError, deliver};
pub use manners::{Manners, Media};
pub use markdown::markdown;
pub use pace::{Pacer, Rate, Recipient};
pub use plan::{MESSAGES_MAX, Opening, plan};
pub use rich::{Rich, SPANS_MAX, Span, Style};
pub use split::split;
