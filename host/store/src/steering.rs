//! What is said to a turn while it runs. It waits in the inbox like everything else: either the
//! turn takes it up, with the line that says so, or a turn of its own answers it when its place in
//! the order has come.

use super::inbox::update;
use super::tx::Tx;
use super::value::params;
use super::{
    Headers, QueueMode, Result, SteerUpdate, Store, TakeUpRequest, Update, WhoseTurn, history, now_ms, recent,
};
use cofferdam_core::id::TurnId;

/// Updates that wait to be said to one turn and are looked at; the others are answered after it.
pub(super) const LOOKED_AT_MAX: u32 = 64;

/// What is said to turns that run.
impl Store {
    /// What waits to be said to a turn, in order.
    pub async fn load_steers(&self, channel: &str, turn: &TurnId) -> Result<Vec<SteerUpdate>> {
        let waits = "SELECT update_id, raw, album FROM inbox
             WHERE request IN (SELECT seq FROM inbox WHERE turn = ?2 AND channel = ?1 AND joined IS NULL)
             AND channel = ?1 AND turn IS NULL AND done_at IS NULL ORDER BY seq LIMIT ?3";
        self.query_rows(waits, params![channel, turn, LOOKED_AT_MAX], |row| {
            Ok(SteerUpdate { update: update(row)?, album: row.get(2)? })
        })
        .await
    }

    /// Takes updates up into a turn as its line `n`: both, for good, or neither when one of them is
    /// another turn's. Whether they are taken up.
    pub async fn take_up(
        &self,
        whose: &WhoseTurn,
        n: usize,
        body: String,
        taking: &TakeUpRequest,
    ) -> Result<bool> {
        let (whose, taking) = (whose.clone(), taking.clone());
        self.write(move |tx| {
            let is_free =
                "SELECT 1 FROM inbox WHERE channel = ?1 AND update_id = ?2 AND turn IS NULL AND done_at IS NULL";
            for id in &taking.updates {
                if !tx.exists(is_free, params![taking.channel, id])? {
                    return Ok(false);
                }
            }
            let turn = whose.turn.as_str();
            let bind = "UPDATE inbox SET turn = ?3, joined = ?4 WHERE channel = ?1 AND update_id = ?2";
            for id in &taking.updates {
                tx.run(bind, params![taking.channel, id, turn, n])?;
            }
            if let Some(files) = &taking.noting {
                recent::note(tx, (&taking.channel, turn), files, now_ms())?;
            }
            history::add(tx, &whose, n, &body, 0)?;
            Ok(true)
        })
        .await
    }

    /// What a turn has taken up, in that order; the updates of one message together.
    pub async fn load_taken_up(&self, channel: &str, turn: &TurnId) -> Result<Vec<Vec<Update>>> {
        let (channel, turn) = (channel.to_owned(), turn.clone());
        self.read(move |tx| {
            let updates = tx.query_rows(
                "SELECT update_id, raw, joined FROM inbox
                 WHERE turn = ?1 AND channel = ?2 AND joined IS NOT NULL ORDER BY joined, seq",
                params![turn, channel],
                |row| Ok((row.get::<i64>(2)?, update(row)?)),
            )?;
            let messages = updates.chunk_by(|(one, _), (next, _)| one == next);
            Ok(messages.map(|parts| parts.iter().map(|(_, part)| part.clone()).collect()).collect())
        })
        .await
    }
}

/// Addresses an update that has just come and that steers to the message that its session is at:
/// the first one that is not answered yet. It has to be the same sender's, because a turn does all
/// that it does for the one who began it.
pub(super) fn address(tx: &Tx<'_>, seq: i64, headers: &Headers) -> Result<()> {
    let Headers { session, sender, queue: QueueMode::Steer, .. } = headers else { return Ok(()) };
    let at = tx.query_optional(
        "SELECT seq, sender FROM inbox AS at WHERE session = ?1 AND seq < ?2 AND done_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM inbox WHERE seq = at.request AND done_at IS NULL)
         ORDER BY seq LIMIT 1",
        params![session, seq],
        |row| Ok((row.get::<i64>(0)?, row.get::<Option<String>>(1)?)),
    )?;
    match at {
        Some((request, Some(by))) if by == *sender => {
            tx.run("UPDATE inbox SET request = ?2 WHERE seq = ?1", params![seq, request])
        }
        _ => Ok(()),
    }
}
