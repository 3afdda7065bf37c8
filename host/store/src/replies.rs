//! Replies between the end of a turn and the platform's acknowledgement of their last part.

use super::tx::Tx;
use super::value::params;
use super::{
    NewPart, NewRecent, NewReply, NewTelling, PartsInstead, ReplyPart, Result, Store, StoreError,
    StoredReply, claims, inbox, now_ms, outgoing, placeholder, recent, runs,
};
use crate::streams::note_place;
use cofferdam_core::id::TurnId;

/// Replies between the end of a turn and the platform's acknowledgement of their last part.
impl Store {
    /// [`Store::end_noting`] without files.
    pub async fn end(&self, channel: &str, turn: &TurnId, reply: NewReply) -> Result<StoredReply> {
        self.end_noting(channel, turn, reply, None).await
    }

    /// [`Store::tell_noting`] without files, where no place is noted.
    pub async fn tell(&self, channel: &str, turn: &TurnId, reply: NewReply) -> Result<Option<StoredReply>> {
        let telling = NewTelling { turn: turn.clone(), reply, files: Vec::new(), place: None };
        self.tell_noting(channel, telling).await
    }

    /// Ends a turn: its updates are done, its reply is kept, and the files of its message are noted
    /// as the sender's most recent ones. Ending it again changes nothing and returns what is left
    /// of the first reply. Rides.
    pub async fn end_noting(
        &self,
        channel: &str,
        turn: &TurnId,
        reply: NewReply,
        files: Option<NewRecent>,
    ) -> Result<StoredReply> {
        let (channel, turn) = (channel.to_owned(), turn.clone());
        self.commit_along(move |tx| {
            let now = now_ms();
            match &files {
                None => inbox::mark_done(tx, turn.as_str(), now)?,
                Some(files) => {
                    if inbox::count_done(tx, turn.as_str(), now)? > 0 {
                        recent::note_first(tx, (&channel, turn.as_str()), files, now)?;
                    }
                }
            }
            placeholder::forget(tx, turn.as_str())?;
            keep_reply(tx, &channel, &turn, &reply, now)
        })
        .await
    }

    /// Stores something that answers no message, once for each turn that it names; `None` when it
    /// was stored before. Its files are held with it, and its place is noted.
    pub async fn tell_noting(&self, channel: &str, telling: NewTelling) -> Result<Option<StoredReply>> {
        let channel = channel.to_owned();
        self.write(move |tx| {
            let known = "SELECT 1 FROM reply WHERE turn = ?1";
            if tx.exists(known, [&telling.turn])? {
                return Ok(None);
            }
            keep_telling(tx, &channel, &telling).map(Some)
        })
        .await
    }

    /// What is left to be sent of what was stored under this turn; `None` where nothing was, or the
    /// rest of it is still to be.
    pub async fn load_unsent(&self, turn: &TurnId) -> Result<Option<StoredReply>> {
        let turn = turn.clone();
        // Asked of the server that takes changes: another one may be behind.
        self.write(move |tx| {
            let known = "SELECT 1 FROM reply WHERE turn = ?1";
            if !tx.exists(known, [&turn])? || runs::is_rest_due(tx, turn.as_str())? {
                return Ok(None);
            }
            reply(tx, &turn).map(Some)
        })
        .await
    }

    /// Marks a part as sent, with the platform's id of the message; what it said is forgotten.
    /// Rides.
    pub async fn mark_part_sent(&self, turn: &TurnId, n: u32, message: &str) -> Result<()> {
        let (turn, message) = (turn.as_str().to_owned(), message.to_owned());
        self.commit_along(move |tx| settle(tx, &turn, n, ("sent", &message))).await
    }

    /// Marks a part as failed for good, with what is said instead; what is left of the reply, in
    /// the order of sending. One that was marked so already, by what is
    /// [not known](StoreError::Unknown), gets nothing more.
    pub async fn mark_part_failed(
        &self,
        turn: &TurnId,
        n: u32,
        reason: &str,
        instead: PartsInstead,
    ) -> Result<Vec<ReplyPart>> {
        let (turn, reason) = (turn.clone(), reason.to_owned());
        self.write(move |tx| {
            let is_marked = tx.exists(
                "SELECT 1 FROM part WHERE turn = ?1 AND n = ?2 AND state = 'failed'",
                params![turn, n],
            )?;
            if !is_marked {
                insert_instead(tx, turn.as_str(), n, &instead)?;
                settle(tx, turn.as_str(), n, ("failed", &reason))?;
            }
            Ok(reply(tx, &turn)?.parts)
        })
        .await
    }
}

