//! The gateway, version 10: sessions that outlive connections, and what a test makes of both.

mod compress;
mod connection;
mod payload;
mod record;
mod session;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::params;
use crate::exchange::Answer;

pub(super) use connection::converse;
pub(super) use payload::{invalid_session, reason as close_reason};
pub use record::{Closed, GatewayConnection, Heartbeat};
pub(super) use session::Session;

/// What a session must have asked for to get an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Guilds,
    GuildMessages,
    DirectMessages,
    /// Everybody gets it.
    None,
}

impl Intent {
    fn is_in(self, asked: u64) -> bool {
        match self {
            Self::Guilds => asked & 1 != 0,
            Self::GuildMessages => asked & (1 << 9) != 0,
            Self::DirectMessages => asked & (1 << 12) != 0,
            Self::None => true,
        }
    }
}

/// The privileged intent for the content of messages.
pub(super) const MESSAGE_CONTENT: u64 = 1 << 15;
/// The other privileged intents: members and presences.
const OTHER_PRIVILEGED: u64 = 1 << 1 | 1 << 8;
/// Bits that are intents: of the first 28 those that were given a meaning.
const KNOWN_INTENTS: u64 = 0x0331_FFFF;

/// Something for one connection beside the events of its session.
#[derive(Clone, Debug)]
pub(super) enum Control {
    /// A payload, or any text in its place.
    Text(String),
    /// A close frame.
    Close(u16, &'static str),
    /// The connection ends without a close frame.
    Drop,
}

/// What a connection is to send.
#[derive(Default)]
struct Outgoing {
    controls: Vec<Control>,
    events: Vec<Arc<str>>,
    /// The new place in the log; `None` without a session.
    cursor: Option<usize>,
    /// Whether another connection has taken the session.
    displaced: bool,
}

/// `session_start_limit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartLimit {
    pub(super) remaining: u32,
    pub(super) reset_after: Duration,
}

/// Sessions, connections, and how they are to behave.
pub(super) struct Gateway {
    pub(super) url: String,
    /// `resume_gateway_url` of READY; absent where a test took it out.
    pub(super) resume_url: Option<String>,
    pub(super) interval: Duration,
    pub(super) limit: StartLimit,
    pub(super) withholds_acks: bool,
    pub(super) withholds_hello: bool,
    pub(super) withholds_sessions: bool,
    /// Intents that are refused, with this code.
    pub(super) refused_intents: u64,
    /// Closes instead of an answer to the next identifies.
    pub(super) refusals: Vec<u16>,
    /// How far identifies must be apart, and when the last one was taken.
    pub(super) pace: Option<Duration>,
    identified: Option<Instant>,
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) connections: Vec<GatewayConnection>,
    /// What is still to be sent, by the number of the connection.
    controls: BTreeMap<usize, Vec<Control>>,
}

impl Gateway {
    pub(super) fn new(url: &str, resume_url: &str) -> Self {
        Self {
            url: url.to_owned(),
            resume_url: Some(resume_url.to_owned()),
            interval: Duration::from_millis(41_250),
            limit: StartLimit { remaining: 1000, reset_after: Duration::from_secs(24 * 60 * 60) },
            withholds_acks: false,
            withholds_hello: false,
            withholds_sessions: false,
            refused_intents: OTHER_PRIVILEGED,
            refusals: Vec::new(),
            pace: None,
            identified: None,
            sessions: BTreeMap::new(),
            connections: Vec::new(),
            controls: BTreeMap::new(),
        }
    }

    /// The answer of `GET /gateway/bot`.
    pub(super) fn address(&self) -> Value {
        json!({
            "url": self.url,
            "shards": 1,
            "session_start_limit": {
                "total": 1000,
                "remaining": self.limit.remaining,
                "reset_after": u64::try_from(self.limit.reset_after.as_millis()).unwrap_or(u64::MAX),
                "max_concurrency": 1,
            },
        })
    }

