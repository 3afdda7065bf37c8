//! Which nodes there are, and what each of them does. A node has a row with a time by the
//! database's clock, and each of its transactions reads that row. Who is silent for its lease is
//! taken out by another node: then it changes nothing when it goes on, and others take its work
//! over.

mod renewals;

use super::schema::VERSION;
use super::{Postgres, QUERY_DEADLINE};
use crate::claims::{OwnNode, is_idle};
use crate::clock::{follow, running_ms};
use crate::cluster::{ClusterNode, NodeRow, host_name, new_name};
use crate::tx::Tx;
use crate::value::params;
use crate::{Result, Store, StoreError, WeakStore};
use cofferdam_core::lock::lock;
use renewals::{Renewals, millis};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

/// How often a node says that it is there, and looks for those that are silent.
const RENEWED_EVERY: Duration = Duration::from_secs(1);
/// As many renewals as this a lease has time for, if it has three seconds for each: a connection
/// that takes longer is given up, since another one may be quick.
const RENEWALS_LEAST: u32 = 3;
/// As many renewals are seen of a process that is there. One that is dead may have left some that
/// were given up, or that waited for a standby, and come through together.
const RENEWALS_ALIVE: usize = 3;
/// How often a dead process of the same node is looked for.
const LOOKED_EVERY: Duration = Duration::from_millis(200);

/// The server's clock, in milliseconds since 1970 UTC.
pub(in super::super) const NOW: &str = "CAST(extract(epoch FROM now()) * 1000 AS bigint)";

/// The same at the moment that a row is written. A renewal whose connection was given up may come
/// through after the next one, and must not take anything of the lease away.
const WRITTEN_AT: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";

/// The duty of a process that wants the store for itself.
const ALONE: &str = "alone";

/// What a node has.
pub(super) struct Lease {
    node: ClusterNode,
    pub(super) own: OwnNode,
    renewals: Mutex<Renewals>,
}

impl Lease {
    fn length(&self) -> i64 {
        millis(self.node.lease)
    }

    /// How long a renewal waits for a connection, and then for its answer.
    fn patience(&self) -> Duration {
        (self.node.lease / RENEWALS_LEAST).clamp(RENEWED_EVERY * 3, QUERY_DEADLINE)
    }
}

impl Postgres {
    /// Makes this process the one that runs this node. Waits for one that may have died, until its
    /// time is over; refused where it says that it is there. Blocks.
    pub(crate) fn join(&self, node: &ClusterNode) -> Result<()> {
        let process = new_name().map_err(|error| StoreError::Engine(Box::new(error)))?;
        // Who takes over its work finds its audit by the name; a name has no slash.
        let holder = format!("{}/{process}", node.name);
        let (mut seen, mut changes) = (None, 0);
        let lease = loop {
            let asked = running_ms();
            let renewals = Mutex::new(Renewals::new(asked));
            let lease = Lease { node: node.clone(), own: OwnNode::new(holder.clone()), renewals };
            match self.run_unfenced(&|tx| join(tx, &lease))? {
                Joined::At(now) => {
                    follow(now, asked);
                    break lease;
                }
                Joined::NameTaken { node, who, until } => {
                    changes += usize::from(seen.replace(until).is_some_and(|seen| seen != until));
                    if changes == RENEWALS_ALIVE {
                        return Err(StoreError::Served { server: self.server_name(), node, who });
                    }
                    std::thread::sleep(LOOKED_EVERY);
                }
            }
        };
        let _ = self.lease.set(lease);
        Ok(())
    }

