//! How far a channel has read a stream of events that goes on after a break, and where people were
//! answered: what was said there while nobody listened is asked for again.

use super::inbox::{PersistedBatch, persist};
use super::tx::Tx;
use super::value::params;
use super::{DONE_ROWS_MAX, NewUpdate, PersistResult, Result, Store, now_ms};

/// Places of a channel that are remembered, the latest.
pub const PLACES_MAX: u32 = 1000;

/// Where a stream goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPosition {
    /// The platform's name of the stream.
    pub session: String,
    /// Where it goes on.
    pub address: String,
    /// The last event that was taken.
    pub number: i64,
}

/// A stream that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Where it goes on.
    pub position: StreamPosition,
    /// Whether what was said before it began may still have to be asked for.
    pub behind: bool,
}

/// Where somebody was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyPlace {
    /// In the channel's own words.
    pub place: String,
    /// The update before which nothing has to be asked for.
    pub last: i64,
    /// Whether that stays though the place is heard, since it
    /// [could not be asked](Store::note_unasked): what came after it may have been answered, and
    /// forgotten since.
    pub unasked: bool,
}

/// Streams of events that go on after a break.
impl Store {
    /// [`Store::persist`], and with it how far the stream is read, and places where somebody
    /// was answered. A position of another stream than the one that was begun last, or before one
    /// that is known, changes nothing. Rides.
    pub async fn persist_at(
        &self,
        channel: &str,
        updates: Vec<NewUpdate>,
        position: StreamPosition,
        places: Vec<ReplyPlace>,
    ) -> Result<PersistResult> {
        let channel = channel.to_owned();
        let work = move |tx: &Tx<'_>| {
            let now = now_ms();
            let persisted = persist(tx, &channel, &updates, now)?;
            set_position(tx, &channel, &position)?;
            for place in &places {
                note_place(tx, &channel, place, now)?;
            }
            Ok(persisted)
        };
        self.commit_along_reading(work, PersistedBatch::into_result).await
    }

    /// The stream that was begun last.
    pub async fn stream(&self, channel: &str) -> Result<Option<Stream>> {
        let found = "SELECT session, address, number, behind FROM stream WHERE channel = ?1";
        self.query_optional(found, [channel], |row| {
            let position = StreamPosition { session: row.get(0)?, address: row.get(1)?, number: row.get(2)? };
            Ok(Stream { position, behind: row.get(3)? })
        })
        .await
    }

    /// Notes that another stream begins: what was said before it may have to be asked for.
    pub async fn begin_stream(&self, channel: &str, position: StreamPosition) -> Result<()> {
        let begin =
            "INSERT INTO stream (channel, session, address, number, behind) VALUES (?1, ?2, ?3, ?4, 1)
             ON CONFLICT (channel) DO UPDATE SET session = ?2, address = ?3, number = ?4, behind = 1";
        self.run(begin, params![channel, position.session, position.address, position.number]).await
    }

    /// Notes how far the stream is read, as [`Store::persist_at`] does.
    pub async fn advance_stream(&self, channel: &str, position: StreamPosition) -> Result<()> {
        let channel = channel.to_owned();
        self.write(move |tx| set_position(tx, &channel, &position)).await
    }

    /// Where people were answered, the latest first. What is known of a place stays while something
    /// that was said before the stream began may have to be asked for.
    pub async fn places(&self, channel: &str) -> Result<Vec<ReplyPlace>> {
        let found = "SELECT place, abs(last), last < 0 FROM place WHERE channel = ?1
             ORDER BY noted_at DESC, rowid DESC";
        self.query_rows(found, [channel], |row| {
            Ok(ReplyPlace { place: row.get(0)?, last: row.get(1)?, unasked: row.get(2)? })
        })
        .await
    }

    /// Since when each update that has come is still known, of all channels; none where none was
    /// forgotten by number. What came before may have been answered all the same.
    pub async fn known_since(&self) -> Result<Option<i64>> {
        let first =
            "SELECT received_at FROM inbox WHERE done_at IS NOT NULL ORDER BY seq DESC LIMIT 1 OFFSET ?1";
        self.query_optional(first, [DONE_ROWS_MAX - 1], |row| row.get(0)).await
    }

    /// Notes that a place cannot be asked now: what is known of it stays until it was. Whether that
    /// is new.
    pub async fn note_unasked(&self, channel: &str, place: &str) -> Result<bool> {
        let (channel, place) = (channel.to_owned(), place.to_owned());
        self.write(move |tx| {
            let unasked = "UPDATE place SET last = -last WHERE channel = ?1 AND place = ?2 AND last > 0";
            Ok(tx.execute(unasked, [&channel, &place])? == 1)
        })
        .await
    }

    /// Notes that all was asked for that was said before this stream began, up to these; but where
    /// that [could not be](Self::note_unasked).
    pub async fn mark_caught_up(&self, channel: &str, session: &str, places: Vec<ReplyPlace>) -> Result<()> {
        let (channel, session) = (channel.to_owned(), session.to_owned());
        self.write(move |tx| {
            let this = tx.execute(
                "UPDATE stream SET behind = 0 WHERE channel = ?1 AND session = ?2",
                params![channel, session],
            )?;
            // Another stream has begun meanwhile: it asks for all of it again.
            if this == 1 {
                for place in &places {
                    let asked = "UPDATE place SET last = abs(last) WHERE channel = ?1 AND place = ?2";
                    tx.run(asked, [&channel, &place.place])?;
                    note_place(tx, &channel, place, now_ms())?;
                }
            }
            Ok(())
        })
        .await
    }
}

fn set_position(tx: &Tx<'_>, channel: &str, position: &StreamPosition) -> Result<()> {
    tx.run(
        "UPDATE stream SET address = ?3, number = ?4 WHERE channel = ?1 AND session = ?2 AND number <= ?4",
        params![channel, position.session, position.address, position.number],
    )
}

/// Notes a place. While something before may have to be asked for, or cannot be, what is known of
/// it stays. No other one was noted later, also by a clock that was set back since.
pub(crate) fn note_place(tx: &Tx<'_>, channel: &str, place: &ReplyPlace, now: i64) -> Result<()> {
    tx.run(
        "INSERT INTO place (channel, place, last, noted_at) VALUES (?1, ?2, ?3, (SELECT max(noted) FROM (
             SELECT CAST(?4 AS bigint) AS noted UNION ALL SELECT noted_at FROM place WHERE channel = ?1) AS one))
         ON CONFLICT (channel, place) DO UPDATE SET noted_at = excluded.noted_at, last = CASE
             WHEN place.last >= ?3 OR place.last < 0
             OR EXISTS (SELECT 1 FROM stream WHERE channel = ?1 AND behind = 1)
             THEN place.last ELSE ?3 END",
        params![channel, place.place, place.last, now],
    )?;
    tx.run(
        "DELETE FROM place WHERE channel = ?1 AND rowid IN
         (SELECT rowid FROM place WHERE channel = ?1 ORDER BY noted_at DESC, rowid DESC LIMIT 9223372036854775807 OFFSET ?2)",
        params![channel, PLACES_MAX],
    )
}
