//! What the calls of a turn have written so far, so that many calls write no more than their turn
//! may.
//!
//! A durable turn's account is in its journal and goes on after a crash; those of others are kept
//! here while they are recent. Calls of one turn that run at once each see what the others had
//! written before.

use crate::publish::TurnShare;
use cofferdam_core::id::TurnId;
use cofferdam_core::journal::JournalState;
use cofferdam_core::limits::ByteSize;
use cofferdam_core::lock::lock;
use std::collections::VecDeque;
use std::sync::Mutex;

#[cfg(test)]
mod tests;

/// Turns without a journal whose accounts are kept; of more, the oldest are forgotten.
const TURNS_KEPT_MAX: usize = 1024;

/// The accounts of all turns.
#[derive(Debug)]
pub(super) struct WriteQuota {
    limit: ByteSize,
    /// Of turns without a journal: the latest last.
    kept: Mutex<VecDeque<(TurnId, u64)>>,
}

impl WriteQuota {
    /// No turn has written anything yet; each may write `limit`.
    pub(super) fn new(limit: ByteSize) -> Self {
        Self { limit, kept: Mutex::default() }
    }

    /// What a call may still write of its turn's share. `earlier` is what the journal of a durable
    /// turn says.
    pub(super) fn share(&self, turn: &TurnId, earlier: Option<&JournalState>) -> TurnShare {
        let written = match earlier {
            Some(earlier) => earlier.written_bytes,
            None => lock(&self.kept).iter().find(|(kept, _)| kept == turn).map_or(0, |(_, bytes)| *bytes),
        };
        TurnShare { limit: self.limit, left: self.limit.0.saturating_sub(written) }
    }

    /// Enters what a call of a turn without a journal is about to publish.
    pub(super) fn enter(&self, turn: &TurnId, bytes: u64) {
        let mut kept = lock(&self.kept);
        let before = kept.iter().position(|(kept, _)| kept == turn).and_then(|at| kept.remove(at));
        let written = before.map_or(0, |(_, bytes)| bytes);
        if kept.len() == TURNS_KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((turn.clone(), written.saturating_add(bytes)));
    }
}
