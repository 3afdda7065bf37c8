//! Updates on their way from a channel to a turn. Nothing is acknowledged before it is here, and
//! nothing here is answered twice.

use super::claims::SessionOwner;
use super::replies::keep_reply;
use super::tx::{Ahead, Row, Tx};
use super::value::{ToValue, params};
use super::{
    AlbumPart, AlbumStanding, BoundTurn, Headers, NewUpdate, PersistResult, QueueMode, Result, Store,
    StoreError, Stranger, Update, UpdateClaim, UpdateFate, approvals, attempts, claims, cluster, now_ms,
    outgoing, placeholder, runs, steering,
};
use cofferdam_core::id::{SessionId, TurnId};
use cofferdam_core::lock::lock;

/// Strangers that a channel tells within an hour; further ones are told when they write again
/// later.
pub const STRANGERS_TOLD_PER_HOUR_MAX: u32 = 20;
/// How often one stranger is told in all, until they have been forgotten
/// ([`DONE_AGE_MAX`](super::DONE_AGE_MAX) after the last time).
pub const STRANGER_TOLD_MAX: u32 = 3;
pub(super) const HOUR_MS: i64 = 60 * MINUTE_MS;
pub(super) const MINUTE_MS: i64 = 60 * 1000;

/// Messages on their way to a turn. They keep their order of arrival; each is known once, by its
/// channel and id.
impl Store {
    /// Keeps a batch, all or nothing. An update that is known already changes nothing. One that
    /// steers is addressed to the first message of its session that is not done, if that is the
    /// same sender's. An edit changes what its message says as long as that waits for a turn, and
    /// one that is deleted meanwhile waits no longer, and one that comes behind its deletion never
    /// does. A stranger is told again only of what is newer than the last telling. What is another
    /// node's to answer wakes the others. Rides.
    pub async fn persist(&self, channel: &str, updates: Vec<NewUpdate>) -> Result<PersistResult> {
        let channel = channel.to_owned();
        let work = move |tx: &Tx<'_>| persist(tx, &channel, &updates, now_ms());
        self.commit_along_reading(work, PersistedBatch::into_result).await
    }

    /// Up to `limit` updates that wait for a turn, in order; `after` is the last one of the page
    /// before.
    pub async fn pending(&self, channel: &str, after: Option<i64>, limit: u32) -> Result<Vec<Update>> {
        let waits = "SELECT update_id, raw FROM inbox WHERE channel = ?1 AND done_at IS NULL AND turn IS NULL
             AND seq > coalesce((SELECT seq FROM inbox WHERE channel = ?1 AND update_id = ?2), 0)
             ORDER BY seq LIMIT ?3";
        self.query_rows(waits, params![channel, after, limit], update).await
    }

    /// Binds updates to a turn of their own, named after the first; `None` when there is nothing
    /// left to answer. After one that is [not known](StoreError::Unknown) the next one takes what
    /// that may have bound for its own: nobody else works on it. Rides.
    pub async fn claim(&self, channel: &str, claim: UpdateClaim) -> Result<Option<BoundTurn>> {
        let (unsure, key) = (&self.database.unsure_claims, (channel.to_owned(), claim.clone()));
        let (channel, is_again) = (channel.to_owned(), lock(unsure).contains(&key));
        let claimed = match claim {
            UpdateClaim::Update(id) => {
                let turn = turn_id(&channel, id);
                let own = turn.clone();
                let bound =
                    self.commit_along_ahead(move |tx| bind_update(tx, (&channel, id), &own, is_again)).await;
                let whole = |(update, standing)| BoundTurn { turn, updates: vec![update], standing };
                bound.map(|bound| bound.map(whole))
            }
            UpdateClaim::Album(album) => {
                self.commit_along(move |tx| claim_album(tx, &channel, &album, is_again)).await
            }
        };
        match &claimed {
            Err(StoreError::Unknown { .. }) if !is_again => lock(unsure).push(key),
            Ok(_) if is_again => lock(unsure).retain(|other| *other != key),
            Ok(_) | Err(_) => {}
        }
        claimed
    }

    /// The parts of an album that are still known, in order.
    pub async fn album(&self, channel: &str, album: &str) -> Result<Vec<AlbumPart>> {
        let parts = "SELECT update_id, raw, turn, received_at FROM inbox WHERE channel = ?1 AND album = ?2
             ORDER BY seq LIMIT 100";
        self.query_rows(parts, [channel, album], |row| {
            Ok(AlbumPart { update: update(row)?, turn: row.get(2)?, received_at: row.get(3)? })
        })
        .await
    }

