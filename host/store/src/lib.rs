//! The durable memory of the channels: what came in, which turn answers it, what is still to be
//! sent.
//!
//! [`Store`] is one SQLite file with one writer, or a schema of PostgreSQL. What a method reports
//! as done outlasts the program; what goes out, or is confirmed, is on the disk before (`commit`).
//! It holds raw updates and opaque targets: it knows no channel's wire format, decides nothing and
//! sends nothing.
//!
//! ```text
//! persist ─► pending ─► claim ─► bound to a turn ─► end ─► done, its reply stored ─► parts sent
//! ```

mod approvals;
mod attempts;
pub mod blocking;
mod claims;
mod clock;
mod cluster;
mod commit;
mod copy;
mod history;
mod homes;
mod inbox;
mod journal;
mod location;
mod moves;
mod outgoing;
pub mod people;
mod placeholder;
mod postgres;
mod presence;
mod recent;
mod replies;
mod retention;
mod retry;
mod rows;
mod runs;
mod schema;
mod sqlite;
mod steering;
mod streams;
#[cfg(test)]
mod tests;
mod tx;
mod usage;
mod value;
mod view;
mod voices;
mod waiting;

pub use approvals::{
    APPROVED_PATH_BYTES_MAX, APPROVED_PATHS_MAX, ApprovalRow, ApprovalState, ApprovedPaths, NewApproval,
    OPEN_CHOICES_MAX,
};
pub use attempts::AttemptRow;
pub use claims::{LeftWork, SESSIONS_CLAIMED_MAX};
pub use clock::{follows_server, machine_now_ms, now, now_ms, running_ms};
pub use cluster::{
    AuditHeads, ClusterNode, LEASE, LEASE_LEAST, LEASE_MAX, NODE_NAME_MAX, NodeRow, host_name, new_name,
    node_of,
};
pub use history::{HistoryLine, LINES_MAX, LOADED_BYTES_MAX, TurnBeginning};
pub use homes::AwayHome;
pub use inbox::{STRANGER_TOLD_MAX, STRANGERS_TOLD_PER_HOUR_MAX};
pub use location::StoreLocation;
pub use moves::MOVES_MAX;
pub use postgres::{CONFLICTS_MAX, CONNECTIONS_MAX, DEFAULT_SCHEMA, PostgresConfig, PostgresConfigError};
pub use presence::{ChannelNoted, Health, LastError, Presence, PresenceNote, Reloaded, Reloads, read_note};
pub use recent::RECENT_ROWS_MAX;
pub use retention::{DONE_AGE_MAX, DONE_ROWS_MAX};
pub use retry::StoreRetry;
pub use rows::{
    AlbumPart, AlbumStanding, BlobHolder, BoundTurn, Headers, NewPart, NewRecent, NewReply, NewTelling,
    NewUpdate, PartKind, PartsInstead, PersistResult, Placeholder, QueueMode, QueuedUpdate, RecentFiles,
    ReplyPart, SteerUpdate, StoredReply, Stranger, TakeUpRequest, Update, UpdateClaim, UpdateFate, WaitReply,
};
pub use runs::{AnswerTo, KeptRun, KeptTask, ListedRun, NewRun, RUNS_LISTED_MAX, RunOwner, RunState};
pub use runs::{DueWait, GoingOn, NewTurnWait, TurnWaited};
pub use runs::{NewMessage, NewWait, SendState, TaskState, WaitState, WaitsFor, part_letters};
pub use runs::{RunsToGoOn, plain_letters};
pub use streams::{PLACES_MAX, ReplyPlace, Stream, StreamPosition};
pub use usage::{UsedToday, WhoseTurn};
pub use view::{
    DatabaseView, DayUsage, OpenRequestRow, PEOPLE_LISTED_MAX, REQUESTS_LISTED_MAX, WaitingCounts,
};
pub use voices::SPOKEN_TO_MAX;

use cofferdam_core::limits::ByteSize;
use postgres::Postgres;
use sqlite::Sqlite;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tx::Tx;
use value::params;

/// The file's name within the state directory.
pub const FILE_NAME: &str = "cofferdam.db";

/// What the channels remember; clones share it. What a method reports as done is there after a
/// crash, and is done as a whole or not at all. Of many who claim, decide or take up the same thing
/// at once, one does. Text given is text had back, to the byte.
///
/// A crash of the program costs nothing that was reported. A loss of power may cost what rides: the
/// latest of it, never what came before something that is there. A method whose work rides says so;
/// that work is settled before anybody outside sees an effect of it. Everything else is settled
/// when it is reported. Methods fail with [`StoreError`], and then have changed nothing, but for
/// [`StoreError::Unknown`].
#[derive(Clone)]
pub struct Store {
    database: Arc<Database>,
    /// Bytes that the calls of one person may write in a day, where its journal holds them to that.
    day_bytes_max: Option<ByteSize>,
}

