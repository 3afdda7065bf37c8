//! Which node works on what, where several share the store: the turns of a session, and the sending
//! of a reply. What no node has goes to the first that wants it; what a node had that is gone is
//! taken over as a whole, with its turns and replies. A process without a node, and every one of
//! SQLite, has everything.

use super::inbox::bound_turn;
use super::replies::reply;
use super::tx::{Ahead, Tx};
use super::value::{ToValue, column_words, params};
use super::{BoundTurn, Result, Store, StoredReply, cluster, homes};
use cofferdam_core::id::{SessionId, TurnId};
use cofferdam_core::lock::lock;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Sessions that a node has at once, beyond which it leaves new ones to others.
pub const SESSIONS_CLAIMED_MAX: u32 = 8;

/// Whether a row is one of the nodes that ?2 names.
const IS_THEIRS: &str = "holder = ANY(string_to_array(?2, ' '))";
/// The same, or nobody's.
const IS_LEFT: &str = "(holder IS NULL OR holder = ANY(string_to_array(?2, ' ')))";

/// Whether of the session of a row of `claim` nothing is open, but for what waits for another
/// [home](homes) than that of the parameter of this number. A reply that is not sent is open: what
/// another node answered next would come before it. What has no session is early releases', and
/// stays where it is.
pub(super) fn is_idle(own: Option<&str>, home: u8) -> String {
    format!(
        "claim.session <> '' AND NOT EXISTS (SELECT 1 FROM inbox
         WHERE inbox.session = claim.session AND inbox.channel = claim.channel AND done_at IS NULL
         AND (turn IS NOT NULL OR {}))
         AND NOT EXISTS (SELECT 1 FROM reply JOIN inbox AS answered ON answered.turn = reply.turn
         WHERE reply.channel = claim.channel AND reply.finished_at IS NULL
         AND answered.session = claim.session)",
        homes::may_begin(own, home)
    )
}

