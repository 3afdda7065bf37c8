//! Which node works on what, where several share the store: the turns of a session, and the sending
//! of a reply. What no node has goes to the first that wants it; what a node had that is gone is
//! taken over as a whole, with its turns and replies. A process without a node, and every one of
//! SQLite, has everything.

use super::inbox::bound_turn;
use super::replies::reply;
use super::tx::Tx;
use super::value::{Params, params};
use super::waiting::waiting;
use super::{BoundTurn, Store, StoreError, StoredReply};
use cofferdam_core::id::{SessionId, TurnId};
use std::collections::BTreeSet;

/// Sessions that a node has at once, beyond which it leaves new ones to others.
pub const SESSIONS_CLAIMED_MAX: u32 = 8;

/// Whether a row is one of the nodes that ?2 names.
const IS_THEIRS: &str = "holder = ANY(string_to_array(?2, ' '))";
/// The same, or nobody's.
const IS_LEFT: &str = "(holder IS NULL OR holder = ANY(string_to_array(?2, ' ')))";

/// Whether of the session of a row of `claim` nothing is open. What has no session is early
/// releases', and stays where it is.
pub(super) const IS_IDLE: &str = "claim.session <> '' AND NOT EXISTS (SELECT 1 FROM inbox
     WHERE inbox.session = claim.session AND inbox.channel = claim.channel AND done_at IS NULL)";

/// Joins the row of a message's session to that of the message, if it has one.
pub(super) const OF_SESSION: &str =
    "LEFT JOIN claim ON claim.channel = inbox.channel AND claim.session = coalesce(inbox.session, '')";

/// What was begun and not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftWork {
    /// Replies of which something is still to be sent, oldest first.
    pub replies: Vec<StoredReply>,
    /// Turns that were bound and have not ended, oldest first.
    pub turns: Vec<BoundTurn>,
}

/// Which node works on what.
impl Store {
    /// The nodes that are gone and had something of a channel, by names that nothing else gets: it
    /// is to be taken over. None in SQLite.
    pub async fn gone_nodes(&self, channel: &str) -> Result<Vec<String>, StoreError> {
        let channel = channel.to_owned();
        self.write(move |tx| match tx.holder() {
            None => Ok(Vec::new()),
            Some(_) => {
                let gone = "SELECT holder FROM claim
                     WHERE channel = ?1 AND NOT EXISTS (SELECT 1 FROM node WHERE node.holder = claim.holder)
                     UNION SELECT holder FROM reply WHERE channel = ?1 AND finished_at IS NULL
                     AND holder IS NOT NULL AND NOT EXISTS (SELECT 1 FROM node WHERE node.holder = reply.holder)";
                names(tx, gone, [&channel])
            }
        })
        .await
    }

    /// Takes over what was begun on a channel by these nodes, which are `gone`, and what nobody has;
    /// in SQLite what the last process had begun. From here on it is this one's. A node that goes
    /// later is left out: its audit may not be settled.
    pub async fn take_over(&self, channel: &str, gone: &[String]) -> Result<LeftWork, StoreError> {
        let (channel, gone) = (channel.to_owned(), gone.join(" "));
        self.write(move |tx| {
            let (replies, turns) = match tx.holder() {
                None => (
                    names(
                        tx,
                        "SELECT turn FROM reply WHERE channel = ?1 AND finished_at IS NULL ORDER BY seq",
                        [&channel],
                    )?,
                    names(tx, &bound("", ""), [&channel])?,
                ),
                Some(holder) => take_over(tx, (&channel, &gone), holder)?,
            };
            let replies =
                replies.into_iter().map(|turn| reply(tx, &TurnId::new(turn))).collect::<Result<_, _>>()?;
            let turns =
                turns.into_iter().map(|turn| bound_turn(tx, &channel, turn)).collect::<Result<_, _>>()?;
            Ok(LeftWork { replies, turns })
        })
        .await
    }

    /// Leaves sessions to any node, those of which nothing is open and that are not among
    /// the `held`.
    pub async fn release(&self, channel: &str, held: BTreeSet<SessionId>) -> Result<(), StoreError> {
        let channel = channel.to_owned();
        self.write(move |tx| {
            let Some(holder) = tx.holder() else { return Ok(()) };
            let idle = format!("SELECT session FROM claim WHERE channel = ?1 AND holder = ?2 AND {IS_IDLE}");
            for session in tx.query_rows(&idle, params![channel, holder], |row| row.get::<String>(0))? {
                if !held.contains(&SessionId::new(session.as_str())) {
                    let leave = "DELETE FROM claim WHERE channel = ?1 AND session = ?2";
                    tx.run(leave, params![channel, session])?;
                }
            }
            Ok(())
        })
        .await
    }
}

