//! Voice: what was heard in the message of a turn, so that nobody is asked twice; and whose voice
//! messages are answered by voice.

use super::retention::keep_latest;
use super::value::params;
use super::{Result, Store, now_ms};
use cofferdam_core::id::{SessionId, TurnId};

/// People in their sessions who are answered by voice, the latest; anyone who is forgotten asks
/// again.
pub const SPOKEN_TO_MAX: u32 = 10_000;

/// Voice messages, and answers by voice.
impl Store {
    /// What was heard in the message of a turn that has not ended, if that is noted.
    pub async fn transcript(&self, turn: &TurnId) -> Result<Option<String>> {
        let found = "SELECT transcript FROM attempt WHERE turn = ?1";
        Ok(self.query_optional(found, [turn], |row| row.get(0)).await?.flatten())
    }

    /// Notes what was heard, once, of a turn of which an attempt is counted. Its end forgets it.
    pub async fn keep_transcript(&self, turn: &TurnId, text: &str) -> Result<()> {
        let keep = "UPDATE attempt SET transcript = ?2 WHERE turn = ?1 AND transcript IS NULL";
        self.run(keep, params![turn, text]).await
    }

    /// Whether somebody's voice messages in a session are answered by voice, too.
    pub async fn is_spoken_to(&self, session: &SessionId, sender: &str) -> Result<bool> {
        let found = "SELECT 1 FROM spoken_to WHERE session = ?1 AND sender = ?2";
        Ok(self.query_optional(found, params![session, sender], |_| Ok(())).await?.is_some())
    }

    /// Has them answered so, or not.
    pub async fn set_spoken_to(&self, session: &SessionId, sender: &str, is_on: bool) -> Result<()> {
        let (session, sender) = (session.as_str().to_owned(), sender.to_owned());
        self.write(move |tx| {
            if !is_on {
                return tx
                    .run("DELETE FROM spoken_to WHERE session = ?1 AND sender = ?2", [&session, &sender]);
            }
            tx.run(
                "INSERT INTO spoken_to (session, sender, since) VALUES (?1, ?2, ?3)
                 ON CONFLICT (session, sender) DO UPDATE SET since = ?3",
                params![session, sender, now_ms()],
            )?;
            keep_latest(tx, "spoken_to", "since", SPOKEN_TO_MAX)
        })
        .await
    }
}