/// Whether the session of a row of this table is the node's that the parameter of this number
/// names; without nodes, every one is.
pub(super) fn is_own(row: &str, holder: Option<&str>, number: u8) -> String {
    match holder {
        None => format!("CAST(?{number} AS text) IS NULL"),
        Some(_) => format!(
            "EXISTS (SELECT 1 FROM claim WHERE claim.channel = {row}.channel
             AND claim.session = coalesce({row}.session, '') AND claim.holder = ?{number})"
        ),
    }
}

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
    pub async fn gone_nodes(&self, channel: &str) -> Result<Vec<String>> {
        let channel = channel.to_owned();
        self.read(move |tx| {
            let Some(holder) = tx.holder() else { return Ok(Vec::new()) };
            let gone = format!(
                "SELECT holder FROM claim
                 WHERE channel = ?1 AND NOT EXISTS (SELECT 1 FROM node WHERE node.holder = claim.holder)
                 AND {} UNION SELECT holder FROM reply WHERE channel = ?1 AND finished_at IS NULL
                 AND holder IS NOT NULL AND NOT EXISTS (SELECT 1 FROM node WHERE node.holder = reply.holder)",
                homes::may_go_on("claim", tx.home(), (2, 3))
            );
            names(tx, &gone, params![channel, tx.home(), holder])
        })
        .await
    }

    /// Takes over what was begun on a channel by these nodes, which are `gone`, and what nobody
    /// has; in SQLite what the last process had begun. From here on it is this one's. A node that
    /// goes later is left out: its audit may not be settled.
    pub async fn take_over(&self, channel: &str, gone: &[String]) -> Result<LeftWork> {
        let (channel, gone) = (channel.to_owned(), gone.join(" "));
        self.write(move |tx| {
            let unsent = "SELECT turn FROM reply WHERE channel = ?1 AND finished_at IS NULL ORDER BY seq";
            let (replies, turns) = match tx.holder() {
                None => (names(tx, unsent, [&channel])?, names(tx, &bound("", ""), [&channel])?),
                Some(holder) => take_over(tx, (&channel, &gone), holder)?,
            };
            let replies = replies.into_iter().map(|turn| reply(tx, &TurnId::new(turn)));
            let turns = turns.into_iter().map(|turn| bound_turn(tx, &channel, turn));
            Ok(LeftWork {
                replies: replies.collect::<Result<_, _>>()?,
                turns: turns.collect::<Result<_, _>>()?,
            })
        })
        .await
    }

    /// Leaves sessions to any node, those of which nothing is open and that are not among
    /// the `held`.
    pub async fn release(&self, channel: &str, held: BTreeSet<SessionId>) -> Result<()> {
        let of = channel.to_owned();
        let look = move |tx: &Tx<'_>| {
            let Some(node) = tx.node() else { return Ok(Vec::new()) };
            let is_idle = is_idle(tx.home(), 3);
            let own = format!("SELECT session, {is_idle} FROM claim WHERE channel = ?1 AND holder = ?2");
            let own = tx.query_rows(&own, params![of, node.holder, tx.home()], |row| {
                Ok((row.get::<String>(0)?, row.get::<bool>(1)?))
            })?;
            node.note_all(&of, own.iter().map(|(session, _)| session.as_str()));
            let is_idle = |(session, is_idle): (String, bool)| {
                (is_idle && !held.contains(&SessionId::new(session.as_str()))).then_some(session)
            };
            Ok(own.into_iter().filter_map(is_idle).collect())
        };
        let idle: Vec<String> = self.read(look).await?;
        if idle.is_empty() {
            return Ok(());
        }
        let channel = channel.to_owned();
        self.write(move |tx| {
            let Some(node) = tx.node() else { return Ok(()) };
            let leave = format!(
                "DELETE FROM claim WHERE channel = ?1 AND session = ?2 AND holder = ?3 AND {}",
                is_idle(tx.home(), 4)
            );
            let waits = "SELECT 1 FROM inbox WHERE channel = ?1 AND session = ?2 AND done_at IS NULL";
            let mut is_for_others = false;
            for session in &idle {
                // Something may have come since.
                if tx.execute(&leave, params![channel, session, node.holder, tx.home()])? == 0 {
                    node.note(&channel, session);
                    continue;
                }
                node.forget(&channel, session);
                is_for_others |= tx.home().is_some() && tx.exists(waits, [&channel, session])?;
            }
            if is_for_others { cluster::wake(tx) } else { Ok(()) }
        })
        .await
    }
}

/// This process among the nodes.
pub(super) struct OwnNode {
    /// Names it among all that ever used the store.
    pub(super) holder: String,
    /// The channels and sessions that it has, as far as it remembers. How many they are is asked
    /// with every message that comes, and to count rows would be in the way of all who change one.
    sessions: Mutex<BTreeSet<(String, String)>>,
}

impl OwnNode {
    /// One that has nothing yet.
    pub(super) fn new(holder: String) -> Self {
        Self { holder, sessions: Mutex::default() }
    }

    /// Whether a further session may be this node's, or this one is.
    fn has_room(&self, channel: &str, session: &str) -> bool {
        let own = lock(&self.sessions);
        own.len() < SESSIONS_CLAIMED_MAX as usize || own.contains(&(channel.to_owned(), session.to_owned()))
    }

    pub(super) fn note(&self, channel: &str, session: &str) {
        lock(&self.sessions).insert((channel.to_owned(), session.to_owned()));
    }

    /// Notes those that it has of a channel, and no others: a claim is noted before it is
    /// committed, and one that was undone would take a place for ever. One that is under way counts
    /// from the next look on.
    fn note_all<'s>(&self, channel: &str, sessions: impl Iterator<Item = &'s str>) {
        let mut own = lock(&self.sessions);
        own.retain(|(of, _)| of != channel);
        own.extend(sessions.map(|session| (channel.to_owned(), session.to_owned())));
    }

    fn forget(&self, channel: &str, session: &str) {
        lock(&self.sessions).remove(&(channel.to_owned(), session.to_owned()));
    }
}

