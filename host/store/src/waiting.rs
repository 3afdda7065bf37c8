//! What waits for a turn, session by session: in which order it is to be worked on, and how much
//! there is.

use super::value::params;
use super::{QueuedUpdate, Store, StoreError};
use cofferdam_core::id::SessionId;

/// What waits for a turn, session by session.
impl Store {
    /// Up to `limit` sessions of which an update waits for a turn, by the oldest one of each.
    pub async fn sessions(&self, channel: &str, limit: u32) -> Result<Vec<SessionId>, StoreError> {
        let channel = channel.to_owned();
        self.write(move |tx| {
            let sessions = tx.query_rows(
                "SELECT coalesce(session, '') FROM inbox
                 WHERE channel = ?1 AND done_at IS NULL AND turn IS NULL
                 GROUP BY session ORDER BY min(seq) LIMIT ?2",
                params![channel, limit],
                |row| row.get::<String>(0),
            )?;
            Ok(sessions.into_iter().map(SessionId::new).collect())
        })
        .await
    }

    /// Up to `limit` updates of a session that wait for a turn, in order.
    pub async fn load_waiting(
        &self,
        channel: &str,
        session: &SessionId,
        limit: u32,
    ) -> Result<Vec<QueuedUpdate>, StoreError> {
        let (channel, session) = (channel.to_owned(), session.clone());
        self.write(move |tx| {
            tx.query_rows(
                "SELECT update_id, album FROM inbox
                 WHERE session IS NOT DISTINCT FROM ?2 AND channel = ?1 AND done_at IS NULL AND turn IS NULL
                 ORDER BY seq LIMIT ?3",
                params![channel, session_key(&session), limit],
                |row| Ok(QueuedUpdate { update_id: row.get(0)?, album: row.get(1)? }),
            )
        })
        .await
    }

    /// How many messages of a session wait for a turn, an album being one; `besides` is not
    /// counted.
    pub async fn count_waiting(
        &self,
        channel: &str,
        session: &SessionId,
        besides: Option<i64>,
    ) -> Result<usize, StoreError> {
        let (channel, session) = (channel.to_owned(), session.clone());
        self.write(move |tx| {
            let statement =
                "SELECT count(DISTINCT coalesce('a' || album, CAST(update_id AS text))) FROM inbox
                 WHERE session IS NOT DISTINCT FROM ?2 AND channel = ?1 AND done_at IS NULL AND turn IS NULL
                 AND update_id IS DISTINCT FROM ?3";
            let count: u32 =
                tx.query_row(statement, params![channel, session_key(&session), besides], |row| row.get(0))?;
            Ok(usize::try_from(count).unwrap_or(usize::MAX))
        })
        .await
    }
}

/// The session as the table has it: updates that an early release kept have none.
fn session_key(session: &SessionId) -> Option<&str> {
    Some(session.as_str()).filter(|name| !name.is_empty())
}
