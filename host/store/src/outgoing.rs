//! Which blobs a turn needs until its reply is out. Blobs themselves lie beside the database;
//! nobody removes one that is listed here.

use super::retention::OPEN_TURNS;
use super::tx::Tx;
use super::value::params;
use super::{BlobHolder, Result, Store};
use cofferdam_core::message::OutgoingAttachment;
use std::collections::BTreeSet;

/// Who still needs the blobs of replies.
impl Store {
    /// The SHA-256 of every blob that a holder or a kept reply still needs. May block.
    pub fn blobs_in_use(&self) -> Result<BTreeSet<String>> {
        let found =
            self.read_here(|tx| tx.query_rows("SELECT sha256 FROM outgoing", params![], |row| row.get(0)))?;
        // Blobs go for good, so what says that nobody needs them has to stay.
        self.settle_here()?;
        Ok(found.into_iter().collect())
    }

    /// Notes that the holder needs these blobs, besides what it needs already.
    pub async fn hold(&self, holder: &BlobHolder, files: &[OutgoingAttachment]) -> Result<()> {
        let (holder, files) = (holder.key(), files.to_vec());
        self.write(move |tx| hold(tx, &holder, &files)).await
    }
}

impl BlobHolder {
    /// How the table names it; no turn's id begins so.
    fn key(&self) -> String {
        match self {
            Self::Turn(turn) => turn.to_string(),
            Self::Retry(session) => retry_key(session.as_str()),
        }
    }
}

/// What is kept for a retry in a session.
pub(super) fn retry_key(session: &str) -> String {
    format!("retry:{session}")
}

/// Forgets what was kept for retries in sessions of which nothing is kept any more, and what is
/// held by turns that nobody knows any more: without a reply, a call or a message that is open.
pub(super) fn prune(tx: &Tx<'_>) -> Result<()> {
    tx.run(
        "DELETE FROM outgoing WHERE turn LIKE 'retry:%'
         AND NOT EXISTS (SELECT 1 FROM line WHERE session = substr(outgoing.turn, 7))",
        params![],
    )?;
    let unknown = format!(
        "DELETE FROM outgoing WHERE turn NOT LIKE 'retry:%' AND turn NOT IN {OPEN_TURNS}
         AND NOT EXISTS (SELECT 1 FROM reply WHERE reply.turn = outgoing.turn)
         AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.turn = outgoing.turn)"
    );
    tx.run(&unknown, params![])
}

/// Notes that a turn needs these.
pub(super) fn hold(tx: &Tx<'_>, turn: &str, files: &[OutgoingAttachment]) -> Result<()> {
    let insert = "INSERT INTO outgoing (turn, sha256) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    for file in files {
        tx.run(insert, params![turn, file.sha256])?;
    }
    Ok(())
}

/// Notes that a turn needs nothing any more.
pub(super) fn forget(tx: &Tx<'_>, turn: &str) -> Result<()> {
    tx.run("DELETE FROM outgoing WHERE turn = ?1", [turn])
}