/// A handle that keeps no database open.
#[derive(Clone)]
pub struct WeakStore(Weak<Database>);

struct Database {
    engine: Engine,
    taken_over: CancellationToken,
    /// What is being claimed on which channel, where nobody knows whether it was committed.
    unsure_claims: Mutex<Vec<(String, UpdateClaim)>>,
    /// There may be work that another node left, or leaves.
    woken: watch::Sender<()>,
}

/// What differs: where a transaction runs.
enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// What came of asking the store.
pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why the store cannot do what was asked. Of PostgreSQL's the first value is the server (host,
/// port and database), the second what it or the system says.
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
    /// Something else has the file's name.
    #[error("{path} is not a regular file; move it away", path = .0.display())]
    NotAFile(PathBuf),
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
    /// There is no connection to be had.
    #[error(
        "PostgreSQL at {0} cannot be reached: {1}; check that it runs and lets this program in, and the URL of [store]"
    )]
    Unreachable(String, String),
    /// The connection went before the commit: nothing has changed.
    #[error(
        "the connection to PostgreSQL at {0} was lost: {1}; nothing was changed, and the next attempt connects anew"
    )]
    Lost(String, String),
    /// The connection went while the server committed.
    #[error(
        "the connection to PostgreSQL at {0} was lost while a change was committed: {1}; whether it was kept is not known, so look before it is made again"
    )]
    Unknown(String, String),
    /// The server is there and takes no changes now: nothing has changed.
    #[error("PostgreSQL at {0} takes no changes: {1}")]
    Hindered(String, String),
    /// A server that would not do.
    #[error("PostgreSQL at {0} cannot hold the store: {1}")]
    Unsuitable(String, String),
    /// What is to be filled holds something: maybe a copy whose command was cut off at its end.
    #[error(
        "the store that is to be filled has rows in {0} already; if nothing but a copy that was cut off has filled it, that copy is whole, and `cofferdam status` and `cofferdam workflow list` say the same with either engine in [store]; else name one that is empty, and keep what this one holds"
    )]
    NotEmpty(&'static str),
    /// What is to be copied belongs in part to another node, which a copy does not say.
    #[error(
        "node {node:?} has the files of people ({people}) and of runs that can go on ({runs}), and a copy does not keep who has whose; copy them to node {own:?} and start that, run `cofferdam store rehome {node} {own}`, stop it, then copy"
    )]
    HomesElsewhere {
        /// The other node.
        node: String,
        /// How many people.
        people: u64,
        /// How many runs that are open or failed.
        runs: u64,
        /// This node.
        own: String,
    },
    /// Another process says that it serves, or runs this node.
    #[error(
        "another serve uses the store in PostgreSQL at {server} as node {node:?}: {who}; stop it first, give this one another [cluster] node, or name another schema in [store]"
    )]
    Served {
        /// Host, port and database.
        server: String,
        /// Its node.
        node: String,
        /// The process.
        who: String,
    },
    /// The tables are of an older release, and a node of it says that it is there.
    #[error(
        "node {node:?} of an older release uses the store in PostgreSQL at {server}: {who}; stop all nodes of that release first, then the tables are brought to this one; one that was killed is gone once its lease is over"
    )]
    OlderNode {
        /// Host, port and database.
        server: String,
        /// Its node.
        node: String,
        /// The process.
        who: String,
    },
    /// A node that is there has other files.
    #[error(
        "node {0:?} has another state folder: nodes share [state] dir and [workspace] root, so that any of them goes on where another one stopped; put both on a filesystem that all of them see, or name another schema in [store]"
    )]
    OtherState(String),
    /// A node that is there has a workspace of its own, and this one has not, or the other way
    /// round.
    #[error(
        "node {0:?} has another [workspace] affinity: nodes that share a store all have the workspace in common, or each has its own (affinity = \"user\"); write the same for all, and start those anew that run"
    )]
    OtherAffinity(String),
    /// Other nodes have taken this one out, because it was silent.
    #[error(
        "this node was silent for longer than its lease, and others took its work over; it writes nothing any more, so start it again"
    )]
    TakenOver,
    /// The program is going down.
    #[error("the database work was cut off by the shutdown")]
    Stopped,
}

