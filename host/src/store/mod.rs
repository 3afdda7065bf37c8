//! The durable memory of the channels: what came in, which turn answers it, what is still to be sent.
//!
//! One SQLite file with one writer; whatever a method reports as done is on disk. It holds raw updates
//! and opaque targets: it knows no channel's wire format, decides nothing and sends nothing.
//!
//! ```text
//! persist ─► pending ─► claim ─► bound to a turn ─► end ─► done, and its reply stored ─► parts sent
//! ```

mod approvals;
mod attempts;
mod history;
mod inbox;
mod journal;
mod outgoing;
mod placeholder;
mod recent;
mod replies;
mod retention;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod usage;

pub use approvals::{APPROVED_PATHS_MAX, Approval, ApprovalState, ApprovedPaths, NewApproval};
pub use history::{LINES_MAX, LOADED_BYTES_MAX, Line};
pub use inbox::STRANGERS_TOLD_PER_HOUR_MAX;
pub use recent::RECENT_ROWS_MAX;
pub use retention::{DONE_AGE_MAX, DONE_ROWS_MAX};
pub use rows::{
    AlbumPart, BoundTurn, Claim, Fate, NewPart, NewRecent, NewReply, NewUpdate, Part, PartKind, Persisted,
    Placeholder, Recent, Reply, Standing, Stranger, Update,
};
pub use usage::{Used, WhoseTurn};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file's name within the state directory.
pub const FILE_NAME: &str = "cofferdam.db";

/// A handle of the database; clones share it.
#[derive(Clone)]
pub struct Store {
    connection: Arc<Mutex<Connection>>,
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
    /// SQLite refuses, or the disk does.
    #[error("the database: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A row holds what no release writes.
    #[error("the database holds {0}, which no release writes; restore a backup")]
    Corrupt(String),
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
        let connection = schema::open(&dir.join(FILE_NAME))?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    /// Whether the database can be written now: writes what it holds already. Blocks.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn check(&self) -> Result<(), StoreError> {
        self.write_here(|transaction| Ok(transaction.pragma_update(None, "user_version", schema::VERSION)?))
    }

    /// Runs work in one transaction, off the async threads.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        tokio::task::spawn_blocking(move || store.write_here(work)).await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Runs work in one transaction on this thread, which may block.
    fn write_here<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // A panic rolls its transaction back, so a poisoned lock guards a sound connection.
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let value = work(&transaction)?;
        transaction.commit()?;
        Ok(value)
    }
}

/// Now, in milliseconds since 1970 UTC.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
