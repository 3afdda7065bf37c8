//! How often a turn was begun, since when, and whose it is: what brings the whole process down runs
//! again at the next start, and must not do so for ever. Forgotten when the turn ends.

use super::tx::{Ahead, Row, Tx};
use super::value::params;
use super::{Result, Store, StoreError, WhoseTurn, now_ms, usage};
use cofferdam_core::id::{Caller, TurnId};

/// What a turn has behind it that no line of it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptRow {
    /// When it first began to run, in milliseconds since 1970 UTC. One that was only ever cut off
    /// on purpose begins anew.
    pub at: i64,
    /// Tokens that it has cost with nothing to show for them.
    pub spent: u64,
}

/// How often turns were begun, and what that cost.
impl Store {
    /// Counts that a turn is about to run; how often it was so, this time included. Its end forgets
    /// it. Rides.
    pub async fn attempt(&self, turn: &TurnId, caller: &Caller) -> Result<u32> {
        let (turn, caller) = (turn.as_str().to_owned(), caller.clone());
        let counted = self.commit_along_ahead(move |tx| {
            tx.query_ahead(
                "INSERT INTO attempt (turn, channel, sender, count, last_at, begun_at)
                     VALUES (?1, ?2, ?3, 1, ?4, ?4)
                     ON CONFLICT (turn) DO UPDATE SET count = attempt.count + 1, last_at = ?4,
                     begun_at = CASE attempt.count WHEN 0 THEN ?4 ELSE attempt.begun_at END
                     RETURNING attempt.count",
                params![turn, caller.channel, caller.sender, now_ms()],
                |row| row.get(0),
            )
        });
        counted.await?.ok_or_else(|| StoreError::Corrupt("an attempt that has no count".to_owned()))
    }

    /// Takes the last attempt back. Rides.
    pub async fn withdraw_attempt(&self, turn: &TurnId) -> Result<()> {
        self.run_along("UPDATE attempt SET count = count - 1 WHERE turn = ?1 AND count > 0", [turn]).await
    }

    /// What a turn has behind it besides its lines; `None` where no attempt of it is counted.
    pub async fn load_attempt(&self, turn: &TurnId) -> Result<Option<AttemptRow>> {
        self.query_optional(BEGUN, [turn], read_attempt).await
    }

    /// Charges tokens that a turn has cost without a line to show for them. Rides.
    pub async fn spend(&self, whose: &WhoseTurn, tokens: u64) -> Result<()> {
        let whose = whose.clone();
        self.commit_along(move |tx| {
            tx.run("UPDATE attempt SET spent = spent + ?2 WHERE turn = ?1", params![whose.turn, tokens])?;
            usage::charge_tokens(tx, &whose.caller, tokens)
        })
        .await
    }
}

const BEGUN: &str = "SELECT begun_at, spent FROM attempt WHERE turn = ?1";

fn read_attempt(row: &Row<'_>) -> Result<AttemptRow> {
    Ok(AttemptRow { at: row.get(0)?, spent: row.get(1)? })
}

/// [`Store::load_attempt`] with what follows.
pub(super) fn ask_attempt(tx: &Tx<'_>, turn: &TurnId) -> Result<Ahead<AttemptRow>> {
    tx.query_ahead(BEGUN, [turn], read_attempt)
}

/// Forgets the attempts of a turn that has ended.
pub(super) fn forget(tx: &Tx<'_>, turn: &str) -> Result<()> {
    tx.run("DELETE FROM attempt WHERE turn = ?1", [turn])
}
