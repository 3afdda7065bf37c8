//! Approvals: which call waits for a person, what they decided, and which paths need no approval
//! any more.
//!
//! One step decides: anyone who comes first, and only in time. What a call would have done is not
//! kept, only the hash that names it.

use super::tx::{Row, Tx};
use super::value::{column_words, params};
use super::{Result, Store, now_ms};
pub use cofferdam_core::audit::ApprovalState;

/// Paths that are remembered as approved, the latest; one that was forgotten is asked about again.
pub const APPROVED_PATHS_MAX: u32 = 10_000;
/// Bytes of a path that is remembered so. PostgreSQL has no longer rows in an index: one that it
/// refuses would be tried again for ever.
pub const APPROVED_PATH_BYTES_MAX: usize = 2 << 10;

/// Approvals whose choices are taken away at one start; a press of the others is told that it is
/// too late.
pub const OPEN_CHOICES_MAX: u32 = 1000;

/// A call about which somebody is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewApproval {
    /// Names it to anyone who answers: not to be guessed.
    pub id: String,
    /// What is the channel's in the store that shows it.
    pub channel: String,
    /// The call, `<turn>/<n>`.
    pub call: String,
    /// Names the very call and what was shown of it.
    pub sha256: String,
    /// Where it is shown and who may decide, in the channel's own words.
    pub place: String,
    /// When it is too late, in milliseconds since 1970 UTC.
    pub expires_at: i64,
}

/// An approval as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRow {
    /// Names it.
    pub id: String,
    /// Where it is shown and who may decide, in the channel's own words.
    pub place: String,
    /// The platform's id of the message that shows it, once that is known.
    pub message: Option<String>,
    /// Where it stands.
    pub state: ApprovalState,
    /// Who decided.
    pub decided_by: Option<String>,
    /// When it is too late.
    pub expires_at: i64,
}

/// Whose paths are meant, and for which tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedPaths {
    /// The channel.
    pub channel: String,
    /// Who asks for the calls.
    pub sender: String,
    /// The tool.
    pub tool: String,
}

/// Which calls wait for a person, and what was decided.
impl Store {
    /// The approval of exactly this call, the first that was asked for; what else was asked about
    /// it is withdrawn and returned.
    pub async fn ask(&self, new: NewApproval) -> Result<(ApprovalRow, Vec<ApprovalRow>)> {
        self.write(move |tx| {
            tx.run(
                "INSERT INTO approval (id, call_id, sha256, place, state, asked_at, expires_at, channel)
                 VALUES (?1, ?2, ?3, ?4, 'asked', ?5, ?6, ?7) ON CONFLICT DO NOTHING",
                params![new.id, new.call, new.sha256, new.place, now_ms(), new.expires_at, new.channel],
            )?;
            let others = tx.query_rows(
                "UPDATE approval SET state = 'withdrawn'
                 WHERE call_id = ?1 AND sha256 <> ?2 AND state = 'asked'
                 RETURNING id, place, message, state, decided_by, expires_at",
                [&new.call, &new.sha256],
                approval,
            )?;
            let mine = tx.query_row(
                "SELECT id, place, message, state, decided_by, expires_at FROM approval
                     WHERE call_id = ?1 AND sha256 = ?2",
                [&new.call, &new.sha256],
                approval,
            )?;
            Ok((mine, others))
        })
        .await
    }

    /// Has the time of an approval begin now, unless it is decided, or noted as shown; and that of
    /// the task of a run which waits for it.
    pub async fn restart_approval(&self, id: &str, patience: i64) -> Result<()> {
        let id = id.to_owned();
        self.write(move |tx| {
            let now = now_ms();
            let restarted = tx.query_rows(
                "UPDATE approval SET expires_at = ?2 WHERE id = ?1 AND state = 'asked' AND message IS NULL
                 RETURNING call_id",
                params![id, now.saturating_add(patience)],
                |row| row.get::<String>(0),
            )?;
            for call in restarted {
                let run = call.split_once('/').map_or("", |(run, _)| run);
                tx.run(
                    "UPDATE run_task SET waits_until = ?2 + patience
                     WHERE run = ?1 AND state = 'running' AND waits_of IS NULL AND waits_until IS NOT NULL",
                    params![run, now],
                )?;
            }
            Ok(())
        })
        .await
    }

    /// Notes the platform's id of the message that shows it.
    pub async fn mark_approval_shown(&self, id: &str, message: &str) -> Result<()> {
        self.run("UPDATE approval SET message = ?2 WHERE id = ?1", [id, message]).await
    }

    /// The approval of this id.
    pub async fn approval(&self, id: &str) -> Result<Option<ApprovalRow>> {
        let id = id.to_owned();
        self.read(move |tx| find(tx, &id)).await
    }

