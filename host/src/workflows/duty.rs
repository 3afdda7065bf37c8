//! Which of several nodes carries runs out.

use anyhow::Context as _;
use cofferdam_store::Store;
use cofferdam_warden::calls::{SETTLE_WAIT, Warden};
use std::time::Duration;

/// The duty of the node that does.
const DUTY: &str = "workflows";

/// How long after a failure the audit is settled again.
const AGAIN: Duration = Duration::from_secs(1);

/// Returns once this node carries runs out, and the audit of those that did and are gone is settled:
/// a run that goes on asks it which of its calls have landed.
pub(super) async fn take(store: &Store, warden: impl Fn() -> Warden) {
    let mut woken = store.woken();
    loop {
        match store.try_duty(DUTY).await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "which node carries runs out cannot be looked up"),
        }
        if woken.changed().await.is_err() {
            return;
        }
    }
    while store.is_shared() {
        match settle(store, warden()).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, "runs of workflows wait until the audit is settled"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn settle(store: &Store, warden: Warden) -> anyhow::Result<()> {
    let (there, homes) = (store.load_nodes().await?, store.other_homes().await?);
    let is_gone = move |node: &str| !there.contains(node) && !homes.contains(node);
    let settle = move || warden.settle(&is_gone, SETTLE_WAIT);
    Ok(tokio::task::spawn_blocking(settle).await.context("the program stops")??)
}
