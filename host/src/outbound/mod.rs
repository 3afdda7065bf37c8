//! From what a turn decided to what a channel sends: splitting, order, retries, and a record of each part.
//!
//! [`OutgoingResponse`](cofferdam_core::message::OutgoingResponse) is the only source of what is sent. The
//! mechanism is the same for every channel; a channel translates through its [`Router`] and adds nothing.
//! Which addresses may be contacted, how long to pause before the next attempt, and how the file of a secret is read
//! is the same for every edge.

mod address;
mod backoff;
mod bundle;
mod date;
mod deliver;
mod lost;
mod manners;
mod markdown;
mod pace;
mod plan;
mod rich;
mod secret_file;
mod split;

pub use address::{Address, BadAddress, Reach};
pub use backoff::Backoff;
pub use bundle::{Bundle, Shown};
pub use date::http_date;
pub use deliver::{
    Delivery, PART_FAILURES_MAX, PART_TIMEOUTS_MAX, ROUTING_ERROR, Router, SendError, deliver,
};
pub use manners::{Manners, Media};
pub use markdown::markdown;
pub use pace::{Pacer, Rate, Recipient};
pub use plan::{MESSAGES_MAX, Opening, plan};
pub use rich::{Rich, SPANS_MAX, Span, Style};
pub use secret_file::{SECRET_BYTES_MAX, SecretFileError, read_secret};
pub use split::split;