    /// How often a stranger was told, as far as it is remembered; at most
    /// [`STRANGER_TOLD_MAX`].
    pub async fn count_told(&self, channel: &str, sender: &str) -> Result<u32> {
        let times = "SELECT times FROM stranger WHERE channel = ?1 AND sender = ?2";
        Ok(self.query_optional(times, [channel, sender], |row| row.get(0)).await?.unwrap_or(0))
    }

    /// Ends a turn that nobody waits for: its updates are done and free of it.
    pub async fn dismiss(&self, turn: &TurnId) -> Result<()> {
        let turn = turn.clone();
        self.write(move |tx| {
            mark_done(tx, turn.as_str(), now_ms())?;
            placeholder::forget(tx, turn.as_str())?;
            outgoing::forget(tx, turn.as_str())?;
            tx.run("UPDATE inbox SET turn = NULL WHERE turn = ?1", [turn.as_str()])
        })
        .await
    }
}

/// What was said is forgotten, except the parts of an album: a later reply to one of them means all
/// of them.
const MARK_DONE: &str = "UPDATE inbox SET done_at = ?2, raw = CASE WHEN album IS NULL THEN '' ELSE raw END
     WHERE turn = ?1 AND done_at IS NULL";

/// Marks a turn's updates as done; it asks nothing any more.
pub(super) fn mark_done(tx: &Tx<'_>, turn: &str, now: i64) -> Result<()> {
    tx.run(MARK_DONE, params![turn, now])?;
    approvals::withdraw_asked(tx, turn)?;
    attempts::forget(tx, turn)
}

/// The same; how many were not.
pub(super) fn count_done(tx: &Tx<'_>, turn: &str, now: i64) -> Result<usize> {
    let done = tx.execute(MARK_DONE, params![turn, now])?;
    approvals::withdraw_asked(tx, turn)?;
    attempts::forget(tx, turn)?;
    Ok(done)
}

/// What came of a batch, where that is known before its commit.
#[derive(Default)]
pub(super) struct PersistedBatch {
    result: PersistResult,
    /// There is nothing else in it.
    is_alone: bool,
    /// Whose the session of its only message is comes with the commit.
    asked: Option<AskedOwner>,
}

/// Whose the session of a message is, which comes with the commit.
struct AskedOwner {
    owner: Ahead<(i64, SessionOwner)>,
    update: Update,
    session: SessionId,
}

impl PersistedBatch {
    /// What came of it, once it is kept.
    pub(super) fn into_result(self) -> Result<PersistResult> {
        let Self { mut result, asked, .. } = self;
        let Some(AskedOwner { owner, update, session }) = asked else { return Ok(result) };
        let owner = if owner.has_come() {
            owner.into_first()?.map(|(_, owner)| owner)
        } else {
            // It went with the connection: what waits there is read from the inbox.
            Some(SessionOwner::New)
        };
        // None where the message is known.
        if let Some(owner) = owner {
            note_kept(&mut result, owner, update, &session);
        }
        Ok(result)
    }
}

/// Notes that a message is new, and whose its session is.
fn note_kept(result: &mut PersistResult, owner: SessionOwner, update: Update, session: &SessionId) {
    result.kept += 1;
    match owner {
        SessionOwner::Own => result.pending.push(update),
        SessionOwner::New => result.claimed.push(session.clone()),
        SessionOwner::Others => result.is_for_others = true,
    }
}

pub(super) fn persist(tx: &Tx<'_>, channel: &str, updates: &[NewUpdate], now: i64) -> Result<PersistedBatch> {
    let mut batch = PersistedBatch { is_alone: updates.len() == 1, ..PersistedBatch::default() };
    let none = None::<&str>;
    for new in updates {
        let id = new.update_id;
        match &new.fate {
            UpdateFate::Pending(headers) => persist_message(tx, channel, (new, headers), now, &mut batch)?,
            UpdateFate::Edited => {
                let row = params![channel, id, now, none, "", none, now, none, none, none];
                if insert_update(tx, row)?.is_some() {
                    update_text(tx, channel, new.message.as_deref(), &new.raw)?;
                }
            }
            UpdateFate::Deleted { may_come } => {
                if *may_come {
                    insert_update(tx, params![channel, id, now, none, "", none, now, none, none, none])?;
                }
                withdraw(tx, channel, new.message.as_deref(), now)?;
            }
            UpdateFate::Ignored => {
                insert_update(tx, params![channel, id, now, none, "", none, now, none, none, none])?;
            }
            UpdateFate::Stranger(stranger) => {
                let turn = turn_id(channel, id);
                let row = params![channel, id, now, none, "", turn, now, none, none, none];
                if insert_update(tx, row)?.is_some() && may_tell(tx, channel, stranger, now)? {
                    batch.result.replies.push(keep_reply(tx, channel, &turn, &stranger.reply, now)?);
                }
            }
        }
    }
    if batch.result.is_for_others {
        cluster::wake(tx)?;
    }
    Ok(batch)
}

