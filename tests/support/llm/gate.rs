//! Holds an answer until a test lets it go.

use std::sync::Arc;

use tokio::sync::watch;

/// A gate that answers wait at. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(super) async fn opened(&self) {
        let mut gate = self.0.subscribe();
        gate.wait_for(|open| *open).await.expect("self keeps the sender alive");
    }
}
