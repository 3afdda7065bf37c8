//! The queue of updates and `getUpdates`: offsets confirm, long polls wake at once, and of two
//! pollers the earlier one loses.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::error::ApiError;
use super::params;
use super::state::State;

/// Longest long poll, in seconds; more is cut, as by the real server.
const MAX_POLL_SECONDS: i64 = 50;
/// Most updates of one answer.
const MAX_BATCH: i64 = 100;

/// One queued update. It is text, so that it may be anything, valid or not.
struct Queued {
    id: i64,
    text: Arc<str>,
    /// A duplicate: it goes out once, whatever the offset says.
    regardless: bool,
}

/// All updates that nobody has confirmed, in the order of delivery.
pub(super) struct UpdateQueue {
    queue: VecDeque<Queued>,
    /// Everything that was ever queued, for duplicates.
    known: BTreeMap<i64, Arc<str>>,
    next_id: i64,
    /// Counts the polls: whoever sees it move has been replaced.
    polls: u64,
    /// The last `allowed_updates`. They are recorded and do not filter: a test decides what
    /// arrives.
    pub(super) allowed: Option<Value>,
}

impl Default for UpdateQueue {
    fn default() -> Self {
        let (queue, known) = (VecDeque::new(), BTreeMap::new());
        Self { queue, known, next_id: 700_000_001, polls: 0, allowed: None }
    }
}

impl UpdateQueue {
    /// The id for an update: the wanted one, or the next.
    pub(super) fn claim_id(&mut self, wanted: Option<i64>) -> i64 {
        let id = wanted.unwrap_or(self.next_id);
        self.next_id = self.next_id.max(id.saturating_add(1));
        id
    }

    pub(super) fn push(&mut self, id: i64, text: impl Into<Arc<str>>) {
        let text = text.into();
        self.known.insert(id, Arc::clone(&text));
        self.queue.push_back(Queued { id, text, regardless: false });
    }

    /// Queues a known update once more; false if it is not known.
    pub(super) fn push_again(&mut self, id: i64) -> bool {
        let Some(text) = self.known.get(&id) else { return false };
        self.queue.push_back(Queued { id, text: Arc::clone(text), regardless: true });
        true
    }

    /// The ids that no offset has confirmed, in the order of delivery; duplicates do not count.
    pub(super) fn unconfirmed(&self) -> Vec<i64> {
        self.queue.iter().filter(|update| !update.regardless).map(|update| update.id).collect()
    }

    pub(super) fn clear(&mut self) {
        self.queue.clear();
    }

    /// A positive offset confirms everything below it, a negative one everything but the last ones.
    fn confirm(&mut self, offset: i64) {
        if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let forgotten = self.queue.len().saturating_sub(keep);
            self.queue.drain(..forgotten);
        } else {
            self.queue.retain(|update| update.regardless || update.id >= offset);
        }
    }

    /// So many at most, in the order of queueing, and those with the lowest ids, duplicates too:
    /// the offset that confirms what is in here must not confirm what was kept back.
    fn batch(&mut self, limit: usize) -> Vec<Arc<str>> {
        let mut positions: Vec<usize> = (0..self.queue.len()).collect();
        positions.sort_by_key(|at| self.queue[*at].id);
        positions.truncate(limit);
        positions.sort_unstable();
        let batch = positions.iter().map(|at| Arc::clone(&self.queue[*at].text)).collect();
        let mut position = 0;
        self.queue.retain(|update| {
            position += 1;
            !update.regardless || positions.binary_search(&(position - 1)).is_err()
        });
        batch
    }
}

/// `getUpdates`; the JSON text of the array comes back.
pub(super) async fn get_updates(state: &State, params: &Map<String, Value>) -> Result<String, ApiError> {
    let offset = params::integer(params, "offset")?.unwrap_or(0);
    let limit = params::integer(params, "limit")?.unwrap_or(MAX_BATCH).clamp(1, MAX_BATCH);
    let limit = usize::try_from(limit).expect("a number from 1 to 100");
    let timeout = params::integer(params, "timeout")?.unwrap_or(0).clamp(0, MAX_POLL_SECONDS);
    let allowed = params::structured(params, "allowed_updates")?;
    let deadline = Instant::now() + Duration::from_secs(timeout.unsigned_abs());
    let mut changes = state.changes();
    let poll = state.change(|inner| {
        if inner.bot.webhook.is_some() {
            return Err(ApiError::conflict(
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete \
                 the webhook first",
            ));
        }
        inner.updates.confirm(offset);
        inner.updates.allowed = allowed.or(inner.updates.allowed.take());
        inner.updates.polls += 1;
        Ok(inner.updates.polls)
    })?;
    loop {
        let (replaced, webhook, idle) = state.read(|inner| {
            let updates = &inner.updates;
            (updates.polls != poll, inner.bot.webhook.is_some(), updates.queue.is_empty())
        });
        if replaced {
            return Err(ApiError::other_poller());
        }
        if webhook {
            return Err(ApiError::conflict("terminated by setWebhook request"));
        }
        if !idle || Instant::now() >= deadline {
            let batch = state.change(|inner| inner.updates.batch(limit));
            return Ok(format!("[{}]", batch.join(",")));
        }
        tokio::select! {
            changed = changes.changed() => changed.expect("the state outlives its requests"),
            () = tokio::time::sleep_until(deadline) => {}
        }
    }
}
