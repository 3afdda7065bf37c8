//! The database for those who only look: opened for reading, also beside a `serve` that writes, and
//! never made.

use super::cluster::{ClusterNode, NodeRow, load_heads};
use super::homes::{self, AwayHome};
use super::location::StoreLocation;
use super::postgres::schema as postgres_schema;
use super::postgres::{Postgres, lease};
use super::sqlite::Sqlite;
use super::tx::Tx;
use super::usage::DAY_MS;
use super::value::params;
use super::{Engine, FILE_NAME, Result, StoreError, now_ms, schema};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

/// More people of a day than this are not listed; the sums have them.
pub const PEOPLE_LISTED_MAX: u32 = 100;

/// More requests that are being answered than this are not listed.
pub const REQUESTS_LISTED_MAX: u32 = 100;

/// A request that is being answered.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OpenRequestRow {
    /// Its id: that of its turn.
    pub request: String,
    /// The session that it was said in.
    pub session: Option<String>,
    /// The channel.
    pub client: String,
    /// Who said it, as `channel:sender`.
    pub by: Option<String>,
}

/// The database as it is. Methods fail with [`StoreError`], also for tables of another version.
pub struct DatabaseView {
    engine: Engine,
    version: i64,
    /// The version that this program knows.
    known: i64,
}

/// What waits, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WaitingCounts {
    /// Messages that no turn has taken yet.
    pub messages: u64,
    /// Turns that have begun and not ended.
    pub turns: u64,
    /// Calls that wait for a person.
    pub approvals: u64,
    /// Replies that are not sent to their end.
    pub replies: u64,
    /// Messages of them that are still to be sent.
    pub parts: u64,
}

/// What somebody has used on one day.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DayUsage {
    /// The channel.
    pub channel: String,
    /// Who, by the channel's id.
    pub sender: String,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Bytes that tool calls have published.
    pub written_bytes: u64,
}

impl DatabaseView {
    /// What the run of this id began with, in tables of older releases too; none where it is not
    /// kept.
    pub fn load_beginning(&self, run: &str) -> Result<Option<String>> {
        let (found, known) = (self.version, self.known);
        if found > known {
            return Err(StoreError::Newer { found, known });
        }
        if found < schema::FIRST_WITH_RUNS {
            return Ok(None);
        }
        let began_with = "SELECT began_with FROM run WHERE run = ?1";
        self.read(|tx| tx.query_optional(began_with, [run], |row| row.get(0)))
    }

    /// The database at a place; none where there is no file, or there are no tables.
    ///
    /// # Errors
    /// [`StoreError`], also for a file that is no database.
    pub fn open(at: impl Into<StoreLocation>) -> Result<Option<Self>> {
        let at = at.into();
        let looked = match &at {
            StoreLocation::Sqlite(dir) => Sqlite::look(dir)?.map(|(file, v)| (Engine::Sqlite(file), v)),
            StoreLocation::Postgres(config) => {
                Postgres::look(config)?.map(|(server, v)| (Engine::Postgres(server), v))
            }
        };
        Ok(looked.map(|(engine, version)| Self { engine, version, known: at.version_known() }))
    }

    /// Looks whether [`Store::open`](super::Store::open) would succeed. Where there is no file, its
    /// folder is somebody else's business.
    pub fn check_open(at: impl Into<StoreLocation>) -> Result<()> {
        let at = at.into();
        let Some(look) = Self::open(&at)? else { return Ok(()) };
        let (found, known) = (look.version, look.known);
        if found > known {
            return Err(StoreError::Newer { found, known });
        }
        if let Engine::Postgres(postgres) = &look.engine {
            postgres.check_primary()?;
            let server = postgres.server_name();
            let refuse = |tx: &Tx<'_>| postgres_schema::refuse_older_node(tx, Some(found), &server);
            return if found < known { postgres.read(&refuse) } else { Ok(()) };
        }
        let StoreLocation::Sqlite(dir) = at else { return Ok(()) };
        let path = dir.join(FILE_NAME);
        let writable = File::options().write(true).open(&path);
        writable.map(drop).map_err(|source| StoreError::Open { path, source })
    }

