//! What a test sees of a connection to the gateway.

use std::time::Instant;

use serde_json::Value;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The client sent a close frame, with this code if it has one.
    ByClient(Option<u16>),
    /// The server sent a close frame.
    ByServer(u16),
    /// It broke, or the server dropped it: without a close frame.
    Broken,
}

/// A heartbeat of the client.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeat {
    /// When it came.
    pub at: Instant,
    /// The last number that the client has seen.
    pub seq: Option<u64>,
}

/// One connection to the gateway.
#[derive(Clone, Debug)]
pub struct GatewayConnection {
    /// Counts from 0.
    pub number: usize,
    /// When it was opened.
    pub at: Instant,
    /// The `Host` that it was opened at: which address the client chose.
    pub host: String,
    /// The path that it was opened at.
    pub path: String,
    /// `v`, `encoding` and `compress` of the query, as given.
    pub query: Vec<(String, String)>,
    /// `d` of its identify.
    pub identify: Option<Value>,
    /// `d` of its resume.
    pub resume: Option<Value>,
    /// The session that it belongs to.
    pub session: Option<String>,
    /// Whether READY or RESUMED was sent.
    pub established: bool,
    /// Its heartbeats.
    pub heartbeats: Vec<Heartbeat>,
    /// Every payload that it sent, heartbeats too.
    pub payloads: Vec<Value>,
    /// How it ended; `None` while it is open.
    pub closed: Option<Closed>,
    /// When the payloads of the last minute came.
    pub(super) times: Vec<Instant>,
    /// Where in the log of its session it begins.
    pub(super) from: usize,
}
