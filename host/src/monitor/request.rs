//! A request of HTTP/1 from one connection, within limits, and the answer to it. It reads no
//! bodies, keeps no connection, and answers nobody who does not ask for this machine by a name of
//! loopback: a page in a browser that had a name lead here learns nothing.

use httparse::{EMPTY_HEADER, Error, Header, Status};
use std::net::IpAddr;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A longer head is refused.
pub(super) const HEAD_BYTES_MAX: usize = 8 << 10;
/// So are more headers.
pub(super) const HEADERS_MAX: usize = 64;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MonitorPath {
    Health,
    Metrics,
}

/// A refusal: its status, and the text that goes with it.
pub(super) type RequestRefusal = (&'static str, &'static str);

const MALFORMED: RequestRefusal = ("400 Bad Request", "this is no request of HTTP/1 without a body\n");
const NOT_FOUND: RequestRefusal = ("404 Not Found", "there is /healthz and /metrics\n");
const METHOD: RequestRefusal = ("405 Method Not Allowed", "only GET and HEAD are answered\n");
const MISDIRECTED: RequestRefusal = ("421 Misdirected Request", "ask for 127.0.0.1, [::1] or localhost\n");
const TOO_LARGE: RequestRefusal =
    ("431 Request Header Fields Too Large", "the request's head is too large\n");

/// Whether the client wants the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyChoice {
    Whole,
    Head,
}

/// The request, or `None` when the client went away in the middle.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
) -> Option<Result<(MonitorPath, BodyChoice), RequestRefusal>> {
    let mut head = Vec::with_capacity(1024);
    loop {
        match parse(&head) {
            Ok(Some(asked)) => return Some(Ok(asked)),
            Err(refused) => return Some(Err(refused)),
            Ok(None) if head.len() >= HEAD_BYTES_MAX => return Some(Err(TOO_LARGE)),
            Ok(None) => {}
        }
        let mut rest = stream.take((HEAD_BYTES_MAX - head.len()) as u64);
        if rest.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
}

/// What a head asks for; `None` while it is not whole.
fn parse(head: &[u8]) -> Result<Option<(MonitorPath, BodyChoice)>, RequestRefusal> {
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) => return Ok(None),
        Err(Error::TooManyHeaders) => return Err(TOO_LARGE),
        Err(_) => return Err(MALFORMED),
    }
    let wanted = match request.method {
        Some("GET") => BodyChoice::Whole,
        Some("HEAD") => BodyChoice::Head,
        _ => return Err(METHOD),
    };
    let has = |name: &str| request.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    if has("transfer-encoding") || has("content-length") {
        return Err(MALFORMED);
    }
    if !request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host")).all(is_loopback) {
        return Err(MISDIRECTED);
    }
    let path = request.path.unwrap_or_default();
    match path.split_once('?').map_or(path, |(path, _)| path) {
        "/healthz" => Ok(Some((MonitorPath::Health, wanted))),
        "/metrics" => Ok(Some((MonitorPath::Metrics, wanted))),
        _ => Err(NOT_FOUND),
    }
}

fn is_loopback(host: &Header<'_>) -> bool {
    let Ok(host) = std::str::from_utf8(host.value) else { return false };
    let port = |rest: &str| {
        rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
    };
    let (name, rest) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((name, rest)) => (name, rest),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_loopback =
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback && port(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: Result<Option<(MonitorPath, BodyChoice)>, RequestRefusal>) {
        assert_eq!(parse(head.as_bytes()), expected, "{head:?}");
    }

    #[test]
    fn two_pages_are_asked_for_by_a_name_of_loopback() {
        let metrics = Ok(Some((MonitorPath::Metrics, BodyChoice::Whole)));
        check("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n", metrics);
        check("GET /metrics?name[]=x HTTP/1.1\r\nHost: [::1]:9464\r\n\r\n", metrics);
        check("GET /metrics HTTP/1.0\r\n\r\n", metrics);
        check(
            "HEAD /healthz HTTP/1.1\r\nhost: LocalHost\r\n\r\n",
            Ok(Some((MonitorPath::Health, BodyChoice::Head))),
        );
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost:x", "10.0.0.1:9464", "", "[::1]x"] {
            check(&format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"), Err(MISDIRECTED));
        }
        check("GET / HTTP/1.1\r\n\r\n", Err(NOT_FOUND));
        check("GET /metrics/../healthz HTTP/1.1\r\n\r\n", Err(NOT_FOUND));
        check("POST /metrics HTTP/1.1\r\n\r\n", Err(METHOD));
        check("GET /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\n", Err(MALFORMED));
        check("GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Err(MALFORMED));
    }

    #[tokio::test]
    async fn garbage_is_refused_or_waited_out_and_never_more_than_the_head_is_read() {
        for garbage in
            [&b"\x16\x03\x01\x02\x00\x01"[..], b"GET", b"\0", b"GET /metrics\r\n\r\n", b"SSH-2.0-x\r\n"]
        {
            let answered = read(&mut &*garbage).await;
            assert!(!matches!(answered, Some(Ok(_))), "{garbage:?}: {answered:?}");
        }
        let long = format!("GET /metrics HTTP/1.1\r\nA: {}", "x".repeat(2 * HEAD_BYTES_MAX));
        let mut left = long.as_bytes();
        assert_eq!(read(&mut left).await, Some(Err(TOO_LARGE)));
        assert_eq!(left.len(), long.len() - HEAD_BYTES_MAX);
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(read(&mut many.as_bytes()).await, Some(Err(TOO_LARGE)));
        // Every beginning of a request is one that may go on; every byte of it may be another.
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        for n in 0..request.len() {
            assert_eq!(parse(&request[..n]), Ok(None), "{n}");
            for byte in 0..=255 {
                let mut changed = *request;
                changed[n] = byte;
                let _ = parse(&changed);
            }
        }
    }
}
