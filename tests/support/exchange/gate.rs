//! Gates hold a request at a known point, so that a test can kill the client, or act in between.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::sync::watch;

use super::journal::RequestRecord;
use super::target::{Call, Target};

/// How long [`Gate::reached`] waits before it calls the test stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// The point at which a gate holds a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Received and recorded; nothing has happened yet.
    BeforeEffect,
    /// It took effect (the message exists, the offset is confirmed); no byte of the answer is sent.
    BeforeAnswer,
    /// Head and this many bytes of the body are sent (at the latest: all of the body).
    InBody(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Armed,
    Holding,
    Released,
    Discarded,
}

/// What becomes of a request once its gate opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Continue,
    Abandon,
}

/// The side of a gate that the server holds.
pub(crate) struct Slot {
    stage: watch::Sender<Stage>,
    request: Mutex<Option<RequestRecord>>,
}

impl Slot {
    /// Holds the request until the test opens the gate.
    pub(crate) async fn hold(&self, record: &RequestRecord) -> Passage {
        *self.request.lock().unwrap_or_else(PoisonError::into_inner) = Some(record.clone());
        self.stage.send_if_modified(|stage| {
            let armed = *stage == Stage::Armed;
            *stage = if armed { Stage::Holding } else { *stage };
            armed
        });
        let mut stages = self.stage.subscribe();
        let opened = stages.wait_for(|stage| matches!(stage, Stage::Released | Stage::Discarded));
        match opened.await.as_deref() {
            Ok(Stage::Discarded) => Passage::Abandon,
            _ => Passage::Continue,
        }
    }

    fn is_armed(&self) -> bool {
        *self.stage.borrow() == Stage::Armed
    }
}

/// Holds one request, the first that its target chooses. Dropping it releases the request.
///
/// A held request no longer depends on its client: like the real server, which has received it,
/// this one lets it take effect after the release even where the client has died meanwhile. To undo
/// it altogether, [`discard`](Gate::discard) it.
#[must_use = "a dropped gate holds nothing"]
pub struct Gate {
    slot: Arc<Slot>,
}

impl Gate {
    /// Waits until a request is held, and returns it.
    ///
    /// # Errors
    /// After a minute without one.
    pub async fn reached(&self) -> anyhow::Result<RequestRecord> {
        let mut stages = self.slot.stage.subscribe();
        let held = stages.wait_for(|stage| *stage != Stage::Armed);
        let waited = tokio::time::timeout(PATIENCE, held).await;
        ensure!(waited.is_ok(), "no request reached the gate within {PATIENCE:?}");
        let request = self.slot.request.lock().unwrap_or_else(PoisonError::into_inner);
        request.clone().context("the gate was opened before a request came")
    }

    /// Whether a request is held right now.
    pub fn is_holding(&self) -> bool {
        *self.slot.stage.borrow() == Stage::Holding
    }

    /// Lets the request continue.
    pub fn release(self) {}

    /// Closes the request's connection: before its effect, it never happens; after it, the client
    /// never hears of it.
    pub fn discard(self) {
        self.slot.stage.send_replace(Stage::Discarded);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.slot.stage.send_if_modified(|stage| {
            let open = *stage == Stage::Discarded;
            *stage = if open { *stage } else { Stage::Released };
            !open
        });
    }
}

/// The gates that wait for a request.
#[derive(Default)]
pub(crate) struct GateBook {
    waiting: Vec<(Target, Hold, Arc<Slot>)>,
}

impl GateBook {
    pub(crate) fn add(&mut self, target: Target, hold: Hold) -> Gate {
        let slot = Slot { stage: watch::Sender::new(Stage::Armed), request: Mutex::new(None) };
        let slot = Arc::new(slot);
        self.waiting.push((target, hold, Arc::clone(&slot)));
        Gate { slot }
    }

    /// Takes the first waiting gate for this call at a point that `point` accepts.
    pub(crate) fn take(&mut self, call: &Call, point: impl Fn(Hold) -> bool) -> Option<(Hold, Arc<Slot>)> {
        self.waiting.retain(|(_, _, slot)| slot.is_armed());
        let index = self
            .waiting
            .iter()
            .position(|(target, hold, _)| point(*hold) && target.matches(&call.kind, &call.params))?;
        let (_, hold, slot) = self.waiting.remove(index);
        Some((hold, slot))
    }
}