    /// The answer to a WebSocket handshake.
    pub(super) fn accept(&self, call: &Map<String, Value>) -> Answer {
        let key = params::text(call, "sec-websocket-key");
        let sound = STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16);
        if !sound || params::text(call, "sec-websocket-version") != "13" {
            return Answer::new(400, "text/plain", "Bad Request");
        }
        Answer::new(101, "text/plain", "")
            .with_header("Upgrade", "websocket".to_owned())
            .with_header("Sec-WebSocket-Accept", derive_accept_key(key.as_bytes()))
    }

    /// Appends an event to every session that asked for its kind.
    pub(super) fn dispatch(&mut self, name: &str, intent: Intent, data: &Value) {
        for session in self.sessions.values_mut().filter(|session| intent.is_in(session.intents)) {
            session.append(name, data);
        }
    }

    /// As [`dispatch`](Self::dispatch), with another message for those who may not see its content.
    pub(super) fn dispatch_message(&mut self, name: &str, intent: Intent, full: &Value, hidden: &Value) {
        for session in self.sessions.values_mut().filter(|session| intent.is_in(session.intents)) {
            let sees = session.intents & MESSAGE_CONTENT != 0;
            session.append(name, if sees { full } else { hidden });
        }
    }

    /// The open connections, oldest first.
    pub(super) fn open(&self) -> Vec<usize> {
        let open = self.connections.iter().filter(|connection| connection.closed.is_none());
        open.map(|connection| connection.number).collect()
    }

    /// Sends this on every open connection.
    pub(super) fn control(&mut self, control: &Control) {
        for number in self.open() {
            self.control_one(number, control.clone());
        }
    }

    fn control_one(&mut self, number: usize, control: Control) {
        self.controls.entry(number).or_default().push(control);
    }

    fn add_connection(&mut self, call: &Map<String, Value>) -> usize {
        let number = self.connections.len();
        let given = |name: &&str| call.contains_key(*name);
        let query = ["v", "encoding", "compress"].into_iter().filter(given);
        let query = query.map(|name| (name.to_owned(), params::text(call, name).to_owned())).collect();
        self.connections.push(GatewayConnection {
            number,
            at: Instant::now(),
            host: params::text(call, "host").to_owned(),
            path: params::text(call, "path").to_owned(),
            query,
            identify: None,
            resume: None,
            session: None,
            established: false,
            heartbeats: Vec::new(),
            payloads: Vec::new(),
            closed: None,
            times: Vec::new(),
            from: 0,
        });
        number
    }

    /// Notes how a connection ended: a client that closes with 1000 or 1001 ends its session, and
    /// so does the server with the codes after which a new one is to be begun, or none.
    fn end_connection(&mut self, number: usize, closed: Closed) {
        let connection = &mut self.connections[number];
        connection.closed = Some(closed);
        self.controls.remove(&number);
        let ends = matches!(
            closed,
            Closed::ByClient(None | Some(1000 | 1001)) | Closed::ByServer(4004 | 4007 | 4009..=4014)
        );
        if let Some(session) = connection.session.as_ref().filter(|_| ends) {
            self.sessions.remove(session);
        }
    }

    /// A connection has a session now, from this place of its log on.
    fn attach(&mut self, number: usize, session: &str, from: usize) {
        let connection = &mut self.connections[number];
        connection.session = Some(session.to_owned());
        connection.from = from;
        connection.established = true;
    }

    /// Takes their sessions from all connections, which stay open: they may identify or resume.
    pub(super) fn detach_all(&mut self) {
        for connection in &mut self.connections {
            connection.session = None;
        }
    }

    /// The session of a connection, and from where on its events are still to be sent.
    fn pending(&self, number: usize, cursor: Option<usize>) -> Option<(&Session, usize)> {
        let connection = &self.connections[number];
        let session = self.sessions.get(connection.session.as_ref()?)?;
        Some((session, cursor.unwrap_or(connection.from)))
    }

    fn has_outgoing(&self, number: usize, cursor: Option<usize>) -> bool {
        let news = |(session, from): (&Session, usize)| session.log.len() > from || session.owner != number;
        self.controls.contains_key(&number) || self.pending(number, cursor).is_some_and(news)
    }

    /// What a connection is to send, and its place in the log after it.
    fn take_outgoing(&mut self, number: usize, cursor: Option<usize>) -> Outgoing {
        let controls = self.controls.remove(&number).unwrap_or_default();
        let mut outgoing = Outgoing { controls, ..Outgoing::default() };
        if let Some((session, from)) = self.pending(number, cursor) {
            outgoing.displaced = session.owner != number;
            if !outgoing.displaced {
                outgoing.events = session.log[from..].iter().map(|(_, text)| Arc::clone(text)).collect();
                outgoing.cursor = Some(session.log.len());
            }
        }
        outgoing
    }

    /// The connections, a line each, for whoever reads a failed test.
    pub(super) fn summary(&self) -> impl Iterator<Item = String> {
        self.connections.iter().map(|one| {
            let (identified, resumed) = (one.identify.is_some(), one.resume.is_some());
            format!(
                "  gateway connection {} at {}: identified {identified}, resumed {resumed}, established {}, \
                 {} heartbeats, {:?}",
                one.number,
                one.host,
                one.established,
                one.heartbeats.len(),
                one.closed
            )
        })
    }
}
