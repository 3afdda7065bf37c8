//! Which nodes there are, and which of them serves. A node has a row with a time by the database's
//! clock. The time decides when another one may take its duty over; the row of the duty decides who
//! writes, because each transaction of the one who serves reads it. So a node that stood still
//! meanwhile changes nothing when it goes on.

use super::Postgres;
use crate::cluster::{ClusterNode, NodeRow, host_name, new_name};
use crate::tx::Tx;
use crate::value::params;
use crate::{Engine, Store, StoreError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a dead process of the same node is looked for.
const LOOKED_EVERY: Duration = Duration::from_millis(200);

/// The server's clock, in milliseconds since 1970 UTC.
const NOW: &str = "CAST(extract(epoch FROM now()) * 1000 AS bigint)";

/// What a node has.
pub(super) struct Lease {
    node: ClusterNode,
    /// Of no other process, and no other start.
    holder: String,
    serves: AtomicBool,
}

impl Lease {
    /// Refuses who does not serve, or serves no more.
    pub(super) fn check(&self, tx: &Tx<'_>) -> Result<(), StoreError> {
        let mine = tx.exists("SELECT 1 FROM duty WHERE name = 'serve' AND holder = ?1", [&self.holder])?;
        if mine { Ok(()) } else { Err(StoreError::TakenOver) }
    }

    fn length(&self) -> i64 {
        i64::try_from(self.node.lease.as_millis()).unwrap_or(i64::MAX)
    }
}

impl Postgres {
    /// Makes this process the one that runs this node. Waits for one that may have died, until its
    /// time is over; refused where it says that it is there. Blocks.
    pub(crate) fn join(&self, node: &ClusterNode) -> Result<(), StoreError> {
        let holder = new_name().map_err(|error| StoreError::Engine(Box::new(error)))?;
        let lease = Lease { node: node.clone(), holder, serves: AtomicBool::new(false) };
        let mut seen = None;
        loop {
            match self.run_unfenced(&|tx| join(tx, &lease))? {
                None => break,
                Some((who, until)) => {
                    if *seen.get_or_insert(until) != until {
                        let (server, node) = (self.server.name.clone(), node.name.clone());
                        return Err(StoreError::Served { server, node, who });
                    }
                    std::thread::sleep(LOOKED_EVERY);
                }
            }
        }
        let _ = self.lease.set(lease);
        Ok(())
    }

    /// Has this node serve where no other one does; the one that does otherwise.
    pub(crate) fn try_serve(&self) -> Result<Option<NodeRow>, StoreError> {
        let Some(lease) = self.lease.get() else { return Err(StoreError::TakenOver) };
        let other = self.run_unfenced(&|tx| try_serve(tx, lease))?;
        lease.serves.store(other.is_none(), Ordering::Relaxed);
        Ok(other)
    }

    /// Says that this node is there still.
    fn renew_lease(&self) -> Result<(), StoreError> {
        let Some(lease) = self.lease.get() else { return Ok(()) };
        let renew = format!("UPDATE node SET until = {NOW} + ?2 WHERE holder = ?1");
        let renewed = self.run_unfenced(&|tx| tx.execute(&renew, params![lease.holder, lease.length()]))?;
        if renewed == 1 { Ok(()) } else { Err(StoreError::TakenOver) }
    }

    /// Takes the node out, so that another one serves at once.
    pub(crate) fn leave(&self) -> Result<(), StoreError> {
        let Some(lease) = self.lease.get() else { return Ok(()) };
        let ended = self.run_unfenced(&|tx| {
            let nodes = tx.execute("DELETE FROM node WHERE holder = ?1", [&lease.holder])?;
            Ok(nodes + tx.execute("DELETE FROM duty WHERE holder = ?1", [&lease.holder])?)
        })?;
        let had = 1 + usize::from(lease.serves.load(Ordering::Relaxed));
        if ended == had { Ok(()) } else { Err(StoreError::TakenOver) }
    }
}

/// Says on and on that this node is there, for as long as somebody keeps the store open.
pub(crate) fn keep(store: &Store, lease: Duration) -> Result<(), StoreError> {
    let weak = store.downgrade();
    let keep = move || loop {
        std::thread::sleep(lease / 3);
        let Some(store) = weak.upgrade() else { return };
        let Engine::Postgres(postgres) = &store.database.engine else { return };
        match postgres.renew_lease() {
            Ok(()) => {}
            Err(error @ StoreError::TakenOver) => {
                tracing::error!(%error);
                return store.database.taken_over.cancel();
            }
            // Those who write are told it as well; the server may be back in time.
            Err(error) => tracing::warn!(%error, "cannot say that this node is there"),
        }
    };
    let began = std::thread::Builder::new().name("lease".to_owned()).spawn(keep);
    began.map(drop).map_err(|error| StoreError::Engine(Box::new(error)))
}

/// The nodes that are there, as far as the database knows, by name.
pub(crate) fn nodes(tx: &Tx<'_>) -> Result<Vec<NodeRow>, StoreError> {
    let found = format!(
        "SELECT node.name, who, duty.name FROM node LEFT JOIN duty ON duty.holder = node.holder
         WHERE until > {NOW} ORDER BY node.name"
    );
    tx.query_rows(&found, params![], |row| {
        let duty: Option<String> = row.get(2)?;
        Ok(NodeRow { name: row.get(0)?, who: row.get(1)?, duties: duty.into_iter().collect() })
    })
}

/// Joins where no other process runs this node; which one does, and until when, otherwise.
fn join(tx: &Tx<'_>, lease: &Lease) -> Result<Option<(String, i64)>, StoreError> {
    let ClusterNode { name, state, .. } = &lease.node;
    let insert = format!(
        "INSERT INTO node (name, holder, who, state, until) VALUES (?1, ?2, ?3, ?4, {NOW} + ?5)
         ON CONFLICT (name) DO UPDATE SET holder = ?2, who = ?3, state = ?4, until = {NOW} + ?5
         WHERE node.until <= {NOW}"
    );
    if tx.execute(&insert, params![name, lease.holder, this_process(), state, lease.length()])? == 1 {
        return Ok(None);
    }
    tx.query_row("SELECT who, until FROM node WHERE name = ?1", [name], |row| {
        Ok(Some((row.get(0)?, row.get(1)?)))
    })
}

fn try_serve(tx: &Tx<'_>, lease: &Lease) -> Result<Option<NodeRow>, StoreError> {
    if !tx.exists("SELECT 1 FROM node WHERE holder = ?1", [&lease.holder])? {
        return Err(StoreError::TakenOver);
    }
    let serving = format!(
        "SELECT node.name, who, state FROM node JOIN duty ON duty.holder = node.holder
         WHERE duty.name = 'serve' AND node.holder <> ?1 AND until > {NOW}"
    );
    let other = tx.query_optional(&serving, [&lease.holder], |row| {
        let node = NodeRow { name: row.get(0)?, who: row.get(1)?, duties: vec!["serve".to_owned()] };
        Ok((node, row.get::<String>(2)?))
    })?;
    if let Some((node, state)) = other {
        return if state == lease.node.state {
            Ok(Some(node))
        } else {
            Err(StoreError::OtherState(node.name))
        };
    }
    // Who is silent for too long finds itself gone, and its duty another one's.
    tx.execute(&format!("DELETE FROM node WHERE until <= {NOW} AND holder <> ?1"), [&lease.holder])?;
    let take =
        "INSERT INTO duty (name, holder) VALUES ('serve', ?1) ON CONFLICT (name) DO UPDATE SET holder = ?1";
    tx.execute(take, [&lease.holder])?;
    Ok(None)
}

/// For people: the machine and the process.
fn this_process() -> String {
    format!("process {} on {}", std::process::id(), host_name())
}
