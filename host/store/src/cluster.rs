//! Nodes: the gateways that share a store in PostgreSQL. One of them serves, and the others stand
//! by; all of them have the same files.

use super::postgres::lease;
use super::{Engine, Store, StoreError, StoreLocation};
use std::time::Duration;

/// Letters of a node's name at most.
pub const NODE_NAME_MAX: usize = 64;
/// How long a silent node keeps its duty, when the configuration says nothing.
pub const LEASE: Duration = Duration::from_secs(10);
/// A node says three times in a lease that it is there; a shorter one would be lost by a pause.
pub const LEASE_LEAST: Duration = Duration::from_secs(3);
/// A longer one would leave people without an answer.
pub const LEASE_MAX: Duration = Duration::from_secs(600);

/// A gateway among those that share a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNode {
    /// Its name; one process of it runs at a time.
    pub name: String,
    /// Silent for so long it loses its duty to another one.
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
    /// What it does for all: `serve`, or nothing.
    pub duties: Vec<String>,
}

impl NodeRow {
    /// Whether it serves.
    pub fn serves(&self) -> bool {
        self.duties.iter().any(|duty| duty == "serve")
    }
}

impl Store {
    /// [`Store::open`] for a process that alone serves, and does not wait. With SQLite the lock of
    /// the state directory tells of others. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Served`] where another process says that it is there; [`Store::open`].
    pub fn open_to_serve(at: impl Into<StoreLocation>, node: &ClusterNode) -> Result<Self, StoreError> {
        let store = Self::open(at)?;
        store.join(node)?;
        let Some(other) = store.try_serve()? else { return Ok(store) };
        // It may have ended itself; then its row is left for a moment.
        let _ = store.leave();
        let Engine::Postgres(postgres) = &store.database.engine else { return Ok(store) };
        Err(StoreError::Served { server: postgres.server_name(), node: other.name, who: other.who })
    }

    /// Becomes this node. A process of it that may have died is waited for. With SQLite there is
    /// none to become. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Served`] where the other process says that it is there.
    pub fn join(&self, node: &ClusterNode) -> Result<(), StoreError> {
        let Engine::Postgres(postgres) = &self.database.engine else { return Ok(()) };
        postgres.join(node)?;
        lease::keep(self, node.lease)
    }

    /// Has the node that this process became serve: from then on it writes, and nobody else does.
    /// The node that serves meanwhile, if there is one. Blocks.
    ///
    /// # Errors
    /// [`StoreError::TakenOver`] after too long a silence; [`StoreError::OtherState`].
    pub fn try_serve(&self) -> Result<Option<NodeRow>, StoreError> {
        match &self.database.engine {
            Engine::Sqlite(_) => Ok(None),
            Engine::Postgres(postgres) => postgres.try_serve(),
        }
    }

    /// What ends once another node has taken the duty over. None in SQLite, where none can.
    pub fn taken_over(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let is_leased = matches!(self.database.engine, Engine::Postgres(_));
        is_leased.then(|| self.database.taken_over.clone().cancelled_owned())
    }

    /// Takes the node out, so that another one serves at once. Blocks.
    ///
    /// # Errors
    /// [`StoreError::TakenOver`] where another one serves already; any other means that it waits a
    /// moment.
    pub fn leave(&self) -> Result<(), StoreError> {
        match &self.database.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(postgres) => postgres.leave(),
        }
    }
}

/// The name of this machine.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
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
