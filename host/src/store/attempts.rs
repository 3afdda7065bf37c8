//! How often a turn was begun, and whose it is: what brings the whole process down runs again at the next
//! start, and must not do so for ever. Forgotten when the turn ends.

use super::{Attempts, Sqlite, StoreError, now_ms};
use async_trait::async_trait;
use cofferdam_core::id::{Caller, TurnId};
use rusqlite::{Transaction, params};

#[async_trait]
impl Attempts for Sqlite {
    async fn attempt(&self, turn: &TurnId, caller: &Caller) -> Result<u32, StoreError> {
        let (turn, caller) = (turn.as_str().to_owned(), caller.clone());
        self.ride(move |tx| {
            let count = tx
                .prepare_cached(
                    "INSERT INTO attempt (turn, channel, sender, count, last_at) VALUES (?1, ?2, ?3, 1, ?4)
                     ON CONFLICT (turn) DO UPDATE SET count = count + 1, last_at = ?4 RETURNING count",
                )?
                .query_row(params![turn, caller.channel, caller.sender, now_ms()], |row| row.get(0))?;
            Ok(count)
        })
        .await
    }

    async fn withdraw_attempt(&self, turn: &TurnId) -> Result<(), StoreError> {
        let turn = turn.as_str().to_owned();
        self.ride(move |tx| {
            tx.prepare_cached("UPDATE attempt SET count = count - 1 WHERE turn = ?1 AND count > 0")?
                .execute([&turn])?;
            Ok(())
        })
        .await
    }
}

/// Forgets the attempts of a turn that has ended.
pub(super) fn forget(tx: &Transaction<'_>, turn: &str) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM attempt WHERE turn = ?1")?.execute([turn])?;
    Ok(())
}

/// Forgets those whose turns were never ended, by age.
pub(super) fn prune(tx: &Transaction<'_>, before: i64) -> Result<(), StoreError> {
    tx.execute("DELETE FROM attempt WHERE last_at < ?1", [before])?;
    Ok(())
}
