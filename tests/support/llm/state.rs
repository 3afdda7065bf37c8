//! What the server knows, behind one lock, and the notification that something changed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use tokio::sync::watch;

use super::journal::RequestRecord;
use super::models::Shown;
use super::script::Turn;

/// Decides what comes of a request where the script is at its end.
pub(super) type Otherwise = Arc<dyn Fn(&RequestRecord) -> Turn + Send + Sync>;

/// Everything that the lock guards.
#[derive(Default)]
pub(super) struct Inner {
    pub(super) script: VecDeque<Turn>,
    pub(super) otherwise: Option<Otherwise>,
    pub(super) journal: Vec<RequestRecord>,
    pub(super) models: Shown,
    /// Requests that are remembered no longer.
    pub(super) forgotten: usize,
    /// Connections so far.
    pub(super) connections: usize,
    /// Requests without their whole answer.
    pub(super) under_way: usize,
}

/// Shared by the handles and the connections.
pub(super) struct State {
    pub(super) key: String,
    inner: Mutex<Inner>,
    changes: watch::Sender<()>,
}

impl State {
    pub(super) fn new(key: String) -> Self {
        Self { key, inner: Mutex::default(), changes: watch::Sender::new(()) }
    }

    /// Looks at the state.
    pub(super) fn read<R>(&self, look: impl FnOnce(&Inner) -> R) -> R {
        look(&self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state and wakes everybody who waits for a change.
    pub(super) fn change<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> R {
        let result = act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_replace(());
        result
    }

    /// Waits until `look` finds something; the error says what there was instead.
    pub(super) async fn wait<R>(
        &self,
        what: &str,
        timeout: Duration,
        mut look: impl FnMut(&Inner) -> Option<R>,
    ) -> anyhow::Result<R> {
        // Subscribed before looking: a change between the two then still wakes.
        let mut changes = self.changes.subscribe();
        let found = tokio::time::timeout(timeout, async {
            loop {
                if let Some(found) = self.read(&mut look) {
                    return found;
                }
                changes.changed().await.expect("self keeps the sender alive");
            }
        });
        match found.await {
            Ok(found) => Ok(found),
            Err(_) => bail!("no {what} within {timeout:?}; so far:\n{}", self.read(summary)),
        }
    }
}

/// The requests, for whoever reads a failed test.
fn summary(inner: &Inner) -> String {
    let lines = inner.journal.iter().map(|record| {
        let short: String = record.body.to_string().chars().take(300).collect();
        format!("  {} {} {short} {:?}", record.number, record.target, record.violation)
    });
    lines.chain([format!("  under way: {}", inner.under_way)]).collect::<Vec<_>>().join("\n")
}
