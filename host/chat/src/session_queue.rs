//! The order of a channel's work: what belongs to one session is done one after the other in the
//! order of arrival, different sessions side by side. A channel says what has come and does the
//! work; nothing here knows which it is.
//!
//! ```text
//! arrivals ─► queue ─► worker
//!               ▲
//!    inbox ─────┘
//! ```
//!
//! A few units of each queue are in memory. What is beyond them waits in the inbox, where it is
//! anyway, and is read once its queue has run dry. The channel never waits: a press or a stop behind
//! it gets through.

mod album;
mod dispatch;
mod queue;
mod running;
mod slot;
#[cfg(test)]
mod tests;

pub use album::AlbumWindow;
pub use dispatch::{ARRIVALS_MAX, STOPS_AT_ONCE_MAX, SessionQueues, TurnWorker};
pub use queue::{QUEUE_UNITS_MAX, SESSIONS_QUEUED_MAX};
pub use running::{RunningTurn, RunningTurns, StopPower, StopResult};
pub use slot::{TurnPlaces, TurnSlot};

use cofferdam_core::id::SessionId;
use cofferdam_store::{BoundTurn, QueuedUpdate, StoredReply, UpdateClaim};
use tokio_util::sync::CancellationToken;

/// Work that has come, in the order of arrival, each with its session.
#[derive(Debug)]
pub enum Arrival {
    /// A reply with something left to send.
    Reply(SessionId, StoredReply),
    /// A turn that a crash cut off.
    Bound(SessionId, BoundTurn),
    /// A message that the inbox has.
    Message(SessionId, QueuedUpdate),
    /// A session of which the inbox has something, and nobody knows how much.
    Session(SessionId),
    /// Somebody waits for the answer to an album of which a part has come, while others may still
    /// come.
    Awaited {
        /// Where it was sent.
        session: SessionId,
        /// Names it, in the channel's own words.
        album: String,
        /// Where it is answered, in the channel's own words.
        target: String,
    },
    /// A message that asks to stop what runs.
    Stop(Stopping),
    /// Nodes that are gone and whose audit is settled: what they had begun is to be taken over.
    LeftBy(Vec<String>),
    /// All that the last run left has come, but for what waits in the inbox: it is read there from
    /// here on.
    Inbox,
}

/// A message that asks to stop what runs in its session. It waits for nothing that came before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// Where it was said.
    pub session: SessionId,
    /// The update that said so.
    pub update_id: i64,
    /// Who said so: the channel's immutable id of them.
    pub sender: String,
    /// What they may stop.
    pub by: StopPower,
    /// Where it is answered, in the channel's own words.
    pub target: String,
}

/// A piece of work.
#[derive(Debug)]
pub enum Unit {
    /// Send what is left of a reply.
    Reply(StoredReply),
    /// Run a turn again that a crash cut off.
    Bound(BoundTurn),
    /// Answer a message, or an album that is complete. There may be nothing left of it to answer.
    Message(UpdateClaim),
    /// Answer the message that stopped a turn, or found none.
    Stop(Stopping, StopResult),
}

/// The two stages of stopping.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Nothing new begins.
    pub soon: CancellationToken,
    /// What is still under way is left for the next start.
    pub now: CancellationToken,
}
