//! Which of several nodes looks after runs: it begins those that are due, ends waits, tells ends.

use anyhow::Context as _;
use cofferdam_store::Store;
use cofferdam_warden::calls::{SETTLE_WAIT, Warden};
use std::time::Duration;

/// The duty of the node that does.
const DUTY: &str = "workflows";

/// How long after a failure the audit is settled again.
const AGAIN: Duration = Duration::from_secs(1);

/// Returns once this node looks after runs.
pub(super) async fn take(store: &Store) {
    let mut woken = store.woken();
    loop {
        match store.try_duty(DUTY).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "which node looks after runs cannot be looked up"),
        }
        if woken.changed().await.is_err() {
            return;
        }
    }
}

/// Returns once the audit is settled of the nodes that are gone and whose files are here: a run
/// that goes on asks it which of its calls have landed.
pub(super) async fn settle(store: &Store, warden: impl Fn() -> Warden) {
    while store.is_shared() {
        match settle_once(store, warden()).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "runs of workflows wait until the audit is settled"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn settle_once(store: &Store, warden: Warden) -> anyhow::Result<()> {
    let (there, here) = (store.load_nodes().await?, store.settled_here().await?);
    let is_gone =
        move |node: &str| !there.contains(node) && here.as_ref().is_none_or(|here| here.contains(node));
    let settle = move || warden.settle(&is_gone, SETTLE_WAIT);
    Ok(tokio::task::spawn_blocking(settle).await.context("the program stops")??)
}
