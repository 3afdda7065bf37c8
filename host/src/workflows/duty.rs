//! Which of several nodes looks after runs: it begins those that are due, ends waits, tells ends.

use cofferdam_store::{Presence, RunsToGoOn, Store, StoreError};
use cofferdam_warden::calls::{SETTLE_LOOK, Warden};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The duty of the node that does.
const DUTY: &str = "workflows";
/// How long after a failure the audit is settled again: nobody publishes here meanwhile.
const AGAIN: Duration = Duration::from_secs(2);
/// How often it is said again that runs wait.
const SAID_EVERY: Duration = Duration::from_secs(5 * 60);

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
    /// When it was said last that they wait.
    said: Option<Instant>,
}

impl UnsettledRuns {
    /// Settles the audit of the nodes that are gone and whose files are here, where that is to be
    /// done, and notes for `status` which runs wait. Runs that are carried out wait for no audit.
    pub(super) async fn settle(
        &mut self,
        store: &Store,
        warden: Warden,
        carried: &BTreeSet<String>,
        presence: &Arc<Presence>,
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
        let settled = tokio::task::spawn_blocking(settle).await;
        let held = match settled.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(()) => {
                (self.waiting, self.said) = (None, None);
                Vec::new()
            }
            Err(error) => {
                let left = store.runs_in_calls().await?;
                if is_new {
                    self.waiting = Some(left.difference(carried).cloned().collect());
                }
                if let Some(runs) = self.name_waiting(is_new, &left) {
                    tracing::warn!(
                        error,
                        runs,
                        "runs that had begun a call wait until the audit is settled; workflow cancel ends one"
                    );
                }
                self.find_held(&left)
            }
        };
        let presence = presence.clone();
        let _ = tokio::task::spawn_blocking(move || presence.note_held_runs(held)).await;
        (self.of, self.tried) = (Some(here), Some(Instant::now()));
        Ok(())
    }

    /// Of the runs that waited those that nobody has ended meanwhile; `left` has all of these.
    fn find_held(&self, left: &BTreeSet<String>) -> Vec<String> {
        self.waiting.iter().flatten().filter(|run| left.contains(*run)).cloned().collect()
    }

    /// The runs that wait, where that is to be said now: at first, and every few minutes as long as
    /// there are some.
    fn name_waiting(&mut self, is_new: bool, left: &BTreeSet<String>) -> Option<String> {
        let waiting = self.find_held(left);
        let is_due = !waiting.is_empty() && self.said.is_none_or(|said| said.elapsed() >= SAID_EVERY);
        if !is_new && !is_due {
            return None;
        }
        let named = if waiting.is_empty() { "none".to_owned() } else { waiting.join(", ") };
        self.said = Some(Instant::now());
        Some(named)
    }

    /// Those of the runs that go on now.
    pub(super) fn settled(&self, due: RunsToGoOn) -> Vec<String> {
        // What has come with the files of another node just now waits for its audit.
        if due.nodes.is_some() && !self.is_of(&due.nodes) {
            return Vec::new();
        }
        due.runs.into_iter().filter(|run| !self.has(run)).collect()
    }

    /// Whether runs of these nodes, as [`Store::settled_here`] has them, were looked at.
    fn is_of(&self, here: &Option<BTreeSet<String>>) -> bool {
        self.of.as_ref() == Some(here)
    }

    /// Whether a run has to wait.
    fn has(&self, run: &str) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.contains(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(names: &[&str]) -> Option<BTreeSet<String>> {
        Some(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn runs_that_wait_are_named_at_first_and_every_few_minutes() {
        let both = BTreeSet::from(["w-1".to_owned(), "w-2".to_owned()]);
        let mut unsettled = UnsettledRuns { waiting: Some(both.clone()), ..UnsettledRuns::default() };
        let pass = |unsettled: &mut UnsettledRuns| {
            unsettled.said = unsettled.said.and_then(|said| said.checked_sub(SAID_EVERY));
        };
        assert_eq!(unsettled.name_waiting(true, &both).as_deref(), Some("w-1, w-2"));
        assert_eq!(unsettled.name_waiting(false, &both), None, "with each try it would be too often");
        pass(&mut unsettled);
        assert_eq!(unsettled.name_waiting(false, &both).as_deref(), Some("w-1, w-2"));
        // Somebody cancels one, then the other.
        pass(&mut unsettled);
        let one = BTreeSet::from(["w-2".to_owned()]);
        assert_eq!(unsettled.name_waiting(false, &one).as_deref(), Some("w-2"));
        pass(&mut unsettled);
        assert_eq!(unsettled.name_waiting(false, &BTreeSet::new()), None);
        // Where none waits the audit alone is told of, once.
        let mut unsettled = UnsettledRuns { waiting: Some(BTreeSet::new()), ..UnsettledRuns::default() };
        assert_eq!(unsettled.name_waiting(true, &both).as_deref(), Some("none"));
        unsettled.said = None;
        assert_eq!(unsettled.name_waiting(false, &both), None);
    }

    #[test]
    fn runs_of_nodes_that_were_not_looked_at_are_told_apart() {
        let mut unsettled = UnsettledRuns::default();
        assert!(!unsettled.is_of(&None) && !unsettled.is_of(&nodes(&["a"])), "nothing was looked at");
        unsettled.of = Some(nodes(&["a"]));
        assert!(unsettled.is_of(&nodes(&["a"])));
        assert!(!unsettled.is_of(&nodes(&["a", "b"])) && !unsettled.is_of(&None), "files have come since");
    }

    #[test]
    fn no_run_goes_on_that_may_have_come_with_the_files_of_a_node_that_was_not_looked_at() {
        let runs = || vec!["w-1".to_owned(), "w-2".to_owned()];
        let due = |nodes| RunsToGoOn { runs: runs(), nodes };
        let waiting = Some(BTreeSet::from(["w-1".to_owned()]));
        let unsettled = UnsettledRuns { of: Some(nodes(&["a"])), waiting, ..UnsettledRuns::default() };
        assert_eq!(unsettled.settled(due(nodes(&["a"]))), ["w-2"], "the other one waits");
        let come_since = unsettled.settled(due(nodes(&["a", "b"])));
        assert!(come_since.is_empty(), "nobody knows whose they are: {come_since:?}");
        let unsettled = UnsettledRuns::default();
        let unknown = unsettled.settled(due(nodes(&["a"])));
        assert!(unknown.is_empty(), "nothing was looked at: {unknown:?}");
        assert_eq!(unsettled.settled(due(None)), runs(), "no files come to a node that shares them");
    }
}
