//! What a server knows, behind one lock, and the notification that something changed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::bail;
use tokio::sync::watch;

/// What is said of a state where a wait failed.
pub(crate) trait Summary {
    /// The last things that happened, a line each.
    fn summary(&self) -> String;
}

/// A state that many look at and change.
pub(crate) struct Shared<T> {
    inner: Mutex<T>,
    changes: watch::Sender<()>,
}

impl<T: Summary> Shared<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner: Mutex::new(inner), changes: watch::Sender::new(()) }
    }

    /// Looks at the state.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the state and wakes everybody who waits for a change.
    pub(crate) fn change<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        let result = act(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_replace(());
        result
    }

    /// Subscribe before looking: a change between the two then still wakes.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Waits until `look` finds something; the error says what there was instead.
    pub(crate) async fn wait<R>(
        &self,
        what: &str,
        timeout: Duration,
        mut look: impl FnMut(&T) -> Option<R>,
    ) -> anyhow::Result<R> {
        let mut changes = self.changes();
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
            Err(_) => bail!("no {what} within {timeout:?}; so far:\n{}", self.read(Summary::summary)),
        }
    }
}
