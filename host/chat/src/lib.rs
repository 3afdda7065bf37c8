//! What every channel does alike: from a message that a channel has brought to a reply that is out.
//!
//! ```text
//! channel ─► answering ─► lanes: the order of a session's turns ─► the turn (cofferdam-agent)
//!               │           │  alive, live, newest: what people see meanwhile; desk: whom a call waits for
//! channel ◄─ outbound ◄─────┘
//! ```
//!
//! It knows no platform: what only a channel can do it does behind [`answering::Channel`] and
//! [`outbound::Router`].

mod alive;
pub mod answering;
mod attempt;
pub mod desk;
pub mod download;
pub mod lanes;
mod live;
mod newest;
pub mod outbound;
pub mod people;
mod placeholder;
pub mod pulse;
pub mod runs;
pub mod setup;
mod trouble;
pub mod words;

pub use alive::{AGAIN, ActivityIndicator, ArrivingAlbums, ShownActivity, WorkingTurn};
pub use attempt::{ATTEMPTS_MAX, attempt};
pub use live::{LiveStatus, TurnDisplay};
pub use newest::{LatestStep, StatusDelays, StatusText, StatusWatcher};
pub use placeholder::{EditResult, EditableMessage, Placeholder, PlaceholderEnd, PlaceholderRef};
pub use trouble::RetryPauses;