const INSERT_UPDATE: &str = "INSERT INTO inbox
     (channel, update_id, received_at, album, raw, turn, done_at, message, session, sender)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING RETURNING seq";

/// The `seq` of a new update; none where it is known.
fn insert_update(tx: &Tx<'_>, row: [&dyn ToValue; 10]) -> Result<Option<i64>> {
    tx.query_optional(INSERT_UPDATE, row, |row| row.get::<i64>(0))
}

/// Keeps a message that waits for its turn, or is the reply that a run waits for.
fn persist_message(
    tx: &Tx<'_>,
    channel: &str,
    (new, headers): (&NewUpdate, &Headers),
    now: i64,
    batch: &mut PersistedBatch,
) -> Result<()> {
    let (id, session, sender) = (new.update_id, headers.session.as_str(), headers.sender.as_str());
    let (turn, done) = (None::<&str>, None::<i64>);
    let row = params![channel, id, now, new.album, new.raw, turn, done, new.message, session, sender];
    let update = Update { update_id: id, raw: new.raw.clone() };
    // What may be a run's is nobody's to answer.
    let node = claims::node_with_room(tx, channel, session).filter(|_| headers.answers.is_none());
    let kept = match node {
        Some(node) => {
            let owner = claims::insert_claiming(tx, node, (INSERT_UPDATE, row))?;
            if batch.is_alone && headers.queue == QueueMode::Turn {
                // Should it be another node's, it takes a place here until the next look.
                node.note(channel, session);
                batch.asked = Some(AskedOwner { owner, update, session: headers.session.clone() });
                return Ok(());
            }
            let kept = tx.await_first(owner)?;
            if kept.is_some_and(|(_, owner)| owner != SessionOwner::Others) {
                node.note(channel, session);
            }
            kept.map(|(seq, owner)| (seq, Some(owner)))
        }
        None => insert_update(tx, row)?.map(|seq| (seq, None)),
    };
    let Some((seq, owner)) = kept else { return Ok(()) };
    if let Some(answers) = &headers.answers
        && runs::resolve(tx, (channel, sender), answers, new.album.as_deref())?
    {
        return tx.run("UPDATE inbox SET done_at = ?2, raw = '' WHERE seq = ?1", params![seq, now]);
    }
    steering::address(tx, seq, headers)?;
    let owner = owner.map_or_else(|| claims::claim_session(tx, channel, (session, sender), seq), Ok)?;
    // What was behind another's may have come first, and wait in no queue.
    if owner == SessionOwner::Own && tx.home().is_some() {
        batch.result.claimed.push(headers.session.clone());
    }
    note_kept(&mut batch.result, owner, update, &headers.session);
    Ok(())
}

/// Has a message that waits for its turn read as it was edited. What a turn has is what that turn
/// was asked.
fn update_text(tx: &Tx<'_>, channel: &str, message: Option<&str>, raw: &str) -> Result<()> {
    tx.run(
        "UPDATE inbox SET raw = ?3 WHERE channel = ?1 AND message = ?2 AND turn IS NULL AND done_at IS NULL",
        params![channel, message, raw],
    )
}

/// Ends a message that waits for its turn. What a turn has is what that turn was asked.
fn withdraw(tx: &Tx<'_>, channel: &str, message: Option<&str>, now: i64) -> Result<()> {
    tx.run(
        "UPDATE inbox SET raw = '', done_at = ?3
         WHERE channel = ?1 AND message = ?2 AND turn IS NULL AND done_at IS NULL",
        params![channel, message, now],
    )
}

/// What was told at a time that is still to come was told by a clock that ran ahead: it stands in
/// nobody's way. By a minute no clock ran ahead: each is set back by as much now and then.
fn may_tell(tx: &Tx<'_>, channel: &str, stranger: &Stranger, now: i64) -> Result<bool> {
    let to_come = now + MINUTE_MS;
    let told: u32 = tx.query_row(
        "SELECT count(*) FROM stranger WHERE channel = ?1 AND told_at > ?2 AND told_at <= ?3",
        params![channel, now - HOUR_MS, to_come],
        |row| row.get(0),
    )?;
    if told >= STRANGERS_TOLD_PER_HOUR_MAX {
        return Ok(false);
    }
    let told = tx.execute(
        "INSERT INTO stranger (channel, sender, told_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (channel, sender) DO UPDATE SET told_at = ?3, times = stranger.times + 1
             WHERE (stranger.told_at < ?4 OR stranger.told_at > ?6) AND stranger.times < ?5",
        params![channel, stranger.sender, now, stranger.since, STRANGER_TOLD_MAX, to_come],
    )?;
    Ok(told == 1)
}

