//! Reads HTTP/1.1 requests from one connection, within limits. It knows nothing of any API.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest request head (request line and headers), in bytes.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Longest request body, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
/// How much of a refused request is read after the refusal, and for how long.
const MAX_DRAINED_BYTES: usize = 1024 * 1024;
const DRAINING: Duration = Duration::from_secs(1);
/// Longest line before a chunk of a body, and after the last one: sizes, extensions, trailers.
const MAX_CHUNK_LINE_BYTES: usize = 1024;
/// Most headers of one request.
const MAX_HEADERS: usize = 128;

/// One request, its body read completely.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) verb: String,
    /// The request target as sent: still percent-encoded, with its query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) keep_alive: bool,
}

impl Request {
    /// The value of a header; names compare without case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find_header(&self.headers, name)
    }
}

/// The value of the first header of this name.
pub(crate) fn find_header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    let found = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// Why a request is refused before anything looks at it; the connection closes afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unreadable {
    Malformed,
    HeadTooLarge,
    BodyTooLarge,
    LengthRequired,
}

impl Unreadable {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::HeadTooLarge => 431,
            Self::BodyTooLarge => 413,
            Self::LengthRequired => 411,
        }
    }
}

/// A client's connection, with the bytes that were read beyond the last request.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    buffer: BytesMut,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: BytesMut::new() }
    }

    /// The stream, and what was read of it beyond the last request.
    pub(crate) fn into_parts(self) -> (TcpStream, Bytes) {
        (self.stream, self.buffer.freeze())
    }

    /// The next request, or `None` once the client has gone.
    pub(crate) async fn next_request(&mut self) -> Result<Option<Request>, Unreadable> {
        let (mut request, body) = loop {
            match parse_head(&self.buffer)? {
                Some((head_bytes, request, body)) => {
                    self.buffer.advance(head_bytes);
                    break (request, body);
                }
                None if self.buffer.len() > MAX_HEAD_BYTES => {
                    return Err(Unreadable::HeadTooLarge);
                }
                None if self.read_more().await.is_none() => return Ok(None),
                None => {}
            }
        };
        let waits = request.header("expect").is_some_and(|v| v.eq_ignore_ascii_case("100-continue"));
        if waits && self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_err() {
            return Ok(None);
        }
        let read = match body {
            BodyLength::Bytes(bytes) => self.take(bytes).await,
            BodyLength::Chunks => self.chunks().await?,
        };
        let Some(body) = read else { return Ok(None) };
        request.body = body;
        Ok(Some(request))
    }

    /// So many bytes, or `None` once the client has gone.
    async fn take(&mut self, bytes: usize) -> Option<Bytes> {
        while self.buffer.len() < bytes {
            self.read_more().await?;
        }
        Some(self.buffer.split_to(bytes).freeze())
    }

    /// A body in chunks (RFC 9112, 7.1), its trailers dropped; `None` once the client has gone.
    async fn chunks(&mut self) -> Result<Option<Bytes>, Unreadable> {
        let mut body = BytesMut::new();
        loop {
            let Some(line) = self.line().await? else { return Ok(None) };
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| Unreadable::Malformed)?;
            if size == 0 {
                break;
            }
            if size > MAX_BODY_BYTES - body.len() {
                return Err(Unreadable::BodyTooLarge);
            }
            let Some(chunk) = self.take(size).await else { return Ok(None) };
            body.extend_from_slice(&chunk);
            match self.line().await? {
                Some(end) if end.is_empty() => {}
                Some(_) => return Err(Unreadable::Malformed),
                None => return Ok(None),
            }
        }
        // Trailers, up to the blank line.
        loop {
            match self.line().await? {
                Some(line) if line.is_empty() => return Ok(Some(body.freeze())),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// A line without its end, or `None` once the client has gone.
    async fn line(&mut self) -> Result<Option<String>, Unreadable> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let line = self.buffer.split_to(end + 2);
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            if self.buffer.len() > MAX_CHUNK_LINE_BYTES {
                return Err(Unreadable::Malformed);
            }
            if self.read_more().await.is_none() {
                return Ok(None);
            }
        }
    }

    /// Returns once the client has closed the connection. A client that sends further bytes instead
    /// is alive, and is waited for without end.
    pub(crate) async fn closed(&self) {
        if let Ok(1..) = self.stream.peek(&mut [0]).await {
            std::future::pending::<()>().await;
        }
    }

    /// Closes after a refusal of a request that was not read to its end: what still comes is read
    /// and thrown away for a while, since a reset would take the refusal from the client.
    pub(crate) async fn close_gently(&mut self) {
        let draining = async {
            // Errors end the draining, as the end of the stream does.
            let _ = self.stream.shutdown().await;
            let mut drained = 0;
            while drained < MAX_DRAINED_BYTES && self.read_more().await.is_some() {
                drained += self.buffer.len();
                self.buffer.clear();
            }
        };
        let _ = tokio::time::timeout(DRAINING, draining).await;
    }

    async fn read_more(&mut self) -> Option<()> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(1..) => Some(()),
            Ok(0) | Err(_) => None,
        }
    }
}

/// How a body's end is told.
#[derive(Clone, Copy, Debug)]
enum BodyLength {
    Bytes(usize),
    Chunks,
}

/// The head's length, the request without its body, and the body's length; `None` while incomplete.
fn parse_head(buffer: &[u8]) -> Result<Option<(usize, Request, BodyLength)>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let head_bytes = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Unreadable::HeadTooLarge),
        Err(_) => return Err(Unreadable::Malformed),
    };
    if head_bytes > MAX_HEAD_BYTES {
        return Err(Unreadable::HeadTooLarge);
    }
    let (Some(verb), Some(target)) = (parsed.method, parsed.path) else {
        return Err(Unreadable::Malformed);
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers: Vec<_> = parsed.headers.iter().map(|h| (h.name.to_owned(), text(h.value))).collect();
    let body = match (find_header(&headers, "transfer-encoding"), find_header(&headers, "content-length")) {
        (Some(coding), None) if coding.trim().eq_ignore_ascii_case("chunked") => BodyLength::Chunks,
        // Both at once are how requests are smuggled.
        (Some(_), _) => return Err(Unreadable::LengthRequired),
        (None, None) => BodyLength::Bytes(0),
        (None, Some(length)) => BodyLength::Bytes(length.trim().parse().map_err(|_| Unreadable::Malformed)?),
    };
    if matches!(body, BodyLength::Bytes(bytes) if bytes > MAX_BODY_BYTES) {
        return Err(Unreadable::BodyTooLarge);
    }
    let connection = find_header(&headers, "connection").unwrap_or_default();
    let keep_alive = parsed.version == Some(1) && !connection.eq_ignore_ascii_case("close");
    let (verb, target) = (verb.to_owned(), target.to_owned());
    let request = Request { verb, target, headers, body: Bytes::new(), keep_alive };
    Ok(Some((head_bytes, request, body)))
}