impl StoreError {
    /// Whether another program has the file of SQLite for itself now.
    pub fn is_file_locked(&self) -> bool {
        let Self::Engine(cause) = self else { return false };
        let code = cause.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        code == Some(rusqlite::ErrorCode::DatabaseBusy)
    }

    /// What those are told who use the gateway: not where its database is, which the log says.
    pub fn for_people(&self) -> String {
        tracing::error!(error = self as &dyn std::error::Error, "the store failed");
        match self {
            Self::Unreachable { .. } => "its database cannot be reached".to_owned(),
            Self::Hindered { .. } => "its database takes no changes".to_owned(),
            Self::Lost { .. } => "the connection to its database was lost".to_owned(),
            Self::Unknown { .. } => "the connection to its database was lost while a change was committed; \
                 whether it was kept is not known, so look before it is made again"
                .to_owned(),
            other => other.to_string(),
        }
    }
}

impl Store {
    /// Opens the database at a place: a state directory, which is made where it is missing (the
    /// file is readable by its owner alone), or PostgreSQL. Tables are made where there are none,
    /// and brought to the version that this program knows.
    ///
    /// # Errors
    /// [`StoreError`]; a database of a newer version stays untouched, and tables of an older one
    /// while a node of it is there ([`StoreError::OlderNode`]).
    pub fn open(at: impl Into<StoreLocation>) -> Result<Self> {
        Ok(Self::new(match at.into() {
            StoreLocation::Sqlite(dir) => Engine::Sqlite(Sqlite::open(&dir)?),
            StoreLocation::Postgres(config) => Engine::Postgres(Postgres::open(&config)?),
        }))
    }

    /// Keeps everything in memory, until the last handle goes.
    ///
    /// # Errors
    /// [`StoreError`] where there is no room.
    pub fn in_memory() -> Result<Self> {
        Ok(Self::new(Engine::Sqlite(Sqlite::in_memory()?)))
    }

    fn new(engine: Engine) -> Self {
        let (taken_over, woken) = (CancellationToken::new(), watch::Sender::new(()));
        let unsure_claims = Mutex::default();
        let database = Arc::new(Database { engine, taken_over, unsure_claims, woken });
        Self { database, day_bytes_max: None }
    }

    /// The same store, whose journal records no call with which its person would have written more
    /// than this today.
    #[must_use]
    pub fn with_day_budget(&self, bytes: ByteSize) -> Self {
        Self { day_bytes_max: Some(bytes), ..self.clone() }
    }

    /// The same store, with `refuses` asked before each commit of SQLite: one that it refuses fails
    /// and changes nothing. Tests end a program there.
    #[must_use]
    pub fn with_refusals(self, refuses: impl FnMut() -> bool + Send + 'static) -> Self {
        if let Engine::Sqlite(sqlite) = &self.database.engine {
            sqlite.connection().commit_hook(Some(refuses));
        }
        self
    }

    /// The engine where nodes may share the store.
    fn postgres(&self) -> Option<&Postgres> {
        match &self.database.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(postgres) => Some(postgres),
        }
    }

    /// A handle that keeps the database open no longer than others do.
    pub fn downgrade(&self) -> WeakStore {
        WeakStore(Arc::downgrade(&self.database))
    }

    /// Forgets what is done and older or more than the limits; `now` in milliseconds since 1970
    /// UTC. What waits for a turn, or to be sent, stays; so does what a turn that has not ended has
    /// said, done and been given. Returns how many updates went.
    pub async fn prune(&self, now: i64) -> Result<usize> {
        self.write(move |tx| retention::prune(tx, now)).await
    }

    /// Returns when everything that was reported before outlasts a loss of power as well.
    pub async fn settle(&self) -> Result<()> {
        self.run_blocking(Self::settle_here).await
    }

    /// Whether it can be written now: writes what it holds already. Blocks.
    pub fn check(&self) -> Result<()> {
        self.try_here(|tx| match tx {
            Tx::Sqlite(_) => {
                // A newer release may have brought the file to its version beside this process.
                let found: i64 = tx.query_row("PRAGMA user_version", params![], |row| row.get(0))?;
                tx.run(&format!("PRAGMA user_version = {found}"), params![])
            }
            Tx::Postgres(_) => tx.run("UPDATE schema_version SET version = version", params![]),
        })
    }
}

impl WeakStore {
    /// The store, while somebody keeps it open.
    pub fn upgrade(&self) -> Option<Store> {
        self.0.upgrade().map(|database| Store { database, day_bytes_max: None })
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(Box::new(error))
    }
}
