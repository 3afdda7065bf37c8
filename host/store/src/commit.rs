//! Commits, and what each of them outlasts.
//!
//! Every commit outlasts the program: the system has it. The power is outlasted by what is on the
//! disk, and to wait for that takes longer than most turns. So what nobody outside has seen
//! anything of rides: it is on the disk with the next thing that is settled after it, because the
//! log is one file that is read up to its first gap.

use super::{FILE_NAME, Store, StoreError, blocking, now_ms};
use cofferdam_core::standing::STORE;
use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, TransactionBehavior, ffi};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The log of the database, which SQLite writes, and how much of it is known to be on the disk.
pub(super) struct WriteAheadLog {
    /// None where nothing outlasts a loss of power.
    file: Option<File>,
    /// Counts commits. It begins with those of an earlier run, of which nobody knows.
    pub(super) committed: AtomicU64,
    /// As many of them are on the disk.
    pub(super) settled: Mutex<u64>,
    /// The disk has failed to take something in. The system forgets that after saying so once.
    pub(super) doubtful: AtomicBool,
}

/// What a commit outlasts when it has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Survives {
    Program,
    Power,
}

/// A transaction. Its statements are compiled once for the connection.
pub(super) struct Tx<'c>(Transaction<'c>);

impl Tx<'_> {
    /// Runs a statement; how many rows it has changed.
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        Ok(self.0.prepare_cached(sql)?.execute(params)?)
    }

    /// What is read of the one row of a query.
    pub(super) fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        Ok(self.0.prepare_cached(sql)?.query_row(params, read)?)
    }

    /// What is read of the first row of a query, if it has one.
    pub(super) fn query_optional<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.0.prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    /// What is read of each row of a query.
    pub(super) fn query_rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        Ok(self.0.prepare_cached(sql)?.query_map(params, read)?.collect::<Result<_, _>>()?)
    }

    /// Hands on the rows of a query one by one, for as long as more are wanted.
    pub(super) fn for_each(
        &self,
        sql: &str,
        params: impl Params,
        mut each: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.0.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            if each(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Whether a query has a row.
    pub(super) fn exists(&self, sql: &str, params: impl Params) -> Result<bool, StoreError> {
        Ok(self.0.prepare_cached(sql)?.exists(params)?)
    }
}

impl WriteAheadLog {
    /// The log of the database in this directory, which is open.
    pub(super) fn open(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(format!("{FILE_NAME}-wal"));
        let file = File::open(&path).map_err(|source| StoreError::Open { path, source })?;
        Ok(Self { file: Some(file), ..Self::absent() })
    }

    /// Where there is none.
    pub(super) fn absent() -> Self {
        let (committed, settled) = (AtomicU64::new(1), Mutex::new(0));
        Self { file: None, committed, settled, doubtful: AtomicBool::new(false) }
    }

    /// Has what the disk may have lost written once more, into the database itself.
    fn mend(&self, connection: &Connection) -> Result<(), StoreError> {
        if !self.doubtful.load(Ordering::Acquire) {
            return Ok(());
        }
        let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy != 0 {
            return Err(StoreError::Unsettled);
        }
        self.doubtful.store(false, Ordering::Release);
        tracing::warn!("the disk failed to take the database in; it was written once more");
        Ok(())
    }
}

impl Store {
    /// Runs work in one transaction, off the async threads; it is on the disk when this returns.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run_blocking(move |store| store.write_here(work)).await
    }

    /// The same for what rides: it is on the disk when something after it is, or once it is
    /// settled.
    pub(super) async fn commit_along<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run_blocking(move |store| store.commit(Survives::Program, work)).await
    }

    /// [`Store::write`] on this thread, which may block.
    pub(super) fn write_here<T>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.commit(Survives::Power, work)
    }

    /// [`Store::settle`] on this thread, which may block. Others commit meanwhile, and of
    /// those who wait here the first has the disk take in what all of them have committed.
    pub(super) fn settle_here(&self) -> Result<(), StoreError> {
        self.settle_now().inspect_err(|error| STORE.failed(now_ms(), &error.to_string()))
    }

    fn settle_now(&self) -> Result<(), StoreError> {
        let log = &self.database.log;
        let wanted = log.committed.load(Ordering::Acquire);
        let mut settled = log.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if *settled >= wanted {
            return Ok(());
        }
        let committed = log.committed.load(Ordering::Acquire);
        if log.doubtful.load(Ordering::Acquire) {
            log.mend(&self.connection())?;
        } else if let Err(error) = log.file.as_ref().map_or(Ok(()), File::sync_data) {
            log.doubtful.store(true, Ordering::Release);
            return Err(StoreError::Engine(Box::new(error)));
        }
        *settled = committed;
        Ok(())
    }

    /// Runs work that may block.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        blocking::run(move || work(&store)).await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Runs work in one transaction, and notes whether the store works.
    fn commit<T>(
        &self,
        outlasts: Survives,
        work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let committed = self.commit_now(outlasts, work);
        match &committed {
            Ok(_) => STORE.note_success(now_ms()),
            Err(error) => STORE.failed(now_ms(), &error.to_string()),
        }
        committed
    }

    fn commit_now<T>(
        &self,
        outlasts: Survives,
        work: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection();
        self.database.log.mend(&connection)?;
        let synchronous = match outlasts {
            Survives::Program => "normal",
            Survives::Power => "full",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let transaction = Tx(transaction);
        let value = work(&transaction)?;
        if let Err(error) = transaction.0.commit() {
            // What rode with it is as doubtful as itself, and is not rolled back.
            self.database.log.doubtful.fetch_or(is_unsynced(&error), Ordering::AcqRel);
            return Err(error.into());
        }
        self.database.log.committed.fetch_add(1, Ordering::AcqRel);
        Ok(value)
    }

    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic rolls its transaction back, so a poisoned lock guards a sound connection.
        self.database.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_unsynced(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_FSYNC)
}
