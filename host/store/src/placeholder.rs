//! The one message that may stand for an answer while its turn runs. It is written down before it
//! is sent, so that a turn that runs again after a crash finds it and never sends a second one.

use super::tx::Tx;
use super::value::params;
use super::{Placeholder, Result, Store};
use cofferdam_core::id::TurnId;

/// The messages that stand for answers of turns that run.
impl Store {
    /// The placeholder of a turn that has not ended.
    pub async fn placeholder(&self, turn: &TurnId) -> Result<Option<Placeholder>> {
        let found = "SELECT message FROM placeholder WHERE turn = ?1";
        let found = self.query_optional(found, [turn], |row| row.get::<Option<String>>(0)).await?;
        Ok(found.map(|message| message.map_or(Placeholder::Unknown, Placeholder::Sent)))
    }

    /// Notes that it is about to be sent, unless it is noted.
    pub async fn mark_placeholder_begun(&self, turn: &TurnId) -> Result<()> {
        self.run("INSERT INTO placeholder (turn) VALUES (?1) ON CONFLICT DO NOTHING", [turn]).await
    }

    /// Notes the platform's id of it.
    pub async fn mark_placeholder_sent(&self, turn: &TurnId, message: &str) -> Result<()> {
        self.run("UPDATE placeholder SET message = ?2 WHERE turn = ?1", params![turn, message]).await
    }
}

/// Forgets it: from here on the stored reply, if any, says what becomes of the message.
pub(super) fn forget(tx: &Tx<'_>, turn: &str) -> Result<()> {
    tx.run("DELETE FROM placeholder WHERE turn = ?1", [turn])
}
