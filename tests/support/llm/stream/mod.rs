//! The events of an answer, as each API streams them.

mod anthropic;
mod chat;
mod responses;

use serde_json::Value;

use super::dialect::Dialect;
use super::script::{Answer, Call};

/// The whole stream, event by event. `number` is the request's, so that no two answers share an id.
pub(super) fn events(dialect: Dialect, answer: &Answer, number: usize) -> Vec<String> {
    match dialect {
        Dialect::Chat => chat::events(answer, number),
        Dialect::Anthropic => anthropic::events(answer, number),
        Dialect::Responses => responses::events(answer, number),
    }
}

/// An error in the middle of a stream.
pub(super) fn error(dialect: Dialect, kind: &str) -> String {
    let error = dialect.error_of(kind, "as the test wants it");
    match dialect {
        Dialect::Chat => data(&error),
        Dialect::Anthropic => named("error", &error),
        Dialect::Responses => named(
            "error",
            &serde_json::json!({ "type": "error", "code": kind, "message": "as the test wants it", "param": null }),
        ),
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// A text in so many pieces, none empty; fewer where it has fewer characters.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let size = chars.len().div_ceil(count.max(1)).max(1);
    chars.chunks(size).map(|piece| piece.iter().collect()).collect()
}

/// A call's id: the scripted one, or one of the server's.
fn id(call: &Call, prefix: &str, number: usize, index: usize) -> String {
    call.id.clone().unwrap_or_else(|| format!("{prefix}_{number}_{index}"))
}

/// The calls' pieces in the order in which they go out: one of each call in turn.
fn interleaved(calls: &[Call]) -> Vec<(usize, String)> {
    let all: Vec<Vec<String>> = calls.iter().map(|call| pieces(&call.arguments, call.pieces)).collect();
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..longest).flat_map(|round| {
        all.iter().enumerate().filter_map(move |(index, pieces)| Some((index, pieces.get(round)?.clone())))
    });
    rounds.collect()
}