/// Whether an earlier turn has answered a part of the same album.
const IS_LATE: &str = "album IS NOT NULL AND EXISTS (SELECT 1 FROM inbox AS other
     WHERE other.channel = inbox.channel AND other.album = inbox.album
     AND other.turn IS NOT NULL AND other.turn <> inbox.turn AND other.seq < inbox.seq)";

/// Binds one update, if it waits. `is_again`: the same may have been bound already, and nobody was
/// told.
fn bind_update(
    tx: &Tx<'_>,
    (channel, id): (&str, i64),
    turn: &TurnId,
    is_again: bool,
) -> Result<Ahead<(Update, AlbumStanding)>> {
    let bind = format!(
        "UPDATE inbox SET turn = ?3
         WHERE channel = ?1 AND update_id = ?2 AND (turn IS NULL {}) AND done_at IS NULL
         RETURNING update_id, raw, {IS_LATE}",
        if is_again { "OR turn = ?3" } else { "" }
    );
    tx.query_ahead(&bind, params![channel, id, turn], |row| Ok((update(row)?, standing(row)?)))
}

/// The parts of an album that a turn takes: what waits, and what was dismissed. Nothing is left of
/// a part that a run has for its reply, or that its sender took back.
const FREE_PARTS: &str = "channel = ?1 AND album = ?2 AND turn IS NULL AND (done_at IS NULL OR raw <> '')";

/// Takes dismissed parts along: in a group the part that carries the command may come last.
/// `is_again` as above: then the turn that was bound last is meant.
fn claim_album(tx: &Tx<'_>, channel: &str, album: &str, is_again: bool) -> Result<Option<BoundTurn>> {
    let waiting = "SELECT 1 FROM inbox
         WHERE channel = ?1 AND album = ?2 AND turn IS NULL AND done_at IS NULL LIMIT 1";
    if !tx.exists(waiting, params![channel, album])? {
        if !is_again {
            return Ok(None);
        }
        let last = "SELECT turn FROM inbox WHERE channel = ?1 AND album = ?2 AND done_at IS NULL
             ORDER BY seq DESC LIMIT 1";
        let bound = tx.query_optional(last, params![channel, album], |row| row.get::<String>(0))?;
        return bound.map(|turn| bound_turn(tx, channel, turn)).transpose();
    }
    let first = format!("SELECT update_id FROM inbox WHERE {FREE_PARTS} ORDER BY seq LIMIT 1");
    let first: i64 = tx.query_row(&first, params![channel, album], |row| row.get(0))?;
    let turn = turn_id(channel, first);
    let bind = format!("UPDATE inbox SET turn = ?3, done_at = NULL WHERE {FREE_PARTS}");
    tx.run(&bind, params![channel, album, turn])?;
    bound_turn(tx, channel, turn.as_str().to_owned()).map(Some)
}

pub(super) fn bound_turn(tx: &Tx<'_>, channel: &str, turn: String) -> Result<BoundTurn> {
    let bound = format!(
        "SELECT update_id, raw, {IS_LATE} FROM inbox
         WHERE turn = ?1 AND channel = ?2 AND joined IS NULL ORDER BY seq"
    );
    let (mut updates, mut album) = (Vec::new(), AlbumStanding::First);
    tx.query_rows(&bound, params![turn, channel], |row| {
        updates.push(update(row)?);
        if standing(row)? == AlbumStanding::Late {
            album = AlbumStanding::Late;
        }
        Ok(())
    })?;
    Ok(BoundTurn { turn: TurnId::new(turn), updates, standing: album })
}

/// The third column, [`IS_LATE`].
fn standing(row: &Row<'_>) -> Result<AlbumStanding> {
    Ok(if row.get(2)? { AlbumStanding::Late } else { AlbumStanding::First })
}

fn turn_id(channel: &str, update_id: i64) -> TurnId {
    TurnId::new(format!("{channel}-{update_id}"))
}

pub(super) fn update(row: &Row<'_>) -> Result<Update> {
    Ok(Update { update_id: row.get(0)?, raw: row.get(1)? })
}