/// The turns that are bound and not ended; `join` and `only` narrow them.
fn bound(join: &str, only: &str) -> String {
    format!(
        "SELECT turn FROM inbox {join} WHERE inbox.channel = ?1 AND done_at IS NULL AND turn IS NOT NULL {only}
         GROUP BY turn ORDER BY min(seq)"
    )
}

fn names<P: ToValue>(tx: &Tx<'_>, query: &str, params: impl AsRef<[P]>) -> Result<Vec<String>> {
    tx.query_rows(query, params, |row| row.get(0))
}

/// The turns of replies and the turns that nobody works on any more, now this node's.
fn take_over(tx: &Tx<'_>, (channel, gone): (&str, &str), holder: &str) -> Result<(Vec<String>, Vec<String>)> {
    let replies = format!(
        "SELECT turn FROM reply WHERE channel = ?1 AND finished_at IS NULL AND {IS_LEFT} ORDER BY seq"
    );
    let replies = names(tx, &replies, [channel, gone])?;
    let is_left = format!("AND {IS_LEFT} AND {}", homes::may_go_on("inbox", tx.home(), (3, 4)));
    let left = params![channel, gone, tx.home(), holder];
    let turns = names(tx, &bound(OF_SESSION, &is_left), left)?;
    let sessions = format!(
        "SELECT DISTINCT coalesce(inbox.session, '') FROM inbox {OF_SESSION}
         WHERE inbox.channel = ?1 AND done_at IS NULL AND turn IS NOT NULL {is_left}"
    );
    let take = "INSERT INTO claim (channel, session, holder) VALUES (?1, ?2, ?3)
         ON CONFLICT (channel, session) DO UPDATE SET holder = ?3";
    for session in names(tx, &sessions, left)? {
        tx.run(take, [channel, &session, holder])?;
    }
    // Besides, those of which something waits.
    let idle = format!("DELETE FROM claim WHERE channel = ?1 AND {IS_THEIRS} AND {}", is_idle(tx.home(), 3));
    tx.run(&idle, params![channel, gone, tx.home()])?;
    let claims = format!(
        "UPDATE claim SET holder = ?4 WHERE channel = ?1 AND {IS_THEIRS} AND {}",
        homes::may_go_on("claim", tx.home(), (3, 4))
    );
    tx.run(&claims, left)?;
    let replies_of_theirs =
        format!("UPDATE reply SET holder = ?3 WHERE channel = ?1 AND finished_at IS NULL AND {IS_LEFT}");
    tx.run(&replies_of_theirs, [channel, gone, holder])?;
    Ok((replies, turns))
}

/// Whose a session is in which something has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionOwner {
    /// This node's: all that came before has gone through its queue, but for what was behind a
    /// message whose [home](homes) is elsewhere.
    Own,
    /// This node's since now. Something that came before may wait still, which nobody had time for.
    New,
    /// Another node's, or that of whichever has time.
    Others,
}

/// Has this node work on a session, unless another one does. No two are in each other's way who
/// claim different sessions.
fn claim(tx: &Tx<'_>, node: &OwnNode, channel: &str, session: &str) -> Result<SessionOwner> {
    let row = [channel, session, &node.holder];
    let owner: SessionOwner = tx.query_row(&claim_query("VALUES (?1, ?2, ?3)", 3), row, |row| row.get(0))?;
    if owner != SessionOwner::Others {
        node.note(channel, session);
    }
    Ok(owner)
}

/// Claims a session, whose channel, name and holder these values are, unless somebody has it; whose
/// it is then, as `owner`. The parameter of this number is the holder.
fn claim_query(values: &str, holder: u8) -> String {
    format!(
        "INSERT INTO claim (channel, session, holder) {values}
         ON CONFLICT (channel, session) DO UPDATE SET messages = claim.messages + 1
         RETURNING CASE WHEN holder <> ?{holder} THEN 'others' WHEN messages = 0 THEN 'new' ELSE 'own' END AS owner"
    )
}

