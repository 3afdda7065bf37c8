//! Writes answers, faultlessly or as a fault distorts them. It decides nothing.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;

use super::fault::Wire;
use super::gate::{Passage, Slot};
use super::journal::RequestRecord;
use crate::http::Connection;

/// Most bytes of one write.
const PIECE_BYTES: usize = 64 * 1024;

/// The bytes of a body, real or made up as they are sent.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Bytes(Bytes),
    /// One byte, so many times: files larger than memory.
    Repeated(u8, u64),
}

impl Body {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Repeated(_, len) => *len,
        }
    }

    /// At most `PIECE_BYTES` bytes at `at`, blanks beyond the end.
    fn piece(&self, at: u64, len: u64) -> Bytes {
        let len = usize::try_from(len).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        match self {
            Self::Bytes(bytes) if at < bytes.len() as u64 => {
                let start = usize::try_from(at).expect("at lies within a slice");
                bytes.slice(start..bytes.len().min(start + len))
            }
            Self::Repeated(byte, end) if at < *end => {
                let left = usize::try_from(end - at).unwrap_or(usize::MAX);
                vec![*byte; len.min(left)].into()
            }
            _ => vec![b' '; len].into(),
        }
    }
}

/// One HTTP answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

impl Answer {
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::with_body(status, content_type, Body::Bytes(body.into()))
    }

    pub(crate) fn with_body(status: u16, content_type: &str, body: Body) -> Self {
        Self { status, headers: vec![("Content-Type", content_type.to_owned())], body }
    }

    pub(crate) fn json(status: u16, body: impl Into<Bytes>) -> Self {
        Self::new(status, "application/json", body)
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    fn head(&self, length: Option<u64>, keep_alive: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        head.push_str("Server: nginx/1.18.0\r\n");
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(length) = length {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        let connection = match (self.status, keep_alive && (length.is_some() || self.status == 204)) {
            (101, _) => "Upgrade",
            (_, true) => "keep-alive",
            (_, false) => "close",
        };
        head.push_str(&format!("Connection: {connection}\r\n\r\n"));
        head.into_bytes()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        101 => "Switching Protocols",
        200 => "OK",
        204 => "No Content",
        302 => "Found",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        413 => "Request Entity Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        _ => "Unknown",
    }
}

/// Whether the connection can serve another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Request,
    Close,
    /// Another protocol goes on with it.
    Switched,
}

/// How one answer goes out.
pub(crate) struct Delivery<'r> {
    pub(crate) answer: Answer,
    pub(crate) wire: Wire,
    pub(crate) keep_alive: bool,
    /// The gate in the body: after how many bytes, and whom to tell.
    pub(crate) gate: Option<(u64, &'r Slot, &'r RequestRecord)>,
}

impl Delivery<'_> {
    /// An answer that goes out faultlessly.
    pub(crate) fn plain(answer: Answer, keep_alive: bool) -> Self {
        Self { answer, wire: Wire::Plain, keep_alive, gate: None }
    }

    /// Sends the answer. An error means that the client has gone, which is never this server's
    /// problem.
    pub(crate) async fn send(self, connection: &mut Connection) -> std::io::Result<Next> {
        let real = self.answer.body.len();
        // What the head announces, how much is sent, the size of a piece, the pause before it.
        let (mut length, mut end) = (Some(real), real);
        let (mut piece, mut pause) = (PIECE_BYTES as u64, Duration::ZERO);
        let mut next = match (self.answer.status, self.keep_alive) {
            (101, _) => Next::Switched,
            (_, true) => Next::Request,
            (_, false) => Next::Close,
        };
        if matches!(self.answer.status, 101 | 204) {
            length = None;
        }
        match self.wire {
            Wire::Plain | Wire::Replaced(_) => {}
            Wire::Closed => return Ok(Next::Close),
            Wire::Delayed(pause) => tokio::time::sleep(pause).await,
            Wire::Stalled(None) => {
                connection.closed().await;
                return Ok(Next::Close);
            }
            Wire::ClosedInHead => {
                let head = self.answer.head(length, self.keep_alive);
                connection.stream.write_all(&head[..head.len() / 2]).await?;
                return Ok(Next::Close);
            }
            Wire::Truncated(bytes) => (end, next) = (bytes.min(real.saturating_sub(1)), Next::Close),
            Wire::Stalled(Some(bytes)) => (end, next) = (bytes.min(real), Next::Close),
            Wire::Overlong(bytes) => (length, end) = (Some(real + bytes), real + bytes),
            Wire::Unsized => (length, next) = (None, Next::Close),
            Wire::Dripped(bytes, every) => (piece, pause) = (bytes as u64, every),
        }
        let stalls = matches!(self.wire, Wire::Stalled(_));
        connection.stream.write_all(&self.answer.head(length, self.keep_alive)).await?;
        let mut gate = self.gate.map(|(bytes, slot, record)| (bytes.min(end), slot, record));
        let mut at = 0;
        loop {
            if let Some((_, slot, record)) = gate.take_if(|(position, ..)| *position == at)
                && slot.hold(record).await == Passage::Abandon
            {
                return Ok(Next::Close);
            }
            if at == end {
                break;
            }
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            let stop = gate.as_ref().map_or(end, |(position, ..)| *position);
            let bytes = self.answer.body.piece(at, piece.min(stop - at));
            connection.stream.write_all(&bytes).await?;
            at += bytes.len() as u64;
        }
        if stalls {
            connection.closed().await;
        }
        Ok(next)
    }
}
