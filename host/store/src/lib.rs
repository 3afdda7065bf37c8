//! The durable memory of the channels: what came in, which turn answers it, what is still to be
//! sent.
//!
//! [`Store`] is one SQLite file with one writer. What a method reports as done outlasts the program;
//! what goes out, or is confirmed, is on the disk before (`commit`). It holds raw updates and opaque
//! targets: it knows no channel's wire format, decides nothing and sends nothing.
//!
//! ```text
//! persist ─► pending ─► claim ─► bound to a turn ─► end ─► done, its reply stored ─► parts sent
//! ```

mod approvals;
mod attempts;
pub mod blocking;
mod commit;
mod history;
mod inbox;
mod journal;
mod moves;
mod outgoing;
pub mod people;
mod placeholder;
mod presence;
mod recent;
mod replies;
mod retention;
mod retry;
mod rows;
mod runs;
mod schema;
mod steering;
mod streams;
#[cfg(test)]
mod tests;
mod usage;
mod view;
mod voices;
mod waiting;

pub use approvals::{
    APPROVED_PATHS_MAX, ApprovalRow, ApprovalState, ApprovedPaths, NewApproval, OPEN_CHOICES_MAX,
};
pub use attempts::AttemptRow;
pub use history::{HistoryLine, LINES_MAX, LOADED_BYTES_MAX};
pub use inbox::{STRANGER_TOLD_MAX, STRANGERS_TOLD_PER_HOUR_MAX};
pub use moves::MOVES_MAX;
pub use presence::{ChannelNoted, Health, LastError, Presence, PresenceNote, Reloaded, Reloads, read_note};
pub use recent::RECENT_ROWS_MAX;
pub use retention::{DONE_AGE_MAX, DONE_ROWS_MAX};
pub use retry::StoreRetry;
pub use rows::{
    AlbumPart, AlbumStanding, BlobHolder, BoundTurn, Headers, NewPart, NewRecent, NewReply, NewTelling,
    NewUpdate, PartKind, PersistResult, Placeholder, QueueMode, QueuedUpdate, RecentFiles, ReplyPart,
    SteerUpdate, StoredReply, Stranger, TakeUpRequest, TakeUpResult, Update, UpdateClaim, UpdateFate,
    WaitReply,
};
pub use runs::{AnswerTo, KeptRun, KeptTask, ListedRun, NewRun, RUNS_LISTED_MAX, RunEnd, RunOwner, RunState};
pub use runs::{DueWait, GoingOn, NewDirect, NewTurnWait, TurnWaited};
pub use runs::{NewMessage, NewWait, SendState, TaskState, WaitState, WaitsFor, plain_letters};
pub use streams::{PLACES_MAX, ReplyPlace, Stream, StreamPosition};
pub use usage::{UsedToday, WhoseTurn};
pub use view::{
    DatabaseView, DayUsage, OpenRequestRow, PEOPLE_LISTED_MAX, REQUESTS_LISTED_MAX, WaitingCounts,
};
pub use voices::SPOKEN_TO_MAX;

use commit::WriteAheadLog;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file's name within the state directory.
pub const FILE_NAME: &str = "cofferdam.db";

/// What the channels remember; clones share it. What a method reports as done is there after a
/// crash, and is done as a whole or not at all. Of many who claim, decide or take up the same thing
/// at once, one does. Text given is text had back, to the byte.
///
/// A crash of the program costs nothing that was reported. A loss of power may cost what rides: the
/// latest of it, never what came before something that is there. A method whose work rides says so;
/// that work is settled before anybody outside sees an effect of it. Everything else is settled
/// when it is reported. Methods fail with [`StoreError`], and then have changed nothing.
#[derive(Clone)]
pub struct Store {
    database: Arc<Database>,
}

/// A handle that keeps no database open.
#[derive(Clone)]
pub struct WeakStore(Weak<Database>);

struct Database {
    connection: Mutex<Connection>,
    log: WriteAheadLog,
}

/// Why the store cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be created or opened.
    #[error("{path}: {source}; check that the state directory exists, is writable and has space", path = path.display())]
    Open {
        /// The database file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A later release has written the file.
    #[error(
        "the database has version {found}, this program knows {known}; run the newer release, or restore a backup"
    )]
    Newer {
        /// The version in the file.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// The engine refuses, or the disk does.
    #[error("the database: {0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A row holds what no release writes.
    #[error("the database holds {0}, which no release writes; restore a backup")]
    Corrupt(String),
    /// The disk failed, and what it may have lost could not be written once more.
    #[error("the disk failed to take the database in, and it cannot be written once more now")]
    Unsettled,
    /// The program is going down.
    #[error("the database work was cut off by the shutdown")]
    Stopped,
}

impl Store {
    /// Opens the database of a state directory, making both where they are missing; the file is
    /// readable by its owner alone.
    ///
    /// # Errors
    /// [`StoreError`]; a file of a newer version stays untouched.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let connection = schema::open_file(&dir.join(FILE_NAME))?;
        Ok(Self::from_parts(connection, WriteAheadLog::open(dir)?))
    }

    /// Keeps everything in memory, until the last handle goes.
    ///
    /// # Errors
    /// [`StoreError`] where there is no room.
    pub fn in_memory() -> Result<Self, StoreError> {
        let connection = schema::prepare(Connection::open_in_memory()?)?;
        Ok(Self::from_parts(connection, WriteAheadLog::absent()))
    }

    /// The same store, with `refuses` asked before each commit: one that it refuses fails and
    /// changes nothing. Tests end a program there.
    #[must_use]
    pub fn with_refusals(self, refuses: impl FnMut() -> bool + Send + 'static) -> Self {
        self.connection().commit_hook(Some(refuses));
        self
    }

    fn from_parts(connection: Connection, log: WriteAheadLog) -> Self {
        Self { database: Arc::new(Database { connection: Mutex::new(connection), log }) }
    }

    /// A handle that keeps the database open no longer than others do.
    pub fn downgrade(&self) -> WeakStore {
        WeakStore(Arc::downgrade(&self.database))
    }

    /// Forgets what is done and older or more than the limits; `now` in milliseconds since 1970
    /// UTC. What waits for a turn, or to be sent, stays; so does what a turn that has not ended has
    /// said, done and been given. Returns how many updates went.
    pub async fn prune(&self, now: i64) -> Result<usize, StoreError> {
        self.write(move |tx| retention::prune(tx, now)).await
    }

    /// Returns when everything that was reported before outlasts a loss of power as well.
    pub async fn settle(&self) -> Result<(), StoreError> {
        self.run_blocking(Self::settle_here).await
    }

    /// Whether it can be written now: writes what it holds already. Blocks.
    pub fn check(&self) -> Result<(), StoreError> {
        self.write_here(|tx| tx.execute(&format!("PRAGMA user_version = {}", schema::VERSION), []).map(drop))
    }
}

impl WeakStore {
    /// The store, while somebody keeps it open.
    pub fn upgrade(&self) -> Option<Store> {
        self.0.upgrade().map(|database| Store { database })
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}

/// Now, in milliseconds since 1970 UTC.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
