//! Where each node has a workspace of its own, a person has a home: the node that has their files.
//! Their turns and runs are carried out there, and wait while it is away. Only PostgreSQL has it,
//! and only where the nodes are [configured so](super::PostgresConfig::with_home).

use super::postgres::lease;
use super::tx::Tx;
use super::value::params;
use super::{Result, Store, StoreError};
use cofferdam_core::id::Caller;
use std::collections::BTreeSet;

/// Open messages of the session that a row has whose people have their home elsewhere: on another
/// node than the parameter of this number says.
fn elsewhere(row: &str, home: u8) -> String {
    format!(
        "SELECT 1 FROM inbox AS other
         JOIN home ON home.person = split_part(other.channel, '-', 1) || ':' || other.sender
         WHERE other.session = {row}.session AND other.channel = {row}.channel AND other.done_at IS NULL
         AND home.node <> ?{home}"
    )
}

/// Whether the message of a row of `inbox` may have its turn on the node that the parameter of this
/// number names: of no person before it in its session, nor of its own, the home is elsewhere.
/// Where `own` is none, every message may.
pub(super) fn may_begin(own: Option<&str>, home: u8) -> String {
    match own {
        None => format!("CAST(?{home} AS text) IS NULL"),
        Some(_) => format!(
            "NOT EXISTS ({} AND other.turn IS NULL AND other.seq <= inbox.seq)",
            elsewhere("inbox", home)
        ),
    }
}

/// The same of the first message that waits in its session.
pub(super) fn may_begin_first(own: Option<&str>, home: u8) -> String {
    match own {
        None => format!("CAST(?{home} AS text) IS NULL"),
        Some(_) => format!(
            "NOT EXISTS (SELECT 1 FROM home WHERE person = split_part(inbox.channel, '-', 1) || ':' || inbox.sender
             AND node <> ?{home})"
        ),
    }
}

/// Whether what was begun in the session of a row of this table may go on there: on the node, and
/// by the process, that the parameters of these numbers name. The first message says so: another
/// one, which stops its turn, may be bound beside it. A reply that another process is sending is
/// waited for.
pub(super) fn may_go_on(row: &str, own: Option<&str>, (home, holder): (u8, u8)) -> String {
    match own {
        None => format!("(CAST(?{home} AS text) IS NULL AND CAST(?{holder} AS text) IS NOT NULL)"),
        Some(_) => format!(
            "NOT EXISTS ({} AND other.turn IS NOT NULL AND NOT EXISTS (SELECT 1 FROM inbox AS earlier
             WHERE earlier.session = other.session AND earlier.channel = other.channel
             AND earlier.done_at IS NULL AND earlier.turn IS NOT NULL AND earlier.seq < other.seq))
             AND NOT EXISTS (SELECT 1 FROM reply JOIN inbox AS answered ON answered.turn = reply.turn
             JOIN node AS sender ON sender.holder = reply.holder WHERE reply.channel = {row}.channel
             AND answered.session = {row}.session AND reply.finished_at IS NULL AND reply.holder <> ?{holder})",
            elsewhere(row, home)
        ),
    }
}

/// Whether a message that has come may have its turn here. Who has no home gets one first.
pub(super) fn may_begin_here(tx: &Tx<'_>, (channel, sender): (&str, &str), seq: i64) -> Result<bool> {
    give_home(tx, channel, sender)?;
    let Some(own) = tx.home() else { return Ok(true) };
    let may = format!("SELECT 1 FROM inbox WHERE seq = ?1 AND {}", may_begin(Some(own), 2));
    tx.exists(&may, params![seq, own])
}

/// What [`Store::settled_here`] has.
pub(super) fn load_settled_nodes(tx: &Tx<'_>) -> Result<Option<BTreeSet<String>>> {
    let Some(own) = tx.home() else { return Ok(None) };
    let given = tx.query_rows("SELECT node FROM heir WHERE heir = ?1", [own], |row| row.get(0))?;
    Ok(Some(given.into_iter().chain([own.to_owned()]).collect()))
}

/// Gives somebody a home who has none; the channel is named as in the inbox, `telegram-1`.
pub(super) fn give_home(tx: &Tx<'_>, channel: &str, sender: &str) -> Result<()> {
    let platform = channel.split('-').next().unwrap_or_default();
    tx.home().map_or(Ok(()), |_| home_of(tx, &format!("{platform}:{sender}")).map(drop))
}

/// The home of who began a run.
pub(super) fn home_of_caller(tx: &Tx<'_>, by: &Caller) -> Result<String> {
    home_of(tx, &format!("{}:{}", by.channel, by.sender))
}