    /// Has this node have the store for itself; another node otherwise.
    pub(crate) fn try_alone(&self) -> Result<Option<NodeRow>> {
        let Some(lease) = self.lease.get() else { return Err(StoreError::TakenOver) };
        self.run(&|tx| {
            take_out_silent(tx, &lease.own.holder)?;
            let other = "SELECT name, who FROM node WHERE holder <> ?1 ORDER BY name LIMIT 1";
            let other = tx.query_optional(other, [&lease.own.holder], |row| {
                Ok(NodeRow { name: row.get(0)?, who: row.get(1)?, duties: Vec::new() })
            })?;
            match other {
                Some(other) => Ok(Some(other)),
                None => take_duty(tx, ALONE, &lease.own.holder).map(|_| None),
            }
        })
        .map(|(other, _)| other)
    }

    /// Has this node do what one node does for all, unless another one does.
    pub(crate) fn try_duty(&self, duty: &str) -> Result<bool> {
        let Some(lease) = self.lease.get() else { return Ok(true) };
        let holder = &lease.own.holder;
        // Asked each second: that another node has it costs no more than a look.
        if self.read(&|tx| is_others(tx, duty, holder))? {
            return Ok(false);
        }
        self.run(&|tx| take_duty(tx, duty, holder)).map(|(is_taken, _)| is_taken)
    }

    /// Whether the lease is certain: what this node does outside now is done by no other one.
    pub(crate) fn has_lease(&self) -> bool {
        let Some(lease) = self.lease.get() else { return true };
        lock(&lease.renewals).is_certain(running_ms(), lease.length())
    }

    /// Returns while the lease is certain, and renews it where it is not.
    pub(crate) fn ensure_lease(&self) -> Result<()> {
        match self.lease.get() {
            Some(lease) if !self.has_lease() => self.renew_lease(lease).map(drop),
            _ => Ok(()),
        }
    }

    /// Says that this node is there still. Returns the server's time where the lease of another one
    /// is over by it. One statement alone, which meets no other transaction: those of this node
    /// read the row that it changes. It takes back the tokens that nobody asks for any more.
    fn renew_lease(&self, lease: &Lease) -> Result<Option<i64>> {
        let (asked, holder) = (running_ms(), &lease.own.holder);
        let renew = format!(
            "WITH taken_back AS (DELETE FROM committed WHERE token = ANY($3))
             UPDATE node SET until = {WRITTEN_AT} + $2 WHERE holder = $1 RETURNING {NOW}, EXISTS
             (SELECT 1 FROM node AS other WHERE other.until <= {NOW} AND other.holder <> $1)"
        );
        let client = self.client_within(&self.lease_pool, lease.patience())?;
        let answered = std::mem::take(&mut *lock(&self.answered));
        let renewed = self.server.wait_within(lease.patience(), async {
            let renew = client.prepare_cached(&renew).await?;
            client.query_opt(&renew, &[holder, &lease.length(), &answered]).await
        });
        let renewed = super::end_if_unfit(client, renewed);
        let renewed = renewed.inspect_err(|_| lock(&self.answered).extend(answered))?;
        let Some(row) = renewed else { return Err(StoreError::TakenOver) };
        follow(row.get(0), asked);
        lock(&lease.renewals).note(asked, row.get(0), lease.length());
        Ok(row.get::<_, bool>(1).then(|| row.get(0)))
    }

    /// Takes the node out, so that others take its work over at once.
    pub(crate) fn leave(&self) -> Result<()> {
        let Some(lease) = self.lease.get() else { return Ok(()) };
        let left = self.run_unfenced(&|tx| {
            // First, because it waits for what this node is changing, which must not wait for this.
            let left = tx.execute("DELETE FROM node WHERE holder = ?1", [&lease.own.holder])?;
            tx.run("DELETE FROM duty WHERE holder = ?1", [&lease.own.holder])?;
            let idle = format!("DELETE FROM claim WHERE holder = ?1 AND {}", is_idle(tx.home(), 2));
            tx.run(&idle, params![lease.own.holder, tx.home()])?;
            Ok(left)
        })?;
        if left == 1 { Ok(()) } else { Err(StoreError::TakenOver) }
    }
}