/// The turns that are bound and not ended; `join` and `only` narrow them.
fn bound(join: &str, only: &str) -> String {
    format!(
        "SELECT turn FROM inbox {join} WHERE inbox.channel = ?1 AND done_at IS NULL AND turn IS NOT NULL {only}
         GROUP BY turn ORDER BY min(seq)"
    )
}

fn names(tx: &Tx<'_>, query: &str, params: impl Params) -> Result<Vec<String>, StoreError> {
    tx.query_rows(query, params, |row| row.get(0))
}

/// The turns of replies and the turns that nobody works on any more, now this node's.
fn take_over(
    tx: &Tx<'_>,
    (channel, gone): (&str, &str),
    holder: &str,
) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let replies = format!(
        "SELECT turn FROM reply WHERE channel = ?1 AND finished_at IS NULL AND {IS_LEFT} ORDER BY seq"
    );
    let replies = names(tx, &replies, [channel, gone])?;
    let turns = names(tx, &bound(OF_SESSION, &format!("AND {IS_LEFT}")), [channel, gone])?;
    let sessions = format!(
        "SELECT DISTINCT coalesce(inbox.session, '') FROM inbox {OF_SESSION}
         WHERE inbox.channel = ?1 AND done_at IS NULL AND turn IS NOT NULL AND {IS_LEFT}"
    );
    for session in names(tx, &sessions, [channel, gone])? {
        take(tx, channel, &session, holder)?;
    }
    // Besides, those of which something waits.
    tx.run(&format!("DELETE FROM claim WHERE channel = ?1 AND {IS_THEIRS} AND {IS_IDLE}"), [channel, gone])?;
    let take_all = |table: &str, only: &str| {
        tx.run(
            &format!("UPDATE {table} SET holder = ?3 WHERE channel = ?1 AND {only}"),
            [channel, gone, holder],
        )
    };
    take_all("claim", IS_THEIRS)?;
    take_all("reply", &format!("finished_at IS NULL AND {IS_LEFT}"))?;
    Ok((replies, turns))
}

fn take(tx: &Tx<'_>, channel: &str, session: &str, holder: &str) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO claim (channel, session, holder) VALUES (?1, ?2, ?3)
         ON CONFLICT (channel, session) DO UPDATE SET holder = ?3",
        [channel, session, holder],
    )
}

/// Whether a session in which something has come is this node's to work on: it was, or nobody had it
/// and this node has not much else.
pub(super) fn claim_session(tx: &Tx<'_>, channel: &str, session: &str) -> Result<bool, StoreError> {
    let Some(holder) = tx.holder() else { return Ok(true) };
    let whose = "SELECT (SELECT holder FROM claim WHERE channel = ?1 AND session = ?2),
         (SELECT count(*) FROM claim WHERE holder = ?3)";
    let (whose, claimed) = tx.query_row(whose, params![channel, session, holder], |row| {
        Ok((row.get::<Option<String>>(0)?, row.get::<u32>(1)?))
    })?;
    if let Some(whose) = whose {
        return Ok(whose == holder);
    }
    if claimed >= SESSIONS_CLAIMED_MAX {
        return Ok(false);
    }
    take(tx, channel, session, holder)?;
    Ok(true)
}

/// Up to `limit` sessions that nobody works on and of which an update waits, by the oldest one of
/// each; now this node's.
pub(super) fn claim_waiting(
    tx: &Tx<'_>,
    channel: &str,
    holder: &str,
    limit: u32,
) -> Result<Vec<SessionId>, StoreError> {
    let is_free = (OF_SESSION, "AND claim.holder IS NULL");
    let free = waiting(tx, params![channel, limit], is_free)?;
    for session in &free {
        take(tx, channel, session.as_str(), holder)?;
    }
    Ok(free)
}

/// A reply that was stored here is this node's to send.
pub(super) fn claim_reply(tx: &Tx<'_>, turn: &str) -> Result<(), StoreError> {
    let claim = "UPDATE reply SET holder = ?2 WHERE turn = ?1";
    tx.holder().map_or(Ok(()), |holder| tx.run(claim, [turn, holder]))
}
