//! The audit file: one append-only chain of records that several processes write and anyone can
//! check.
//!
//! It refuses to guess: what it cannot read it does not continue, what it cannot write it reports,
//! so that the caller can refuse the side effect. It never rewrites or deletes a record: a full
//! file is rotated away and kept, and the one thing that is taken back is its own failed write. The
//! format is described in `docs/audit-format.md`.
//!
//! Everything here blocks (locks, disk): it is called from threads that may wait, never from an
//! async task.

mod around;
mod chain;
mod chains;
mod checkpoint;
mod config;
mod entries;
mod error;
mod files;
mod head;
mod landed;
mod lines;
mod lock;
mod log;
mod open;
mod reading;
mod reconcile;
mod rotate;
pub mod sign;
mod tail;
#[cfg(test)]
mod tests;
mod told;
mod verify;

pub use chain::{BadRecord, RecordFault};
pub use chains::{ChainPlace, FILE_NAME};
pub use config::{Config, ROTATE_BYTES_MIN};
pub use entries::{Entries, EntryRange, LogEntry, RecordFilter, read_entries};
pub use error::AuditError;
pub use files::{LogSelection, ROTATED_FILES_MAX};
pub use head::Head;
pub use log::{AuditLog, Durability};
pub use told::ToldHeads;
pub use verify::{Kept, Report, TornEnd, Verification, Witness, verify};

pub(crate) use landed::LandedCall;
pub(crate) use lock::HeldLock;

use std::time::Duration;

/// The longest line, in bytes without its newline; what would be longer is refused. A plan of as
/// many changes as a policy can allow is one line.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// An intent is this much shorter at least: its outcome names the same changes, and says more of
/// them.
pub const OUTCOME_BYTES_MAX: usize = 4 * 1024;

/// The deepest nesting of a record's arguments: readers of JSON give up at 128.
pub const NESTING_MAX: usize = 64;

/// More intents than this without an outcome are not held in memory, but reported.
pub const OPEN_INTENTS_MAX: usize = 4096;

/// The same for the changes that all of them plan.
pub const OPEN_CHANGES_MAX: usize = 1_000_000;

/// How long one append waits for another process; a holder needs microseconds.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);