/// Adds to a reply what is said in place of a part. What comes right behind that takes the number
/// of the part that was there, and those move on: none of them was tried before this one ended.
fn insert_instead(tx: &Tx<'_>, turn: &str, n: u32, instead: &PartsInstead) -> Result<()> {
    if let Some(next) = &instead.next {
        // By way of numbers below 0: no two parts have the same one meanwhile.
        tx.run("UPDATE part SET n = -(n + 1) WHERE turn = ?1 AND n > ?2", params![turn, n])?;
        tx.run("UPDATE part SET n = -n WHERE turn = ?1 AND n < 0", [turn])?;
        insert_parts(tx, turn, &[numbered(n + 1, next)])?;
    }
    let last: u32 = tx.query_row("SELECT max(n) FROM part WHERE turn = ?1", [turn], |row| row.get(0))?;
    let added: Vec<_> = (last + 1..).zip(&instead.last).map(|(n, part)| numbered(n, part)).collect();
    insert_parts(tx, turn, &added)?;
    runs::note_replacements(tx, turn, n, instead)
}

/// Ends a part, and the reply with its last part.
fn settle(tx: &Tx<'_>, turn: &str, n: u32, (state, outcome): (&str, &str)) -> Result<()> {
    // What was said is forgotten: nobody sends it again, and it may be what a file holds.
    tx.run(
        "UPDATE part SET state = ?3, outcome = ?4, body = '' WHERE turn = ?1 AND n = ?2",
        params![turn, n, state, outcome],
    )?;
    tx.run(
        "UPDATE reply SET finished_at = ?2 WHERE turn = ?1 AND finished_at IS NULL
             AND NOT EXISTS (SELECT 1 FROM part WHERE part.turn = ?1 AND part.state = 'pending')",
        params![turn, now_ms()],
    )?;
    tx.run(
        "DELETE FROM outgoing WHERE turn = ?1
             AND EXISTS (SELECT 1 FROM reply WHERE reply.turn = ?1 AND finished_at IS NOT NULL)",
        [turn],
    )
}

/// Adds parts to a reply, to be sent.
pub(super) fn insert_parts(tx: &Tx<'_>, turn: &str, parts: &[ReplyPart]) -> Result<()> {
    let insert = "INSERT INTO part (turn, n, kind, body, state) VALUES (?1, ?2, ?3, ?4, 'pending')";
    for part in parts {
        tx.run(insert, params![turn, part.n, part.kind, part.body])?;
    }
    Ok(())
}

/// Stores a reply, unless the turn has one; what is left of the one that it has.
pub(super) fn keep_reply(
    tx: &Tx<'_>,
    channel: &str,
    turn: &TurnId,
    reply: &NewReply,
    now: i64,
) -> Result<StoredReply> {
    // Without parts there is nothing to wait for.
    let finished = reply.parts.is_empty().then_some(now);
    let is_new = tx.insert_if_new(
        "INSERT INTO reply (turn, channel, target, created_at, finished_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![turn, channel, reply.target, now, finished],
    )?;
    if !is_new {
        return self::reply(tx, turn);
    }
    match finished {
        Some(_) => outgoing::forget(tx, turn.as_str())?,
        None => claims::claim_reply(tx, turn.as_str())?,
    }
    let parts: Vec<_> = (0..).zip(&reply.parts).map(|(n, part)| numbered(n, part)).collect();
    insert_parts(tx, turn.as_str(), &parts)?;
    Ok(StoredReply { turn: turn.clone(), target: reply.target.clone(), parts, last_sent: None })
}

/// Stores something that answers no message, with its files and its place.
pub(super) fn keep_telling(
    tx: &Tx<'_>,
    channel: &str,
    NewTelling { turn, reply, files, place }: &NewTelling,
) -> Result<StoredReply> {
    let now = now_ms();
    if let Some(place) = place {
        note_place(tx, channel, place, now)?;
    }
    outgoing::hold(tx, turn.as_str(), files)?;
    keep_reply(tx, channel, turn, reply, now)
}

/// A part at its place.
pub(super) fn numbered(n: u32, NewPart { kind, body }: &NewPart) -> ReplyPart {
    ReplyPart { n, kind: *kind, body: body.clone() }
}

/// A stored reply and what is left of it.
pub(super) fn reply(tx: &Tx<'_>, turn: &TurnId) -> Result<StoredReply> {
    let found =
        "SELECT target, n, kind, body, state, outcome FROM reply LEFT JOIN part ON part.turn = reply.turn
         WHERE reply.turn = ?1 ORDER BY n";
    let (mut target, mut parts, mut last_sent) = (None, Vec::new(), None);
    tx.query_rows(found, [turn.as_str()], |row| {
        target = Some(row.get(0)?);
        match row.get::<Option<String>>(4)?.as_deref() {
            Some("pending") => parts.push(ReplyPart { n: row.get(1)?, kind: row.get(2)?, body: row.get(3)? }),
            Some("sent") => last_sent = row.get(5)?,
            _ => {}
        }
        Ok(())
    })?;
    let target = target.ok_or_else(|| StoreError::Corrupt(format!("no reply of turn {turn}")))?;
    Ok(StoredReply { turn: turn.clone(), target, parts, last_sent })
}
