//! Sessions: what they asked for, and every event that they were sent.

use std::sync::Arc;

use serde_json::{Value, json};

/// One session. It outlives its connections until a client ends it or a test does.
pub(in crate::discord) struct Session {
    pub(super) intents: u64,
    /// Every event with its number.
    pub(super) log: Vec<(u64, Arc<str>)>,
    pub(super) seq: u64,
    /// The number of the connection that it belongs to.
    pub(super) owner: usize,
}

impl Session {
    pub(super) fn new(intents: u64, owner: usize) -> Self {
        Self { intents, log: Vec::new(), seq: 0, owner }
    }

    /// The number of the last event.
    pub(in crate::discord) fn last_seq(&self) -> u64 {
        self.seq
    }

    /// Appends an event.
    pub(super) fn append(&mut self, name: &str, data: &Value) {
        self.seq += 1;
        let text = json!({ "op": 0, "s": self.seq, "t": name, "d": data }).to_string();
        self.log.push((self.seq, text.into()));
    }

    /// Where in the log the events after this number begin; `None` for a number that was never
    /// reached.
    pub(super) fn after(&self, seq: u64) -> Option<usize> {
        (seq <= self.seq).then(|| self.log.partition_point(|(known, _)| *known <= seq))
    }
}
