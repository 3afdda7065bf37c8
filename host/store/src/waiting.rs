//! What waits for a turn, session by session: in which order it is to be worked on, and how much
//! there is.

use super::tx::Tx;
use super::value::{ToValue, params};
use super::{QueuedUpdate, Result, Store, Update, claims, homes, inbox};
use cofferdam_core::id::SessionId;

/// What waits for a turn, session by session.
impl Store {
    /// Up to `limit` sessions of which an update waits for a turn, by the oldest one of each. Of
    /// several nodes each has its own, and takes up to `new` of those that nobody has.
    pub async fn sessions(&self, channel: &str, limit: u32, new: u32) -> Result<Vec<SessionId>> {
        let of = channel.to_owned();
        let look = move |tx: &Tx<'_>| {
            let Some(holder) = tx.holder() else {
                return Ok((waiting(tx, params![of, limit], ("", ""))?, Vec::new()));
            };
            let is_here = |home| homes::may_begin_first(tx.home(), home);
            let is_own = format!("AND claim.holder = ?3 AND {}", is_here(4));
            let own = waiting(tx, params![of, limit, holder, tx.home()], (claims::OF_SESSION, &is_own))?;
            let is_free = format!("AND claim.holder IS NULL AND {}", is_here(3));
            let free = waiting(tx, params![of, new, tx.home()], (claims::OF_SESSION, &is_free))?;
            Ok((own, free))
        };
        let (mut sessions, free) = self.read(look).await?;
        if !free.is_empty() {
            let channel = channel.to_owned();
            sessions.extend(self.write(move |tx| claims::claim_free(tx, &channel, &free)).await?);
        }
        Ok(sessions)
    }

    /// Up to `limit` updates of a session that wait for a turn here, in order. Of several nodes
    /// only the one that has the session has any: another one may be sending a reply there.
    pub async fn load_waiting(
        &self,
        channel: &str,
        session: &SessionId,
        limit: u32,
    ) -> Result<Vec<QueuedUpdate>> {
        let (channel, session) = (channel.to_owned(), session.clone());
        self.read(move |tx| {
            let waits = format!(
                "SELECT update_id, album FROM inbox
                 WHERE session IS NOT DISTINCT FROM ?2 AND channel = ?1 AND done_at IS NULL AND turn IS NULL
                 AND {} AND {} ORDER BY seq LIMIT ?3",
                homes::may_begin(tx.home(), 4),
                claims::is_own("inbox", tx.holder(), 5)
            );
            let of = params![channel, session_key(&session), limit, tx.home(), tx.holder()];
            tx.query_rows(&waits, of, |row| Ok(QueuedUpdate { update_id: row.get(0)?, album: row.get(1)? }))
        })
        .await
    }

    /// The first of them and the last, each up to `limit`, wherever they have their turns, in order
    /// and as received. What has just come is among the last, however many wait.
    pub async fn load_waiting_updates(
        &self,
        channel: &str,
        session: &SessionId,
        limit: u32,
    ) -> Result<Vec<Update>> {
        let (channel, session) = (channel.to_owned(), session.clone());
        self.read(move |tx| {
            let some = |order: &str| {
                format!(
                    "SELECT seq FROM inbox
                     WHERE session IS NOT DISTINCT FROM ?2 AND channel = ?1 AND done_at IS NULL AND turn IS NULL
                     ORDER BY seq {order} LIMIT ?3"
                )
            };
            let both = format!(
                "SELECT update_id, raw FROM inbox WHERE seq IN (SELECT seq FROM ({}) AS first
                 UNION SELECT seq FROM ({}) AS last) ORDER BY seq",
                some("ASC"),
                some("DESC")
            );
            tx.query_rows(&both, params![channel, session_key(&session), limit], inbox::update)
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
    ) -> Result<usize> {
        let (channel, session) = (channel.to_owned(), session.clone());
        self.read(move |tx| {
            let statement =
                "SELECT count(DISTINCT coalesce('a' || album, CAST(update_id AS text))) FROM inbox
                 WHERE session IS NOT DISTINCT FROM ?2 AND channel = ?1 AND done_at IS NULL AND turn IS NULL
                 AND update_id IS DISTINCT FROM ?3";
            tx.query_row(statement, params![channel, session_key(&session), besides], |row| row.get(0))
        })
        .await
    }
}

/// The sessions of which something waits, as `join` and `only` narrow the first message of each.
pub(super) fn waiting<P: ToValue>(
    tx: &Tx<'_>,
    params: impl AsRef<[P]>,
    (join, only): (&str, &str),
) -> Result<Vec<SessionId>> {
    let waiting = format!(
        "WITH first AS MATERIALIZED (SELECT min(seq) AS n FROM inbox
             WHERE channel = ?1 AND done_at IS NULL AND turn IS NULL GROUP BY session)
         SELECT coalesce(inbox.session, '') FROM first JOIN inbox ON inbox.seq = first.n {join}
         WHERE inbox.channel = ?1 {only} ORDER BY inbox.seq LIMIT ?2"
    );
    tx.query_rows(&waiting, params, |row| Ok(SessionId::new(row.get::<String>(0)?)))
}

/// The session as the table has it: updates that an early release kept have none.
fn session_key(session: &SessionId) -> Option<&str> {
    Some(session.as_str()).filter(|name| !name.is_empty())
}
