//! Conversations that go on elsewhere, such as a group that became a supergroup: where each was,
//! and where it is.

use super::retention::keep_latest;
use super::value::params;
use super::{Result, Store, now_ms};

/// Moves that are remembered, the latest.
pub const MOVES_MAX: u32 = 10_000;

/// Conversations that go on elsewhere.
impl Store {
    /// Remembers that what was in `place` goes on elsewhere, both in the channel's own words. No
    /// other move was noted later, also by a clock that was set back since.
    pub async fn note_move(&self, channel: &str, place: String, goes_on: String) -> Result<()> {
        let channel = channel.to_owned();
        self.write(move |tx| {
            tx.run(
                "INSERT INTO moved (channel, place, goes_on, noted_at) VALUES (?1, ?2, ?3, (
                     SELECT max(noted) FROM (SELECT CAST(?4 AS bigint) AS noted
                     UNION ALL SELECT noted_at + 1 FROM moved) AS one))
                 ON CONFLICT (channel, place) DO UPDATE SET goes_on = ?3, noted_at = excluded.noted_at",
                params![channel, place, goes_on, now_ms()],
            )?;
            keep_latest(tx, "moved", "noted_at", MOVES_MAX)
        })
        .await
    }

    /// Changes with each move that is noted: how many are remembered, and when the last one was
    /// noted.
    pub async fn moves_mark(&self, channel: &str) -> Result<(i64, i64)> {
        let channel = channel.to_owned();
        self.read(move |tx| {
            let mark = "SELECT count(*), coalesce(max(noted_at), 0) FROM moved WHERE channel = ?1";
            tx.query_row(mark, [&channel], |row| Ok((row.get(0)?, row.get(1)?)))
        })
        .await
    }

    /// Where conversations were, and where they are, in the order of noting.
    pub async fn load_moves(&self, channel: &str) -> Result<Vec<(String, String)>> {
        let found = "SELECT place, goes_on FROM moved WHERE channel = ?1 ORDER BY noted_at, rowid";
        self.query_rows(found, [channel], |row| Ok((row.get(0)?, row.get(1)?))).await
    }
}
