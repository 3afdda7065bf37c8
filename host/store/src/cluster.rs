//! Nodes: the gateways that share a store in PostgreSQL. All of them work, each on sessions of its
//! own; what is there once, such as polling a bot, one of them does. All have the same files,
//! or each has a workspace of its own ([homes](super::homes)).

use super::postgres::{Postgres, lease, listen};
use super::tx::Tx;
use super::value::params;
use super::{Result, Store, StoreError, StoreLocation};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::watch;

/// Letters of a node's name at most.
pub const NODE_NAME_MAX: usize = 64;
/// How long a silent node keeps its work, when the configuration says nothing.
pub const LEASE: Duration = Duration::from_secs(10);
/// A node says each second that it is there; a shorter lease would be lost by a pause.
pub const LEASE_LEAST: Duration = Duration::from_secs(3);
/// A longer one would leave people without an answer.
pub const LEASE_MAX: Duration = Duration::from_secs(600);

/// A gateway among those that share a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNode {
    /// Its name; one process of it runs at a time.
    pub name: String,
    /// Silent for so long it loses its work to others.
    pub lease: Duration,
    /// Names its state folder, which the nodes share: who takes over goes on with the files of the
    /// one before.
    pub state: String,
}

/// A node that is there.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NodeRow {
    /// Its name.
    #[serde(rename = "node")]
    pub name: String,
    /// Its process and machine, for people.
    #[serde(rename = "process")]
    pub who: String,
    /// What it does for all: `telegram-ID` and `discord-ID` are bots that it hears, `workflows` are
    /// runs.
    pub duties: Vec<String>,
}

/// How far the audits of nodes are, by what the store has of them: `SEQ:SHA256`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHeads {
    /// Of this node, if it has told any.
    pub own: Option<String>,
    /// Of the others, by node, also of those that are gone.
    pub others: BTreeMap<String, String>,
}

impl Store {
    /// [`Store::open`] for a process that wants the store for itself. With SQLite the lock of the
    /// state directory tells of others. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Served`] where a node says that it is there; [`Store::open`].
    pub fn open_alone(at: impl Into<StoreLocation>, node: &ClusterNode) -> Result<Self> {
        let store = Self::open(at)?;
        store.join(node)?;
        let Some(postgres) = store.postgres() else { return Ok(store) };
        let Some(NodeRow { name, who, .. }) = postgres.try_alone()? else { return Ok(store) };
        // It may have ended itself; then its row is left for a moment.
        let _ = store.leave();
        Err(StoreError::Served { server: postgres.server_name(), node: name, who })
    }

    /// Becomes this node. A process of it that may have died is waited for. With SQLite there is
    /// none to become. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Served`] where the other process says that it is there;
    /// [`StoreError::OtherState`].
    pub fn join(&self, node: &ClusterNode) -> Result<()> {
        let Some(postgres) = self.postgres() else { return Ok(()) };
        postgres.join(node)?;
        listen::begin(self);
        lease::keep(self)
    }

    /// Whether several nodes share it.
    pub fn is_shared(&self) -> bool {
        self.postgres().is_some()
    }

    /// Takes what one node does for all, such as polling a bot, unless another node does it. It is
    /// had until this node ends or is taken out.
    pub async fn try_duty(&self, duty: &str) -> Result<bool> {
        let duty = duty.to_owned();
        let try_duty =
            move |store: &Self| store.postgres().map_or(Ok(true), |postgres| postgres.try_duty(&duty));
        self.run_blocking(try_duty).await
    }

