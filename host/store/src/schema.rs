//! Opens the file and brings it to the version that this program knows. It never lowers a version.

mod versions;

use super::{Result, StoreError};
use rusqlite::{Connection, TransactionBehavior};
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;
use versions::VERSIONS;

/// The version that this program writes, kept in `user_version`.
pub(super) const VERSION: i64 = 17;

/// The first version that keeps runs. PostgreSQL began later.
pub(super) const FIRST_WITH_RUNS: i64 = 13;

/// A connection to the file, which is made where it is missing.
pub(super) fn open_file(path: &Path) -> Result<Connection> {
    refuse_no_file(path)?;
    make_private(path).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    prepare(Connection::open(path)?)
}

/// Refuses what is there and is no regular file: opening a FIFO waits for its other end.
pub(super) fn refuse_no_file(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() => Err(StoreError::NotAFile(path.to_owned())),
        _ => Ok(()),
    }
}

/// The connection, with its pragmas set and its tables there.
pub(super) fn prepare(mut connection: Connection) -> Result<Connection> {
    // Another process that holds the file is a mistake, but a backup tool may do so for a moment.
    connection.busy_timeout(Duration::from_secs(5))?;
    // Before anything is set: a file of a newer release stays untouched.
    refuse_newer(version(&connection)?)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // The migration; then each commit says what it outlasts.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", "on")?;
    connection.pragma_update(None, "trusted_schema", "off")?;
    // What is done is overwritten, in pages that are given up as well: long texts have pages of
    // their own.
    connection.pragma_update(None, "secure_delete", "on")?;
    connection.pragma_update(None, "journal_size_limit", 8 << 20)?;
    migrate(&mut connection)?;
    Ok(connection)
}

/// Brings the tables to this version, unless a newer release has brought them to its own since
/// somebody looked.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    refuse_newer(found)?;
    for (version, tables) in (1..).zip(VERSIONS) {
        if found < version {
            transaction.execute_batch(tables)?;
        }
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

fn refuse_newer(found: i64) -> Result<()> {
    if found > VERSION { Err(StoreError::Newer { found, known: VERSION }) } else { Ok(()) }
}

pub(super) fn version(connection: &Connection) -> Result<i64> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Makes directory and file private before SQLite opens them: its companion files copy the mode.
fn make_private(path: &Path) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(())
}
