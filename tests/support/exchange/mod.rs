//! One request and its answer, as every server here handles them: recorded, held at gates, and
//! distorted by faults. It knows no API; [`Api`] is what a server says for itself.
//!
//! ```text
//! http ─► route ─► journal ─► fault? ─► gate ─► perform ─► gate ─► wire
//! bytes   token,   recorded   planned   before  the API's  before  bytes, distorted
//!         call                          effect  effect     answer  if a fault says so
//! ```

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
pub(crate) mod client;
mod fault;
pub(crate) mod form;
mod gate;
mod journal;
pub(crate) mod multipart;
mod observe;
mod serve;
mod shared;
mod sink;
mod target;
mod wire;

pub(crate) use fault::FaultPlan;
pub use fault::{Effect, Fault};
pub(crate) use gate::GateBook;
pub use gate::{Gate, Hold};
pub(crate) use journal::Journal;
pub use journal::RequestRecord;
pub(crate) use observe::observed;
pub(crate) use serve::{Api, Routed, serve};
pub(crate) use shared::{Shared, Summary};
pub use sink::RedirectSink;
pub use target::Target;
pub(crate) use target::{Call, Kind};
pub(crate) use wire::{Answer, Body};

/// What a server keeps of requests, whatever its API.
#[derive(Default)]
pub(crate) struct Exchanges {
    pub(crate) journal: Journal,
    pub(crate) faults: FaultPlan,
    pub(crate) gates: GateBook,
    /// Every request is recorded, and its connection closed.
    pub(crate) away: bool,
}
