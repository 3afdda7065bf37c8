//! Which of several nodes looks after runs: it begins those that are due, ends waits, tells ends.

use cofferdam_store::{Store, StoreError};
use cofferdam_warden::calls::{SETTLE_LOOK, Warden};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The duty of the node that does.
const DUTY: &str = "workflows";
/// How long after a failure the audit is settled again: nobody publishes here meanwhile.
const AGAIN: Duration = Duration::from_secs(2);

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

/// The runs that wait until the audit of nodes that are gone is settled: a run that goes on asks it
/// which of its calls have landed.
#[derive(Default)]
pub(super) struct UnsettledRuns {
    /// The nodes whose audit was to be settled last, as [`Store::settled_here`] has them.
    of: Option<Option<BTreeSet<String>>>,
    /// What had begun a call when it could not be settled, and is not carried out here; none where
    /// it is settled.
    waiting: Option<BTreeSet<String>>,
    /// When that was tried last.
    tried: Option<Instant>,
}

impl UnsettledRuns {
    /// Settles the audit of the nodes that are gone and whose files are here, where that is still to
    /// be done. Runs that are carried out wait for no audit.
    pub(super) async fn settle(
        &mut self,
        store: &Store,
        warden: Warden,
        carried: &BTreeSet<String>,
    ) -> Result<(), StoreError> {
        let here = store.settled_here().await?;
        let is_new = self.of.as_ref() != Some(&here);
        let is_due = self.waiting.is_some() && self.tried.is_none_or(|tried| tried.elapsed() >= AGAIN);
        if !store.is_shared() || !(is_new || is_due) {
            return Ok(());
        }
        let (there, files) = (store.load_nodes().await?, here.clone());
        let is_gone = move |node: &str| {
            !there.contains(node) && files.as_ref().is_none_or(|files| files.contains(node))
        };
        let settle = move || warden.settle(&is_gone, SETTLE_LOOK).map_err(|error| error.to_string());
        match tokio::task::spawn_blocking(settle).await.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(()) => self.waiting = None,
            Err(error) if is_new => {
                tracing::warn!(error, "runs that had begun a call wait until the audit is settled");
                let left = store.runs_in_calls().await?;
                self.waiting = Some(left.difference(carried).cloned().collect());
            }
            Err(_) => {}
        }
        (self.of, self.tried) = (Some(here), Some(Instant::now()));
        Ok(())
    }

    /// Whether runs of these nodes, as [`Store::settled_here`] has them, were looked at.
    pub(super) fn is_of(&self, here: &Option<BTreeSet<String>>) -> bool {
        self.of.as_ref() == Some(here)
    }

    /// Whether a run has to wait.
    pub(super) fn has(&self, run: &str) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.contains(run))
    }
}