    /// Decides one that nobody has decided, in time, and returns how it stands then.
    pub async fn decide(
        &self,
        id: &str,
        state: ApprovalState,
        by: Option<String>,
    ) -> Result<Option<ApprovalRow>> {
        let id = id.to_owned();
        self.write(move |tx| {
            tx.run(
                "UPDATE approval SET state = 'expired' WHERE id = ?1 AND state = 'asked' AND expires_at <= ?2",
                params![id, now_ms()],
            )?;
            tx.run(
                "UPDATE approval SET state = ?2, decided_by = ?3 WHERE id = ?1 AND state = 'asked'",
                params![id, state, by],
            )?;
            find(tx, &id)
        })
        .await
    }

    /// Approvals of a channel that are over, and whose message may still show choices, oldest
    /// first; at most [`OPEN_CHOICES_MAX`]. Those of runs that have ended
    /// are withdrawn first: nobody waits for them any more.
    pub async fn open_choices(&self, channel: &str) -> Result<Vec<ApprovalRow>> {
        let channel = channel.to_owned();
        self.write(move |tx| {
            // Who waited was killed, and nobody goes on with a run that has ended.
            let asked = "SELECT id, call_id FROM approval WHERE channel = ?1 AND state = 'asked'";
            let asked =
                tx.query_rows(asked, [&channel], |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?)))?;
            for (id, call) in asked {
                let run = call.split_once('/').map_or("", |(run, _)| run);
                if tx.exists("SELECT 1 FROM run WHERE run = ?1 AND state <> 'running'", [run])? {
                    tx.run("UPDATE approval SET state = 'withdrawn' WHERE id = ?1", [id])?;
                }
            }
            tx.query_rows(
                "SELECT id, place, message, state, decided_by, expires_at FROM approval
                 WHERE channel = ?1 AND has_choices = 1 AND state <> 'asked' AND message IS NOT NULL
                 ORDER BY asked_at, rowid LIMIT ?2",
                params![channel, OPEN_CHOICES_MAX],
                approval,
            )
        })
        .await
    }

    /// Notes that the message of an approval shows no choices any more.
    pub async fn mark_choices_gone(&self, id: &str) -> Result<()> {
        self.run_along("UPDATE approval SET has_choices = 0 WHERE id = ?1", [id]).await
    }

    /// Remembers paths as approved, but for those over [`APPROVED_PATH_BYTES_MAX`], which are asked
    /// about each time.
    pub async fn remember_paths(&self, of: ApprovedPaths, paths: Vec<String>) -> Result<()> {
        self.write(move |tx| {
            let insert = "INSERT INTO approved_path (channel, sender, tool, path, approved_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (channel, sender, tool, path) DO UPDATE SET approved_at = ?5";
            for path in paths.iter().filter(|path| path.len() <= APPROVED_PATH_BYTES_MAX) {
                tx.run(insert, params![of.channel, of.sender, of.tool, path, now_ms()])?;
            }
            Ok(())
        })
        .await
    }

    /// Those of the paths that are remembered. May block.
    pub fn approved_paths(&self, of: &ApprovedPaths, paths: &[String]) -> Result<Vec<String>> {
        self.read_here(|tx| {
            let look =
                "SELECT 1 FROM approved_path WHERE channel = ?1 AND sender = ?2 AND tool = ?3 AND path = ?4";
            let mut known = Vec::new();
            for path in paths {
                if tx.exists(look, params![of.channel, of.sender, of.tool, path])? {
                    known.push(path.clone());
                }
            }
            Ok(known)
        })
    }
}

/// Withdraws what the calls of a turn that is over have asked: it may have been replayed, and have
/// ended before it came to them.
pub(super) fn withdraw_asked(tx: &Tx<'_>, turn: &str) -> Result<()> {
    // What follows `/` is `0`, so that an index finds all between.
    tx.run(
        "UPDATE approval SET state = 'withdrawn' WHERE state = 'asked' AND call_id > ?1 AND call_id < ?2",
        [format!("{turn}/"), format!("{turn}0")],
    )
}

fn find(tx: &Tx<'_>, id: &str) -> Result<Option<ApprovalRow>> {
    tx.query_optional(
        "SELECT id, place, message, state, decided_by, expires_at FROM approval WHERE id = ?1",
        [id],
        approval,
    )
}

fn approval(row: &Row<'_>) -> Result<ApprovalRow> {
    Ok(ApprovalRow {
        id: row.get(0)?,
        place: row.get(1)?,
        message: row.get(2)?,
        state: row.get(3)?,
        decided_by: row.get(4)?,
        expires_at: row.get(5)?,
    })
}

column_words! { ApprovalState, "an approval that is {:?}":
    Asked = "asked" Approved = "approved" Denied = "denied" Expired = "expired" Withdrawn = "withdrawn"
}