/// The node that works here, where a claim alone says whether it works on a session.
pub(super) fn node_with_room<'t>(tx: &'t Tx<'_>, channel: &str, session: &str) -> Option<&'t OwnNode> {
    tx.node().filter(|node| tx.home().is_none() && node.has_room(channel, session))
}

/// Inserts an update by a query that returns its `seq`, has the node claim its session, and wakes
/// the others where one of them has it, all in one statement, whose answer comes with what follows;
/// none, and no claim, where the update is known. The row has the channel as its first value and
/// the session as its ninth.
pub(super) fn insert_claiming(
    tx: &Tx<'_>,
    node: &OwnNode,
    (insert, row): (&str, [&dyn ToValue; 10]),
) -> Result<Ahead<(i64, SessionOwner)>> {
    let both = format!(
        "WITH kept AS ({insert}), claimed AS ({})
         SELECT seq, owner, CASE owner WHEN 'others' THEN ({}) END FROM kept CROSS JOIN claimed",
        claim_query("SELECT ?1, ?9, ?11 FROM kept", 11),
        if tx.can_notify() { cluster::NOTIFY } else { "NULL" }
    );
    let mut values = row.to_vec();
    values.push(&node.holder);
    tx.query_ahead(&both, values, |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Has this node work on a session in which a message of somebody has come, where it does already,
/// or nobody does and it has not much else.
pub(super) fn claim_session(
    tx: &Tx<'_>,
    channel: &str,
    (session, sender): (&str, &str),
    seq: i64,
) -> Result<SessionOwner> {
    let Some(node) = tx.node() else { return Ok(SessionOwner::Own) };
    if !homes::may_begin_here(tx, (channel, sender), seq)? {
        return Ok(SessionOwner::Others);
    }
    if node.has_room(channel, session) {
        return claim(tx, node, channel, session);
    }
    let is_own = "SELECT 1 FROM claim WHERE channel = ?1 AND session = ?2 AND holder = ?3";
    let is_own = tx.exists(is_own, [channel, session, &node.holder])?;
    Ok(if is_own { SessionOwner::Own } else { SessionOwner::Others })
}

/// Those of the sessions that nobody works on; now this node's.
pub(super) fn claim_free(tx: &Tx<'_>, channel: &str, free: &[SessionId]) -> Result<Vec<SessionId>> {
    let mut own = Vec::new();
    for session in free {
        let Some(node) = tx.node() else { break };
        if claim(tx, node, channel, session.as_str())? != SessionOwner::Others {
            own.push(session.clone());
        }
    }
    Ok(own)
}

/// A reply that was stored here is this node's to send.
pub(super) fn claim_reply(tx: &Tx<'_>, turn: &str) -> Result<()> {
    let claim = "UPDATE reply SET holder = ?2 WHERE turn = ?1";
    tx.holder().map_or(Ok(()), |holder| tx.run(claim, [turn, holder]))
}

column_words! { SessionOwner, "a session that is {:?}": Own = "own" New = "new" Others = "others" }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_has_is_what_its_rows_say() {
        let node = OwnNode::new("a/1".to_owned());
        for n in 0..SESSIONS_CLAIMED_MAX - 1 {
            node.note("c", &n.to_string());
        }
        node.note("other", "0");
        assert!(!node.has_room("c", "new") && node.has_room("c", "0"));
        node.note_all("c", ["1", "2"].into_iter());
        assert!(node.has_room("c", "new"));
        let all = ["c 1", "c 2", "other 0"];
        assert_eq!(lock(&node.sessions).iter().map(|(c, s)| format!("{c} {s}")).collect::<Vec<_>>(), all);
    }
}