    /// Runs queries in one transaction, which changes nothing.
    fn read<T>(&self, work: impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.read(&work),
            Engine::Postgres(postgres) => postgres.read(&work),
        }
    }

    /// The same of what nodes have; nothing in SQLite, and in tables of another version.
    fn read_of_nodes<T: Default>(&self, work: impl Fn(&Tx<'_>) -> Result<T>) -> Result<T> {
        match &self.engine {
            Engine::Postgres(_) if self.version == self.known => self.read(work),
            _ => Ok(T::default()),
        }
    }

    /// The nodes that are there, by name; none in SQLite, and in tables of before there were nodes.
    pub fn nodes(&self) -> Result<Vec<NodeRow>> {
        self.read_of_nodes(lease::nodes)
    }

    /// A node that is there and has another state folder than this one, which cannot join then.
    pub fn find_stranger(&self, node: &ClusterNode) -> Result<Option<String>> {
        self.read_of_nodes(|tx| lease::find_stranger(tx, node))
    }

    /// The nodes that are not there and have files of people or of open runs, whose messages and
    /// tasks wait for them. None where all nodes have the same files.
    pub fn homes_away(&self) -> Result<Vec<AwayHome>> {
        self.read_of_nodes(homes::away)
    }

    /// Every node that ever was there, or had files of people or runs; none in SQLite.
    pub fn known_nodes(&self) -> Result<BTreeSet<String>> {
        match &self.engine {
            Engine::Postgres(_) => self.read(homes::known),
            Engine::Sqlite(_) => Ok(BTreeSet::new()),
        }
    }

    /// How far the audit of each node was when it last said so: `SEQ:SHA256`. None in SQLite and in
    /// tables of before there were any.
    pub fn audit_heads(&self) -> Result<BTreeMap<String, String>> {
        self.read_of_nodes(load_heads)
    }

    /// The version of the tables.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// What SQLite finds wrong with the file, if anything; PostgreSQL looks after its own.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read at all.
    pub fn damage(&self) -> Result<Option<String>> {
        match &self.engine {
            Engine::Postgres(_) => Ok(None),
            Engine::Sqlite(sqlite) => {
                let checked = sqlite.connection().query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
                let said: String = checked?;
                Ok((said != "ok").then_some(said))
            }
        }
    }

    /// What waits now.
    pub fn count_waiting(&self) -> Result<WaitingCounts> {
        self.read(|tx| {
            let count = |sql: &str| -> Result<u64> { tx.query_row(sql, params![], |row| row.get(0)) };
            Ok(WaitingCounts {
                messages: count("SELECT count(*) FROM inbox WHERE done_at IS NULL AND turn IS NULL")?,
                turns: count(
                    "SELECT count(DISTINCT turn) FROM inbox WHERE done_at IS NULL AND turn IS NOT NULL",
                )?,
                approvals: count(&format!(
                    "SELECT count(*) FROM approval WHERE state = 'asked' AND expires_at > {}",
                    now_ms()
                ))?,
                replies: count("SELECT count(*) FROM reply WHERE finished_at IS NULL")?,
                parts: count("SELECT count(*) FROM part WHERE state = 'pending'")?,
            })
        })
    }

    /// The requests whose turns have begun and not ended, the oldest first, and at most
    /// [`REQUESTS_LISTED_MAX`].
    pub fn open_requests(&self) -> Result<Vec<OpenRequestRow>> {
        // A message that is said to a turn that runs has that turn, too, and comes after the one
        // that began it.
        let first = "SELECT turn, session, channel, sender FROM inbox AS message
             WHERE done_at IS NULL AND turn IS NOT NULL AND NOT EXISTS (SELECT 1 FROM inbox AS earlier
             WHERE earlier.turn = message.turn AND earlier.done_at IS NULL AND earlier.seq < message.seq)
             ORDER BY seq LIMIT ?1";
        self.read(|tx| {
            tx.query_rows(first, [REQUESTS_LISTED_MAX], |row| {
                let (channel, sender) = (row.get::<String>(2)?, row.get::<Option<String>>(3)?);
                // Inboxes are by bot, `telegram-123`; people are the channel's.
                let client = channel.split('-').next().unwrap_or_default().to_owned();
                let by = sender.map(|sender| format!("{client}:{sender}"));
                Ok(OpenRequestRow { request: row.get(0)?, session: row.get(1)?, client, by })
            })
        })
    }

    /// What each person has used today, a day of UTC: the most first, and at most
    /// [`PEOPLE_LISTED_MAX`].
    pub fn usage_today(&self) -> Result<Vec<DayUsage>> {
        let most = "SELECT channel, sender, tokens, written_bytes FROM usage WHERE day = ?1
             ORDER BY tokens DESC, written_bytes DESC, channel, sender LIMIT ?2";
        self.read(|tx| {
            tx.query_rows(most, [now_ms() / DAY_MS, i64::from(PEOPLE_LISTED_MAX)], |row| {
                let (tokens, written_bytes) = (row.get(2)?, row.get(3)?);
                Ok(DayUsage { channel: row.get(0)?, sender: row.get(1)?, tokens, written_bytes })
            })
        })
    }

    /// When a message came last, in milliseconds since 1970 UTC.
    pub fn received_at(&self) -> Result<Option<i64>> {
        let last = "SELECT max(received_at) FROM inbox";
        self.read(|tx| tx.query_row(last, params![], |row| row.get(0)))
    }
}
