//! Keeps the database from growing: what is done is forgotten by age and by number. What waits for
//! a turn or for its reply to be sent is never touched, nor is what an open turn has behind it, or
//! a task of a run that can go on: it runs again, however late that is, and must not do again what
//! it has done.

use super::inbox::{HOUR_MS, MINUTE_MS};
use super::tx::Tx;
use super::usage::DAY_MS;
use super::value::params;
use super::{APPROVED_PATHS_MAX, LINES_MAX, RECENT_ROWS_MAX, Result, outgoing};
use std::collections::BTreeSet;
use std::time::Duration;

/// Updates that are done longer are forgotten, and with them their replies and journal; references
/// to files that were sent are kept no longer either.
pub const DONE_AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Of updates that are done so many are remembered at most, the latest.
pub const DONE_ROWS_MAX: u32 = 10_000;
/// The turns that have not ended, for `NOT IN`; those of tasks too, whose runs can go on.
pub(super) const OPEN_TURNS: &str = "(SELECT turn FROM inbox WHERE done_at IS NULL AND turn IS NOT NULL
     UNION ALL SELECT run_task.run || '/' || run_task.id FROM run JOIN run_task ON run_task.run = run.run
     WHERE run.state IN ('running', 'failed') AND run_task.state <> 'done')";

/// Forgets all rows of a table but so many, the latest by a column.
pub(super) fn keep_latest(tx: &Tx<'_>, table: &str, noted: &str, most: u32) -> Result<()> {
    let older = format!(
        "DELETE FROM {table} WHERE rowid IN
         (SELECT rowid FROM {table} ORDER BY {noted} DESC, rowid DESC LIMIT 9223372036854775807 OFFSET ?1)"
    );
    tx.run(&older, [most])
}

/// Has the rows of a table that were noted at a time still to come, by a clock that ran ahead, be
/// of a while ago: they are neither later than what came since the store was pruned last, which is
/// each hour, nor kept until that time comes. By a minute no clock ran ahead.
fn age_from_now(tx: &Tx<'_>, table: &str, noted: &str, now: i64) -> Result<()> {
    let (ago, to_come) = (now.saturating_sub(HOUR_MS + MINUTE_MS), now.saturating_add(MINUTE_MS));
    tx.run(&format!("UPDATE {table} SET {noted} = ?1 WHERE {noted} > ?2"), [ago, to_come])
}

/// [`Store::prune`](super::Store::prune) in a transaction.
pub(super) fn prune(tx: &Tx<'_>, now: i64) -> Result<usize> {
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
    age_from_now(tx, "recent", "noted_at", now)?;
    age_from_now(tx, "approved_path", "approved_at", now)?;
    for (table, at) in [
        ("stranger", "told_at"),
        ("recent", "noted_at"),
        // One that still waits has a turn that waits for it: it is never that old.
        ("approval", "expires_at"),
        ("approved_path", "approved_at"),
    ] {
        tx.run(&format!("DELETE FROM {table} WHERE {at} < ?1"), [before])?;
    }
    // The audit is owed the end of the others.
    tx.run("DELETE FROM run WHERE ended_at < ?1 AND unnoted = 0", [before])?;
    for (table, at) in [("journal", "recorded_at"), ("line", "said_at"), ("attempt", "last_at")] {
        tx.run(&format!("DELETE FROM {table} WHERE {at} < ?1 AND turn NOT IN {OPEN_TURNS}"), [before])?;
    }
    // Those that answer no update, but for those whose rest is still to be kept.
    tx.run(
        "DELETE FROM reply WHERE finished_at < ?1 AND NOT EXISTS (SELECT 1 FROM inbox WHERE inbox.turn = reply.turn)
         AND NOT EXISTS (SELECT 1 FROM run_message WHERE run_message.turn = reply.turn AND messages = '')",
        [before],
    )?;
    // Behind the journal, whose calls it looks up.
    let delivered = format!(
        "DELETE FROM delivery WHERE delivered_at < ?1 AND request NOT IN {OPEN_TURNS}
         AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.call_id = delivery.call_id)"
    );
    tx.run(&delivered, [before])?;
    tx.run("DELETE FROM usage WHERE day < ?1", [before / DAY_MS])?;
    let lines = format!(
        "DELETE FROM line WHERE seq <= coalesce((SELECT seq FROM line ORDER BY seq DESC LIMIT 1 OFFSET ?1), 0)
         AND turn NOT IN {OPEN_TURNS}"
    );
    tx.run(&lines, [LINES_MAX])?;
    keep_latest(tx, "recent", "noted_at", RECENT_ROWS_MAX)?;
    keep_latest(tx, "approved_path", "approved_at", APPROVED_PATHS_MAX)?;
    outgoing::prune(tx)?;
    Ok(gone.len())
}
