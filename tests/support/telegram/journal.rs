//! Remembers every request in the order of arrival, and how many of a kind were under way at once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};

use super::fault::Effect;
use super::route::Routed;
use super::state::State;
use super::target::{Kind, Target};
use crate::http::{Request, find_header};

/// Requests remembered; the oldest are forgotten beyond it, so that a long demo does not grow.
pub(super) const MAX_RECORDS: usize = 100_000;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// Counts from 0 in the order of arrival, over all methods.
    pub number: u64,
    /// When the request was complete.
    pub at: Instant,
    /// `GET` or `POST`.
    pub verb: String,
    /// The request target as sent: percent-encoded, with token and query.
    pub path: String,
    /// The method as the client wrote it; `download` for a file, empty for anything else.
    pub method: String,
    /// The parameters, whatever their encoding was.
    pub params: Map<String, Value>,
    /// The headers as sent.
    pub headers: Vec<(String, String)>,
    /// The HTTP status that went out; `None` while the request is held or waits, and where it was
    /// never answered.
    pub status: Option<u16>,
    /// Whether a fault befell it, and what became of what it asks for.
    pub fault: Option<Effect>,
    kind: Kind,
}

impl RequestRecord {
    /// The value of a header; names compare without case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }

    /// Whether this request is among those that the target chooses.
    pub fn matches(&self, target: &Target) -> bool {
        target.matches(&self.kind, &self.params)
    }
}

/// All requests so far.
#[derive(Default)]
pub(super) struct Journal {
    pub(super) records: VecDeque<RequestRecord>,
    next_number: u64,
    /// For each kind, and for `None` over all: how many are under way, and the most there ever were.
    under_way: HashMap<Option<Kind>, (usize, usize)>,
}

impl Journal {
    /// Enters a request.
    pub(super) fn enter(&mut self, request: &Request, routed: &Routed) -> RequestRecord {
        let record = RequestRecord {
            number: self.next_number,
            at: Instant::now(),
            verb: request.verb.clone(),
            path: request.target.clone(),
            method: routed.name.clone(),
            params: routed.call.params.clone(),
            headers: request.headers.clone(),
            status: None,
            fault: None,
            kind: routed.call.kind.clone(),
        };
        self.next_number += 1;
        if self.records.len() == MAX_RECORDS {
            self.records.pop_front();
        }
        self.records.push_back(record.clone());
        for key in [None, Some(record.kind.clone())] {
            let (now, most) = self.under_way.entry(key).or_default();
            *now += 1;
            *most = (*most).max(*now);
        }
        record
    }

    /// The remembered requests of a target.
    pub(super) fn matching<'j>(&'j self, target: &'j Target) -> impl Iterator<Item = &'j RequestRecord> {
        self.records.iter().filter(|record| record.matches(target))
    }

    /// The remembered requests from this number on.
    pub(super) fn since(&self, number: u64) -> impl Iterator<Item = &RequestRecord> {
        let forgotten = self.next_number - self.records.len() as u64;
        self.records.iter().skip(usize::try_from(number.saturating_sub(forgotten)).unwrap_or(usize::MAX))
    }

    /// The number of the next request.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Notes the status that went out.
    pub(super) fn answered(&mut self, number: u64, status: u16) {
        self.note(number, |record| record.status = Some(status));
    }

    /// Notes that a fault befalls a request.
    pub(super) fn befalls(&mut self, number: u64, fault: Effect) {
        self.note(number, |record| record.fault = Some(fault));
    }

    fn note(&mut self, number: u64, note: impl FnOnce(&mut RequestRecord)) {
        let from_last = self.next_number - number;
        let index = self.records.len().checked_sub(usize::try_from(from_last).unwrap_or(usize::MAX));
        if let Some(record) = index.and_then(|index| self.records.get_mut(index)) {
            note(record);
        }
    }

    /// The most requests of this kind (of all kinds for `None`) that were under way at once.
    pub(super) fn most_under_way(&self, kind: Option<Kind>) -> usize {
        self.under_way.get(&kind).map_or(0, |(_, most)| *most)
    }

    /// The requests of this kind that are under way now.
    pub(super) fn under_way_now(&self, kind: &Kind) -> usize {
        self.under_way.get(&Some(kind.clone())).map_or(0, |(now, _)| *now)
    }

    fn leave(&mut self, kind: &Kind) {
        for key in [None, Some(kind.clone())] {
            if let Some((now, _)) = self.under_way.get_mut(&key) {
                *now -= 1;
            }
        }
    }
}

/// Counts a request as under way until dropped, however its connection ends.
pub(super) struct UnderWay {
    state: Arc<State>,
    kind: Kind,
}

impl UnderWay {
    /// For a request that was just entered.
    pub(super) fn new(state: Arc<State>, record: &RequestRecord) -> Self {
        Self { state, kind: record.kind.clone() }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.state.change(|inner| inner.journal.leave(&self.kind));
    }
}