/// The home of a person, `CHANNEL:USER`. Who has none gets that node, of those that are there,
/// which has the fewest people.
fn home_of(tx: &Tx<'_>, person: &str) -> Result<String> {
    let found = "SELECT node FROM home WHERE person = ?1";
    if let Some(home) = tx.query_optional(found, [person], |row| row.get(0))? {
        return Ok(home);
    }
    let fewest = format!(
        "INSERT INTO home (person, node) SELECT ?1, name FROM node WHERE until > {} OR holder = ?2
         ORDER BY (SELECT count(*) FROM home WHERE home.node = node.name), name LIMIT 1 RETURNING node",
        lease::NOW
    );
    let fewest = tx.query_optional(&fewest, params![person, tx.holder()], |row| row.get(0))?;
    fewest.ok_or_else(|| StoreError::Corrupt("no node, and one works".to_owned()))
}

/// A node that is not there and has files of people or of runs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AwayHome {
    /// Its name.
    pub node: String,
    /// How many people.
    pub people: u64,
    /// How many open runs, those apart that a command carries out: these wait for nobody.
    pub runs: u64,
}

/// The nodes that are not there and have files of people or of open runs, by name. None where all
/// nodes have the same files.
pub(super) fn away(tx: &Tx<'_>) -> Result<Vec<AwayHome>> {
    if tx.home().is_none() {
        return Ok(Vec::new());
    }
    let away = format!(
        "SELECT node, count(person), count(run) FROM (
             SELECT node, person, NULL AS run FROM home
             UNION ALL SELECT node, NULL, run FROM run WHERE state = 'running' AND owner <> 'cli' AND node IS NOT NULL) AS has
         WHERE NOT EXISTS (SELECT 1 FROM node WHERE node.name = has.node AND until > {})
         GROUP BY node ORDER BY node",
        lease::NOW
    );
    tx.query_rows(&away, params![], |row| {
        Ok(AwayHome { node: row.get(0)?, people: row.get(1)?, runs: row.get(2)? })
    })
}

/// Every node that ever was there, or had files of people or runs.
pub(super) fn known(tx: &Tx<'_>) -> Result<BTreeSet<String>> {
    let known = "SELECT node FROM home UNION SELECT node FROM run WHERE node IS NOT NULL
         UNION SELECT node FROM heir UNION SELECT name FROM node";
    Ok(tx.query_rows(known, params![], |row| row.get(0))?.into_iter().collect())
}

impl Store {
    /// Whether each node has a workspace of its own, and people a home.
    pub fn has_homes(&self) -> bool {
        self.postgres().is_some_and(|postgres| postgres.home().is_some())
    }

    /// Notes that this node has the files of these people, `CHANNEL:USER`, but for those who have a
    /// home already. Blocks.
    pub fn note_homes(&self, people: &[String]) -> Result<()> {
        self.write_here(|tx| {
            let Some(own) = tx.home() else { return Ok(()) };
            let note = "INSERT INTO home (person, node) VALUES (?1, ?2) ON CONFLICT (person) DO NOTHING";
            people.iter().try_for_each(|person| tx.run(note, [person.as_str(), own]))
        })
    }

    /// The nodes whose audit is settled here: this one and those whose files it was given. What the
    /// calls of another one have published shows in that one's workspace alone. None where all have
    /// the same files, so that any node settles any audit.
    pub async fn settled_here(&self) -> Result<Option<BTreeSet<String>>> {
        self.read(load_settled_nodes).await
    }

    /// The other node that has the files of a run, if one has.
    pub async fn run_elsewhere(&self, run: &str) -> Result<Option<String>> {
        let run = run.to_owned();
        self.read(move |tx| {
            let Some(own) = tx.home() else { return Ok(None) };
            let other = "SELECT node FROM run WHERE run = ?1 AND node <> ?2";
            tx.query_optional(other, [run.as_str(), own], |row| row.get(0))
        })
        .await
    }

    /// Has the people and runs of one node belong to another one, which has their files from now
    /// on; how many people and how many open runs of `serve`, which is none in SQLite. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Served`] where the first one is there.
    pub fn move_homes(&self, from: &str, to: &str) -> Result<(usize, usize)> {
        let Some(postgres) = self.postgres() else { return Ok((0, 0)) };
        let moved = self.write_here(|tx| {
            if let Some(node) = lease::nodes(tx)?.into_iter().find(|node| node.name == from) {
                return Ok(Err(node.who));
            }
            // One that is silent would come back, and go on with files that nobody has any more.
            tx.run("DELETE FROM node WHERE name = ?1", [from])?;
            tx.run("UPDATE heir SET heir = ?2 WHERE heir = ?1", [from, to])?;
            let heir =
                "INSERT INTO heir (node, heir) VALUES (?1, ?2) ON CONFLICT (node) DO UPDATE SET heir = ?2";
            tx.run(heir, [from, to])?;
            let open = "UPDATE run SET node = ?2 WHERE node = ?1 AND state = 'running' AND owner <> 'cli'";
            let open_runs = tx.execute(open, [from, to])?;
            tx.run("UPDATE run SET node = ?2 WHERE node = ?1", [from, to])?;
            let people = tx.execute("UPDATE home SET node = ?2 WHERE node = ?1", [from, to])?;
            Ok(Ok((people, open_runs)))
        })?;
        moved.map_err(|who| StoreError::Served { server: postgres.server_name(), node: from.to_owned(), who })
    }
}
