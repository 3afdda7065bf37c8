//! Which blobs a turn needs until its reply is out. Blobs themselves lie beside the database; nobody removes one
//! that is listed here.

use super::{Store, StoreError};
use cofferdam_core::message::OutgoingAttachment;
use rusqlite::{Transaction, params};
use std::collections::BTreeSet;

impl Store {
    /// The SHA-256 of every blob that a turn or a stored reply still needs. Blocks on the disk.
    ///
    /// # Errors
    /// [`StoreError`]; then every blob may be needed.
    pub fn blobs_in_use(&self) -> Result<BTreeSet<String>, StoreError> {
        self.write_here(|tx| {
            let mut statement = tx.prepare_cached("SELECT sha256 FROM outgoing")?;
            let found = statement.query_map([], |row| row.get(0))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

/// Notes that a turn needs these.
pub(super) fn hold(tx: &Transaction<'_>, turn: &str, files: &[OutgoingAttachment]) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached("INSERT OR IGNORE INTO outgoing (turn, sha256) VALUES (?1, ?2)")?;
    for file in files {
        insert.execute(params![turn, file.sha256])?;
    }
    Ok(())
}

/// Notes that a turn needs nothing any more.
pub(super) fn forget(tx: &Transaction<'_>, turn: &str) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM outgoing WHERE turn = ?1")?.execute([turn])?;
    Ok(())
}
