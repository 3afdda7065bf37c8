//! Keeps the database from growing: what is done is forgotten by age and by number. What waits for
//! a turn or for its reply to be sent is never touched, nor is what an open turn has behind it: it
//! runs again at the next start, however late that is, and must not do again what it has done.

use super::tx::Tx;
use super::value::params;
use super::{StoreError, approvals, attempts, history, journal, outgoing, recent, runs, usage};
use std::collections::BTreeSet;
use std::time::Duration;

/// Updates that are done longer are forgotten, and with them their replies and journal; references
/// to files that were sent are kept no longer either.
pub const DONE_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Of updates that are done so many are remembered at most, the latest.
pub const DONE_ROWS_MAX: u32 = 10_000;
/// The turns that have not ended, for `NOT IN`.
pub(super) const OPEN_TURNS: &str = "(SELECT turn FROM inbox WHERE done_at IS NULL AND turn IS NOT NULL)";

/// Forgets all rows of a table but so many, the latest by a column.
pub(super) fn keep_latest(tx: &Tx<'_>, table: &str, noted: &str, most: u32) -> Result<(), StoreError> {
    let older = format!(
        "DELETE FROM {table} WHERE rowid IN
         (SELECT rowid FROM {table} ORDER BY {noted} DESC, rowid DESC LIMIT 9223372036854775807 OFFSET ?1)"
    );
    tx.run(&older, [most])
}

/// [`Store::prune`](super::Store::prune) in a transaction.
pub(super) fn prune(tx: &Tx<'_>, now: i64) -> Result<usize, StoreError> {
    let age_ms = i64::try_from(DONE_AGE_MAX.as_millis()).unwrap_or(i64::MAX);
    let before = now.saturating_sub(age_ms);
    let gone: Vec<Option<String>> = tx.query_rows(
        "DELETE FROM inbox WHERE done_at IS NOT NULL
         AND (done_at < ?1 OR seq <= coalesce(
             (SELECT seq FROM inbox WHERE done_at IS NOT NULL ORDER BY seq DESC LIMIT 1 OFFSET ?2), 0))
         AND NOT EXISTS (SELECT 1 FROM reply WHERE reply.turn = inbox.turn AND finished_at IS NULL)
         RETURNING turn",
        params![before, DONE_ROWS_MAX],
        |row| row.get(0),
    )?;
    let turns: BTreeSet<&String> = gone.iter().flatten().collect();
    for turn in turns {
        tx.run("DELETE FROM journal WHERE turn = ?1", [turn])?;
        tx.run("DELETE FROM reply WHERE turn = ?1", [turn])?;
        outgoing::forget(tx, turn)?;
    }
    let recorded = format!("DELETE FROM journal WHERE recorded_at < ?1 AND turn NOT IN {OPEN_TURNS}");
    tx.run(&recorded, [before])?;
    // Those that answer no update.
    tx.run(
        "DELETE FROM reply WHERE finished_at < ?1 AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.turn = reply.turn)",
        [before],
    )?;
    tx.run("DELETE FROM stranger WHERE told_at < ?1", [before])?;
    recent::prune(tx, before)?;
    history::prune(tx, before)?;
    outgoing::prune(tx)?;
    attempts::prune(tx, before)?;
    usage::prune(tx, before)?;
    approvals::prune(tx, before)?;
    runs::prune(tx, before)?;
    // Behind the journal, whose calls it looks up.
    journal::prune(tx, before)?;
    Ok(gone.len())
}
