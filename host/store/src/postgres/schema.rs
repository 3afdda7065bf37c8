//! The tables in PostgreSQL. Versions count on from SQLite's 17, with which this engine began.
//! Texts compare as bytes. What SQLite has in every table, a `rowid` that grows, is a column where
//! rows are ordered by it.

use super::Postgres;
use super::lease::NOW;
use crate::tx::Tx;
use crate::value::params;
use crate::{Result, StoreError};

/// The version that this program writes.
pub(crate) const VERSION: i64 = 23;

/// The first one.
const FIRST: i64 = 17;

/// What each version adds to the one before. A version that was released is never changed.
const VERSIONS: [&str; 7] =
    [VERSION_17, VERSION_18, VERSION_19, VERSION_20, VERSION_21, VERSION_22, VERSION_23];

/// Makes the tables where there are none, and brings older ones to the version that this program
/// knows, unless a node of an older release is there.
pub(super) fn migrate(postgres: &Postgres) -> Result<()> {
    postgres.run_migration(&|tx| {
        let schema = &postgres.server.schema;
        let found = version(tx, schema)?;
        if found > Some(VERSION) {
            return Err(StoreError::Newer { found: found.unwrap_or(0), known: VERSION });
        }
        if found == Some(VERSION) {
            return Ok(());
        }
        if let Some(found) = found.filter(|found| *found < FIRST) {
            return Err(StoreError::Corrupt(format!("tables of version {found}")));
        }
        refuse_older_node(tx, found, &postgres.server.name)?;
        if let Tx::Postgres(tx) = tx {
            tx.take_long()?;
        }
        if !tx.exists("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?1", [schema])? {
            tx.execute(&format!("CREATE SCHEMA \"{schema}\""), params![])?;
        }
        if found.is_none() {
            tx.execute("CREATE TABLE schema_version (version bigint NOT NULL)", params![])?;
            tx.execute("INSERT INTO schema_version (version) VALUES (0)", params![])?;
        }
        for (version, tables) in (FIRST..).zip(VERSIONS) {
            if found.unwrap_or(0) < version {
                for statement in tables.split(';').filter(|statement| !statement.trim().is_empty()) {
                    tx.execute(statement, params![])?;
                }
            }
        }
        tx.execute("UPDATE schema_version SET version = ?1", [VERSION]).map(drop)
    })
}

/// Refuses to change tables of this version while a node is there, which is one of their release.
/// Taken out before its lease is over it goes on sending until its next renewal, beside the node
/// that takes its work over.
pub(crate) fn refuse_older_node(tx: &Tx<'_>, found: Option<i64>, server: &str) -> Result<()> {
    let table = match found {
        None => return Ok(()),
        Some(17) => "lease",
        Some(_) => "node",
    };
    let there = format!("SELECT name, who FROM {table} WHERE until > {NOW} ORDER BY name LIMIT 1");
    match tx.query_optional(&there, params![], |row| Ok((row.get(0)?, row.get(1)?)))? {
        None => Ok(()),
        Some((node, who)) => Err(StoreError::OlderNode { server: server.to_owned(), node, who }),
    }
}

/// The version of the tables; none where there are none.
pub(crate) fn version(tx: &Tx<'_>, schema: &str) -> Result<Option<i64>> {
    let table = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ?1 AND tablename = 'schema_version'";
    if !tx.exists(table, [schema])? {
        return Ok(None);
    }
    tx.query_row("SELECT version FROM schema_version", params![], |row| row.get(0)).map(Some)
}

/// Everything there was when this engine came.
const VERSION_17: &str = include_str!("tables_17.sql");

/// This engine's own: the nodes, and what one of them does for all. A program of before finds no
/// `lease` any more, and writes nothing.
const VERSION_18: &str = r#"
DROP TABLE lease;

CREATE TABLE node (
    name   text COLLATE "C" PRIMARY KEY,
    holder text COLLATE "C" NOT NULL UNIQUE,
    who    text COLLATE "C" NOT NULL,
    state  text COLLATE "C" NOT NULL,
    until  bigint NOT NULL
);

CREATE TABLE duty (
    name   text COLLATE "C" PRIMARY KEY,
    holder text COLLATE "C" NOT NULL
)
"#;

/// What is one node's to work on: the turns of a session, the sending of a reply. A program of
/// before finds its duty gone, and writes nothing.
const VERSION_19: &str = r#"
DELETE FROM duty;
DELETE FROM node;

CREATE TABLE claim (
    channel text COLLATE "C" NOT NULL,
    kind    text COLLATE "C" NOT NULL CHECK (kind IN ('session', 'reply')),
    name    text COLLATE "C" NOT NULL,
    holder  text COLLATE "C" NOT NULL,
    PRIMARY KEY (channel, kind, name)
);
CREATE INDEX claim_holder ON claim (holder)
"#;

/// Whose a reply is to send is said where the reply is: two that send at once meet nowhere else.
const VERSION_20: &str = r#"
DELETE FROM duty;
DELETE FROM node;

ALTER TABLE reply ADD COLUMN holder text COLLATE "C";
UPDATE reply SET holder =
    (SELECT holder FROM claim WHERE claim.channel = reply.channel AND kind = 'reply' AND name = turn)
    WHERE finished_at IS NULL;
DELETE FROM claim WHERE kind = 'reply';
ALTER TABLE claim RENAME COLUMN name TO session;
ALTER TABLE claim DROP COLUMN kind;
ALTER TABLE claim ADD PRIMARY KEY (channel, session)
"#;

/// How far the audit of each node was when it last said so. Nodes of before all wrote one chain.
/// And how many messages have come in a session since it was claimed.
const VERSION_21: &str = r#"
DELETE FROM duty;
DELETE FROM node;

CREATE TABLE audit_head (
    node text COLLATE "C" PRIMARY KEY,
    head text COLLATE "C" NOT NULL
);

ALTER TABLE claim ADD COLUMN messages bigint NOT NULL DEFAULT 0
"#;

/// Which node has the files of a person and of a run, and those of another node that is gone, where
/// each node has a workspace of its own.
const VERSION_22: &str = r#"
DELETE FROM duty;
DELETE FROM node;

CREATE TABLE home (
    person text COLLATE "C" PRIMARY KEY,
    node   text COLLATE "C" NOT NULL
);
CREATE INDEX home_node ON home (node);

CREATE TABLE heir (
    node text COLLATE "C" PRIMARY KEY,
    heir text COLLATE "C" NOT NULL
);

ALTER TABLE node ADD COLUMN has_home bigint NOT NULL DEFAULT 0;
ALTER TABLE run  ADD COLUMN node text COLLATE "C"
"#;

/// By which a transaction that was committed is told from one that was not. Its rows are taken back
/// once nobody asks for them.
const VERSION_23: &str = r#"
DELETE FROM duty;
DELETE FROM node;

CREATE TABLE committed (
    token      bigint PRIMARY KEY,
    is_refused boolean,
    at         timestamptz NOT NULL DEFAULT now()
)
"#;
