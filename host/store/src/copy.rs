//! Moves a store from one engine to the other: every row, in one transaction of the one that gets
//! them. Cut off it leaves nothing there.

use super::tx::Tx;
use super::value::{SqlValue, params};
use super::{Engine, Result, Store, StoreError};
use std::time::Duration;

/// How long PostgreSQL waits for the other engine, and for who is told. Otherwise it soon ends a
/// transaction in which nothing happens, and with it the one state that is copied.
const COPY_STILL_MAX: Duration = Duration::from_secs(600);

/// In the order of a column of the table's own, which the engine counts.
const SEQ: Option<&str> = Some("seq");
/// In that of one that SQLite has in every table, beside those that are listed.
const ROWID: Option<&str> = Some("rowid");

/// Each table, its columns, and by which its rows are in order, if that is anybody's; a table is
/// behind those that it refers to.
pub(super) const TABLES: [(&str, &str, Option<&str>); 22] = [
    (
        "inbox",
        "seq, channel, update_id, received_at, album, raw, turn, done_at, session, sender, request, joined, message",
        SEQ,
    ),
    ("reply", "seq, turn, channel, target, created_at, finished_at", SEQ),
    ("part", "turn, n, kind, body, state, outcome", None),
    ("stranger", "channel, sender, told_at, times", None),
    (
        "journal",
        "call_id, turn, arguments_sha256, result, recorded_at, written_bytes, attachments, delivery",
        None,
    ),
    ("recent", "channel, conversation, sender, album, files, noted_at, turn", ROWID),
    ("placeholder", "turn, message", None),
    ("line", "seq, session, turn, n, body, said_at", SEQ),
    ("attempt", "turn, channel, sender, count, last_at, begun_at, spent, transcript", None),
    ("usage", "day, channel, sender, tokens, written_bytes", None),
    (
        "approval",
        "id, call_id, sha256, place, message, state, decided_by, asked_at, expires_at, channel, has_choices",
        ROWID,
    ),
    ("approved_path", "channel, sender, tool, path, approved_at", ROWID),
    ("outgoing", "turn, sha256", None),
    ("delivery", "call_id, request, files, delivered_at", ROWID),
    ("moved", "channel, place, goes_on, noted_at", ROWID),
    ("stream", "channel, session, address, number, behind", None),
    ("place", "channel, place, last, noted_at", ROWID),
    (
        "run",
        "run, workflow, channel, sender, began_with, file_sha256, state, output, error, began_at, ended_at, owner, answer_channel, answer_to, answers, answered_at, turn, ended_by, unnoted, due_at",
        ROWID,
    ),
    ("run_task", "run, n, id, state, output, error, waits_for, waits_of, waits_until, patience", None),
    (
        "run_message",
        "run, n, channel, recipient, turn, texts, messages, state, answer, album, files, replied_at",
        ROWID,
    ),
    ("run_schedule", "workflow, looked_at", None),
    ("spoken_to", "session, sender, since", ROWID),
];

impl Store {
    /// Copies everything into a store that holds nothing, and says of each table how many rows
    /// that were. Nobody else writes into this one meanwhile, where the engine can see to that.
    /// Either all is there when this returns, or nothing. Blocks.
    ///
    /// # Errors
    /// [`StoreError`]: among others [`StoreError::NotEmpty`], [`StoreError::HomesElsewhere`] where
    /// other nodes have files of people, and [`StoreError::TakenOver`] where others may have
    /// written into this one meanwhile.
    pub fn copy_into(&self, to: &Self, copied: &dyn Fn(&'static str, u64)) -> Result<u64> {
        let copy = |from: &Tx<'_>| -> Result<u64> {
            wait_longer(from)?;
            refuse_homes_elsewhere(from)?;
            to.write_here(|into| {
                wait_longer(into)?;
                let mut all = 0;
                for (name, columns, order) in TABLES {
                    if into.exists(&format!("SELECT 1 FROM {name} LIMIT 1"), params![])? {
                        return Err(StoreError::NotEmpty(name));
                    }
                    let rows = copy_table((name, columns, order), from, into)?;
                    copied(name, rows);
                    all += rows;
                }
                // Who only reads is in nobody's way, not even of those who took this node out.
                if self.is_shared() {
                    self.settle_here()?;
                }
                Ok(all)
            })
        };
        // A commit here could fail after that of the other one, and say that nothing was copied.
        match &self.database.engine {
            Engine::Sqlite(sqlite) => sqlite.read_alone(&copy),
            Engine::Postgres(postgres) => postgres.read(&copy),
        }
    }
}

/// Refuses while other nodes have files of people, or of runs that can go on. Homes are not copied,
/// so these would go on where the copy is, without their files.
fn refuse_homes_elsewhere(from: &Tx<'_>) -> Result<()> {
    let Some(own) = from.home() else { return Ok(()) };
    let elsewhere = "SELECT node, count(person), count(run) FROM (
            SELECT node, person, NULL AS run FROM home
            UNION ALL SELECT node, NULL, run FROM run WHERE state IN ('running', 'failed')) AS has
        WHERE node <> ?1 GROUP BY node ORDER BY node LIMIT 1";
    let found = from.query_optional(elsewhere, [own], |row| {
        let (node, people, runs) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(StoreError::HomesElsewhere { node, people, runs, own: own.to_owned() })
    })?;
    found.map_or(Ok(()), Err)
}

/// Has PostgreSQL wait for [`COPY_STILL_MAX`] in this transaction.
fn wait_longer(tx: &Tx<'_>) -> Result<()> {
    let still = COPY_STILL_MAX.as_millis();
    match tx {
        Tx::Sqlite(_) => Ok(()),
        Tx::Postgres(_) => {
            tx.run(&format!("SET LOCAL idle_in_transaction_session_timeout = {still}"), params![])
        }
    }
}

fn copy_table(
    (name, columns, order): (&str, &str, Option<&str>),
    from: &Tx<'_>,
    into: &Tx<'_>,
) -> Result<u64> {
    let columns = if order == ROWID { format!("{columns}, rowid") } else { columns.to_owned() };
    let ordered = order.map_or(String::new(), |column| format!(" ORDER BY {column}"));
    let places: Vec<String> = (1..=columns.split(',').count()).map(|n| format!("?{n}")).collect();
    let insert = format!("INSERT INTO {name} ({columns}) VALUES ({})", places.join(", "));
    from.for_each(&format!("SELECT {columns} FROM {name}{ordered}"), params![], |row| {
        let values = (0..places.len()).map(|n| row.value(n)).collect::<Result<Vec<SqlValue<'_>>, _>>()?;
        into.run(&insert, values.as_slice())?;
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    count_on(name, order, into)?;
    let count = format!("SELECT count(*) FROM {name}");
    let counted = |tx: &Tx<'_>| tx.query_row(&count, params![], |row| row.get::<u64>(0));
    let (were, are) = (counted(from)?, counted(into)?);
    if were != are {
        return Err(StoreError::Corrupt(format!("{are} rows of {name} after copying {were}")));
    }
    Ok(are)
}

/// Has PostgreSQL number further rows behind those that came with their numbers, as SQLite does by
/// itself.
fn count_on(name: &str, order: Option<&str>, into: &Tx<'_>) -> Result<()> {
    let (Tx::Postgres(_), Some(column)) = (into, order) else { return Ok(()) };
    let next =
        format!("SELECT setval(pg_get_serial_sequence('{name}', '{column}'), max({column})) FROM {name}");
    into.query_row(&next, params![], |_| Ok(()))
}