    /// Tells the others how far this node's audit is, if there is something to tell, and learns how
    /// far theirs are. A head that is no later than the one that the store has is not taken: that
    /// one is in what is returned, and only a chain that was cut or changed does not hold it. None
    /// in SQLite.
    pub async fn exchange_heads(&self, own: Option<String>) -> Result<AuditHeads> {
        if let Some(own) = own.filter(|_| self.is_shared()) {
            // What is no head stands in no head's way.
            let tell = "INSERT INTO audit_head (node, head) VALUES (?1, ?2)
                 ON CONFLICT (node) DO UPDATE SET head = excluded.head
                 WHERE CASE WHEN audit_head.head ~ '^[0-9]{1,19}:[0-9a-f]{64}$' THEN
                     CAST(split_part(excluded.head, ':', 1) AS numeric)
                     > CAST(split_part(audit_head.head, ':', 1) AS numeric) ELSE true END";
            self.write(move |tx| tx.holder().map_or(Ok(()), |holder| tx.run(tell, [node_of(holder), &own])))
                .await?;
        }
        self.read(|tx| {
            let Some(holder) = tx.holder() else { return Ok(AuditHeads::default()) };
            let mut others = load_heads(tx)?;
            Ok(AuditHeads { own: others.remove(node_of(holder)), others })
        })
        .await
    }

    /// The names of the nodes that are there; none in SQLite.
    pub async fn load_nodes(&self) -> Result<BTreeSet<String>> {
        self.read(|tx| {
            let nodes = tx.holder().map_or(Ok(Vec::new()), |_| lease::nodes(tx))?;
            Ok(nodes.into_iter().map(|node| node.name).collect())
        })
        .await
    }

    /// Resolves each time when there may be work that another node has left, at least once a
    /// second; never in SQLite.
    pub fn woken(&self) -> watch::Receiver<()> {
        self.database.woken.subscribe()
    }

    /// Has all nodes look for work.
    pub async fn wake_nodes(&self) -> Result<()> {
        if self.is_shared() { self.write(wake).await } else { Ok(()) }
    }

    /// Whether no other node can have taken this one's work over by now, as far as is known here.
    /// Always in SQLite.
    pub fn has_lease(&self) -> bool {
        self.postgres().is_none_or(Postgres::has_lease) && !self.database.taken_over.is_cancelled()
    }

    /// Returns while this node [has its lease](Store::has_lease), and asks the server where that is
    /// not certain: before anything is done outside that another node may do as well. It costs
    /// nothing while it is certain.
    ///
    /// # Errors
    /// [`StoreError`], above all [`StoreError::TakenOver`].
    pub async fn ensure_lease(&self) -> Result<()> {
        if self.has_lease() { Ok(()) } else { self.settle().await }
    }

    /// Other nodes have taken this one out: it does nothing outside any more. Tests say so as well.
    pub fn note_taken_over(&self) {
        self.database.taken_over.cancel();
    }

    /// What ends once other nodes have taken this one out. Never in SQLite, where none can.
    pub fn taken_over(&self) -> impl Future<Output = ()> + Send + use<> {
        self.database.taken_over.clone().cancelled_owned()
    }

    /// Takes the node out, so that others take its work over at once. It does nothing outside from
    /// here on, as if they had taken it out. Blocks.
    ///
    /// # Errors
    /// [`StoreError::TakenOver`] where it was taken out already; any other means that they wait a
    /// moment.
    pub fn leave(&self) -> Result<()> {
        let Some(postgres) = self.postgres() else { return Ok(()) };
        // First: what has not ended here they may begin right after.
        self.note_taken_over();
        postgres.leave()
    }
}

/// How far the audit of each node was at most when it said so: `SEQ:SHA256`.
pub(super) fn load_heads(tx: &Tx<'_>) -> Result<BTreeMap<String, String>> {
    let heads =
        tx.query_rows("SELECT node, head FROM audit_head", params![], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(heads?.into_iter().collect())
}

/// Wakes those who listen, in PostgreSQL.
pub(super) const NOTIFY: &str = "SELECT 1 FROM pg_notify(current_schema(), '')";

/// Has all nodes look for work, once this transaction is done. They do in a second where the server
/// cannot wake them.
pub(super) fn wake(tx: &Tx<'_>) -> Result<()> {
    if tx.can_notify() && tx.holder().is_some() { tx.run(NOTIFY, params![]) } else { Ok(()) }
}

/// The name of this machine.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// The node that a holder is a process of.
pub fn node_of(holder: &str) -> &str {
    holder.split_once('/').map_or("", |(node, _)| node)
}

/// A name that nothing else has.
///
/// # Errors
/// Where the system has no random bytes.
pub fn new_name() -> std::io::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
