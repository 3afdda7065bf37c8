//! The first engine: one file of SQLite with one writer, and its log.
//!
//! Every commit outlasts the program: the system has it. The power is outlasted by what is on the
//! disk. What rides is on the disk with the next thing that is settled after it, because the log is
//! one file that is read up to its first gap.

use super::commit::Survives;
use super::tx::Tx;
use super::{FILE_NAME, Result, StoreError, schema};
use cofferdam_core::lock::lock;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, ffi};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The engine of a store in a file, or in memory.
pub(super) struct Sqlite {
    pub(super) connection: Mutex<Connection>,
    pub(super) log: WriteAheadLog,
}

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

impl Sqlite {
    /// The database of a state directory.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let connection = Mutex::new(schema::open_file(&dir.join(FILE_NAME))?);
        Ok(Self { connection, log: WriteAheadLog::open(dir)? })
    }

    /// That of a state directory for those who only look, and its version; none where there is no
    /// file.
    pub(super) fn look(dir: &Path) -> Result<Option<(Self, i64)>> {
        let path = dir.join(FILE_NAME);
        if !path.try_exists().map_err(|source| StoreError::Open { path: path.clone(), source })? {
            return Ok(None);
        }
        schema::refuse_no_file(&path)?;
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(Duration::from_secs(1))?;
        let version = schema::version(&connection)?;
        Ok(Some((Self { connection: Mutex::new(connection), log: WriteAheadLog::absent() }, version)))
    }

    /// One that goes with this.
    pub(super) fn in_memory() -> Result<Self> {
        let connection = Mutex::new(schema::prepare(Connection::open_in_memory()?)?);
        Ok(Self { connection, log: WriteAheadLog::absent() })
    }

    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic rolls its transaction back, so a poisoned lock guards a sound connection.
        lock(&self.connection)
    }

    /// Runs work in one transaction.
    pub(super) fn run<T>(&self, outlasts: Survives, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.connection();
        self.log.mend(&connection)?;
        let synchronous = match outlasts {
            Survives::Program => "normal",
            Survives::Power => "full",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let tx = Tx::Sqlite(transaction);
        let value = work(&tx)?;
        if let Tx::Sqlite(transaction) = tx
            && let Err(error) = transaction.commit()
        {
            // What rode with it is as doubtful as itself, and is not rolled back.
            self.log.doubtful.fetch_or(is_unsynced(&error), Ordering::AcqRel);
            return Err(error.into());
        }
        self.log.committed.fetch_add(1, Ordering::AcqRel);
        Ok(value)
    }

    /// Runs work that changes nothing; what it would change is rolled back.
    pub(super) fn read<T>(&self, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.connection();
        work(&Tx::Sqlite(connection.transaction_with_behavior(TransactionBehavior::Deferred)?))
    }

    /// The same, and nobody else writes meanwhile.
    pub(super) fn read_alone<T>(&self, work: &impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.connection();
        work(&Tx::Sqlite(connection.transaction_with_behavior(TransactionBehavior::Immediate)?))
    }

    /// Has the disk take in what was committed. Others commit meanwhile, and of those who wait here
    /// the first has the disk take in what all of them have committed.
    pub(super) fn settle(&self) -> Result<()> {
        let log = &self.log;
        let wanted = log.committed.load(Ordering::Acquire);
        let mut settled = lock(&log.settled);
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
}

impl WriteAheadLog {
    /// The log of the database in this directory, which is open.
    fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(format!("{FILE_NAME}-wal"));
        let file = File::open(&path).map_err(|source| StoreError::Open { path, source })?;
        Ok(Self { file: Some(file), ..Self::absent() })
    }

    /// Where there is none.
    fn absent() -> Self {
        let (committed, settled) = (AtomicU64::new(1), Mutex::new(0));
        Self { file: None, committed, settled, doubtful: AtomicBool::new(false) }
    }

    /// Has what the disk may have lost written once more, into the database itself.
    fn mend(&self, connection: &Connection) -> Result<()> {
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

fn is_unsynced(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_FSYNC)
}
