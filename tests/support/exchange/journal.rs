//! Remembers every request in the order of arrival, and how many of a kind were under way at once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};

use super::fault::Effect;
use super::serve::{Api, Routed};
use super::target::{Kind, Target};
use crate::http::{Request, find_header};

/// Requests remembered; the oldest are forgotten beyond it, so that a long demo does not grow.
const MAX_RECORDS: usize = 100_000;
/// Requests that a failed wait lists.
const SUMMARY_LINES: usize = 20;

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct RequestRecord {
    /// Counts from 0 in the order of arrival, over all methods.
    pub number: u64,
    /// When the request was complete.
    pub at: Instant,
    /// `GET`, `POST` and so on.
    pub verb: String,
    /// The request target as sent: percent-encoded, with token and query.
    pub path: String,
    /// The API's method as the client wrote it, or the name of the route; `download` for a file,
    /// empty for anything else.
    pub method: String,
    /// The parameters of path, query and body, whatever their encoding was.
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
pub(crate) struct Journal {
    pub(crate) records: VecDeque<RequestRecord>,
    next_number: u64,
    /// For each kind, and for `None` over all: how many are under way, and the most there ever
    /// were.
    under_way: HashMap<Option<Kind>, (usize, usize)>,
}

impl Journal {
    /// Enters a request.
    pub(crate) fn enter(&mut self, request: &Request, routed: &Routed) -> RequestRecord {
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
    pub(crate) fn matching<'j>(&'j self, target: &'j Target) -> impl Iterator<Item = &'j RequestRecord> {
        self.records.iter().filter(|record| record.matches(target))
    }

    /// The remembered requests from this number on.
    pub(crate) fn since(&self, number: u64) -> impl Iterator<Item = &RequestRecord> {
        let forgotten = self.next_number - self.records.len() as u64;
        self.records.iter().skip(usize::try_from(number.saturating_sub(forgotten)).unwrap_or(usize::MAX))
    }

    /// The number of the next request.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// The last requests, a line each, for whoever reads a failed test.
    pub(crate) fn summary(&self) -> impl Iterator<Item = String> {
        self.records.iter().rev().take(SUMMARY_LINES).rev().map(|record| {
            let params = Value::Object(record.params.clone()).to_string();
            let short: String = params.chars().take(200).collect();
            format!("  request {} {} {short} -> {:?}", record.number, record.method, record.status)
        })
    }

    /// Notes the status that went out.
    pub(crate) fn answered(&mut self, number: u64, status: u16) {
        self.note(number, |record| record.status = Some(status));
    }

    /// Notes that a fault befalls a request.
    pub(crate) fn befalls(&mut self, number: u64, fault: Effect) {
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
    pub(crate) fn most_under_way(&self, kind: Option<Kind>) -> usize {
        self.under_way.get(&kind).map_or(0, |(_, most)| *most)
    }

    /// The requests of this kind that are under way now.
    pub(crate) fn under_way_now(&self, kind: &Kind) -> usize {
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
pub(crate) struct UnderWay<A: Api> {
    api: Arc<A>,
    kind: Kind,
}

impl<A: Api> UnderWay<A> {
    /// For a request that was just entered.
    pub(crate) fn new(api: Arc<A>, record: &RequestRecord) -> Self {
        Self { api, kind: record.kind.clone() }
    }
}

impl<A: Api> Drop for UnderWay<A> {
    fn drop(&mut self) {
        self.api.note(|known| known.journal.leave(&self.kind));
    }
}
