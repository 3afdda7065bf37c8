//! What every channel does alike: from a message that a channel has brought to a reply that is out.
//!
//! ```text
//! channel ─► handler ─► session_queue: the order of its turns ─► the turn (cofferdam-agent)
//!               │           │  activity, live_status: what people see meanwhile; approvals
//! channel ◄─ outbound ◄─────┘
//! ```
//!
//! It knows no platform: what only a channel can do it does behind [`handler::Channel`].

mod activity;
pub mod approvals;
mod attempt;
pub mod download;
pub mod handler;
mod latest_step;
mod live_status;
pub mod loop_health;
pub mod outbound;
pub mod people;
mod placeholder;
mod retry_pauses;
pub mod runs;
mod send_error;
pub mod session_queue;
pub mod setup;
pub mod words;

pub use activity::{AGAIN, Activity, ShownActivity};
pub(crate) use attempt::attempt;
pub use latest_step::{LatestStep, StatusDelays, StatusText, StatusWatcher};
pub use live_status::{LiveStatus, TurnDisplay};
pub use placeholder::{EditableMessage, Placeholder};
pub use retry_pauses::{ASKED_WAIT_MAX, RetryPauses};