/// Says on and on that this node is there, for as long as somebody keeps the store open, and wakes
/// those who look for work of others.
pub(crate) fn keep(store: &Store) -> Result<()> {
    let (tell, told) = mpsc::sync_channel(1);
    let weak = store.downgrade();
    begin_thread("lease-of-others", move || take_out_at(&weak, &told))?;
    let weak = store.downgrade();
    begin_thread("lease", move || {
        // The first one at once: it makes the connection, and to join may have taken long.
        let mut pause = Duration::ZERO;
        loop {
            std::thread::sleep(pause);
            let began = Instant::now();
            let Some(store) = weak.upgrade() else { return };
            let Some(postgres) = store.postgres() else { return };
            let Some(lease) = postgres.lease.get() else { return };
            match postgres.renew_lease(lease) {
                Ok(None) => {}
                // Where the last look is still under way, a later renewal tells of them again.
                Ok(Some(late_at)) => _ = tell.try_send(late_at),
                // It has left by itself.
                Err(StoreError::TakenOver) if store.database.taken_over.is_cancelled() => return,
                Err(error @ StoreError::TakenOver) => {
                    tracing::error!(%error);
                    return store.note_taken_over();
                }
                // Those who write are told it as well; the server may be back in time.
                Err(error) => tracing::warn!(%error, "cannot say that this node is there"),
            }
            store.database.woken.send_replace(());
            // After one that was given up the next one is tried at once.
            pause = RENEWED_EVERY.saturating_sub(began.elapsed());
        }
    })
}

fn begin_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let began = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    began.map(drop).map_err(|error| StoreError::Engine(Box::new(error)))
}

/// Takes out those whose lease was over at each of these times of the server. On a thread of its
/// own: it waits for connections and for what those change, and a renewal must not.
fn take_out_at(store: &WeakStore, times: &mpsc::Receiver<i64>) {
    while let Ok(late_at) = times.recv() {
        let Some(store) = store.upgrade() else { return };
        let Some(postgres) = store.postgres() else { return };
        let Some(lease) = postgres.lease.get() else { return };
        match postgres.run_unfenced(&|tx| take_out_gone(tx, lease, late_at)) {
            // What they had begun is there to be taken over.
            Ok(()) => store.database.woken.send_replace(()),
            Err(error) => tracing::warn!(%error, "who is silent cannot be taken out"),
        }
    }
}

/// The nodes that are there, as far as the database knows, by name.
pub(crate) fn nodes(tx: &Tx<'_>) -> Result<Vec<NodeRow>> {
    let found = format!(
        "SELECT node.name, who, duty.name FROM node LEFT JOIN duty ON duty.holder = node.holder
         WHERE until > {NOW} ORDER BY node.name, duty.name"
    );
    let mut nodes: Vec<NodeRow> = Vec::new();
    let rows = tx.query_rows(&found, params![], |row| {
        Ok((row.get::<String>(0)?, row.get::<String>(1)?, row.get::<Option<String>>(2)?))
    })?;
    for (name, who, duty) in rows {
        match nodes.last_mut().filter(|last| last.name == name) {
            Some(node) => node.duties.extend(duty),
            None => nodes.push(NodeRow { name, who, duties: duty.into_iter().collect() }),
        }
    }
    Ok(nodes)
}

/// A node that is there and has another state folder than this one.
pub(crate) fn find_stranger(tx: &Tx<'_>, node: &ClusterNode) -> Result<Option<String>> {
    let stranger = format!(
        "SELECT name FROM node WHERE state <> ?1 AND name <> ?2 AND until > {NOW} ORDER BY name LIMIT 1"
    );
    tx.query_optional(&stranger, params![node.state, node.name], |row| row.get(0))
}

/// What came of joining.
enum Joined {
    /// By the server's clock.
    At(i64),
    /// Another process runs a node of this name, or has the store for itself.
    NameTaken { node: String, who: String, until: i64 },
}

