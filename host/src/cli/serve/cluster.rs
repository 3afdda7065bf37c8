//! Gateways that share a store in PostgreSQL: one of them serves, and the others stand by until it
//! ends or falls silent.

use super::cancelled_by_signals;
use crate::config::Config;
use crate::gateway::{self, GatewayError, ServeLock, Watching};
use anyhow::Context as _;
use cofferdam_store::{NodeRow, Store, StoreError};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How often a node that stands by looks whether it is wanted.
const LOOKED_EVERY: Duration = Duration::from_secs(1);

/// The store of a node that serves from now on.
pub(super) struct ServingNode {
    pub(super) store: Store,
    pub(super) _lock: ServeLock,
    /// What ends the process, where it stood by.
    pub(super) stop: Option<CancellationToken>,
}

/// Opens the store, and stands by for as long as another node serves; none where a signal ends that.
///
/// # Errors
/// [`StoreError`], also when another process runs this node.
pub(super) fn serve_or_stand_by(
    config: &Config,
    runtime: &Runtime,
    watching: &Watching,
) -> anyhow::Result<Option<ServingNode>> {
    let node = gateway::cluster_node(config)?;
    let store = Store::open(&config.store.location).context("cannot open the database")?;
    store.join(&node)?;
    let (mut stop, mut told) = (None, String::new());
    let mut tell = |said: String| {
        if told != said {
            crate::cli::tell(&said);
            told = said;
        }
    };
    loop {
        match store.try_serve() {
            Ok(None) => match ServeLock::take(config) {
                Ok(lock) => {
                    watching.end_standby();
                    return Ok(Some(ServingNode { store, _lock: lock, stop }));
                }
                // What it is at is finished by nobody else.
                Err(GatewayError::Locked(_)) => {
                    let pid = gateway::find_serving_process(config).map(|pid| format!(", process {pid},"));
                    tell(format!(
                        "waiting to take over: the node before{} is silent and has not ended; kill it if it stands still",
                        pid.unwrap_or_default()
                    ));
                }
                Err(error) => return Err(error.into()),
            },
            Ok(Some(NodeRow { name, who, .. })) => {
                watching.begin_standby();
                tell(format!("node {} stands by: node {name} serves ({who})", node.name));
            }
            Err(error @ (StoreError::TakenOver | StoreError::OtherState(_))) => {
                let _ = store.leave();
                return Err(error.into());
            }
            Err(error) => tell(format!("node {} cannot look who serves: {error}", node.name)),
        }
        if wait(runtime, &mut stop)? {
            let _ = store.leave();
            return Ok(None);
        }
    }
}

/// Waits until it is time to look again; whether a signal ended that.
fn wait(runtime: &Runtime, stop: &mut Option<CancellationToken>) -> anyhow::Result<bool> {
    runtime.block_on(async {
        let stop = match stop {
            Some(stop) => stop,
            // Until here a signal ends the process by itself.
            None => stop.insert(cancelled_by_signals()?),
        };
        let waited = tokio::time::timeout(LOOKED_EVERY, stop.cancelled()).await;
        Ok(waited.is_ok())
    })
}