fn join(tx: &Tx<'_>, lease: &Lease) -> Result<Joined> {
    // A later release may have brought the tables to its version since they were opened.
    let found = tx.query_row("SELECT version FROM schema_version", params![], |row| row.get(0))?;
    if found != VERSION {
        return Err(StoreError::Newer { found, known: VERSION });
    }
    if let Some(stranger) = find_stranger(tx, &lease.node)? {
        return Err(StoreError::OtherState(stranger));
    }
    let name = &lease.node.name;
    let has_home = i64::from(tx.home().is_some());
    let other = format!(
        "SELECT name FROM node WHERE has_home <> ?1 AND name <> ?2 AND until > {NOW} ORDER BY name LIMIT 1"
    );
    if let Some(other) = tx.query_optional(&other, params![has_home, name], |row| row.get(0))? {
        return Err(StoreError::OtherAffinity(other));
    }
    let taken = format!(
        "SELECT node.name, who, until FROM node LEFT JOIN duty ON duty.holder = node.holder AND duty.name = ?2
         WHERE until > {NOW} AND (node.name = ?1 OR duty.name = ?2)
         ORDER BY node.name LIMIT 1"
    );
    let taken = tx.query_optional(&taken, params![name, ALONE], |row| {
        Ok(Joined::NameTaken { node: row.get(0)?, who: row.get(1)?, until: row.get(2)? })
    })?;
    if let Some(taken) = taken {
        return Ok(taken);
    }
    // What the last process of this name left is taken over like any other's.
    tx.run("DELETE FROM node WHERE name = ?1", [name])?;
    tx.run("DELETE FROM heir WHERE node = ?1", [name])?;
    let insert = format!(
        "INSERT INTO node (name, holder, who, state, has_home, until) VALUES (?1, ?2, ?3, ?4, ?5, {WRITTEN_AT} + ?6)"
    );
    let row = params![name, lease.own.holder, this_process(), lease.node.state, has_home, lease.length()];
    tx.run(&insert, row)?;
    tx.query_row(&format!("SELECT {NOW}"), params![], |row| row.get(0)).map(Joined::At)
}

/// Takes out those whose lease was over at this time and who had time enough to renew it. The time
/// is that of a renewal of this node: since then all may have been cut off from the server.
fn take_out_gone(tx: &Tx<'_>, lease: &Lease, late_at: i64) -> Result<()> {
    let late = "SELECT holder, until FROM node WHERE until <= ?2 AND holder <> ?1";
    let late: Vec<(String, i64)> =
        tx.query_rows(late, params![lease.own.holder, late_at], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (holder, until) in late {
        if lock(&lease.renewals).is_gone(until, late_at, lease.length()) {
            // Unless it has come back since.
            tx.run("DELETE FROM node WHERE holder = ?1 AND until = ?2", params![holder, until])?;
        }
    }
    Ok(())
}

/// Who is silent for its lease finds itself gone.
fn take_out_silent(tx: &Tx<'_>, holder: &str) -> Result<()> {
    tx.run(&format!("DELETE FROM node WHERE until <= {NOW} AND holder <> ?1"), [holder])
}

/// Whether another node that is there has a duty.
fn is_others(tx: &Tx<'_>, duty: &str, holder: &str) -> Result<bool> {
    let other = "SELECT 1 FROM duty JOIN node ON node.holder = duty.holder WHERE duty.name = ?1 AND duty.holder <> ?2";
    tx.exists(other, params![duty, holder])
}

fn take_duty(tx: &Tx<'_>, duty: &str, holder: &str) -> Result<bool> {
    if is_others(tx, duty, holder)? {
        return Ok(false);
    }
    let take = "INSERT INTO duty (name, holder) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET holder = ?2";
    tx.run(take, params![duty, holder])?;
    Ok(true)
}

/// For people: the machine and the process.
fn this_process() -> String {
    format!("process {} on {}", std::process::id(), host_name())
}
