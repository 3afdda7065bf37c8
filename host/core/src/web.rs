//! Requests over HTTP as guests make them, as plain values, and the seam to the code that sends
//! them. A failure is a value: the guest sees it as an error of `wasi:http`.

use crate::host_call::read_bounded;
use crate::network::Network;
use serde::{Deserialize, Deserializer, Serialize};
use serde_bytes::ByteBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Headers of one request; of more nothing is sent.
pub const HEADERS_MAX: usize = 64;
/// Headers of a request that are the gateway's own, would make it keep a state, or have a server
/// take it for one of another method than was judged: no guest says them, and no profile.
pub const GATEWAY_HEADERS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];
/// Bytes of all names and values of headers, of a request and of an answer.
pub const HEADER_BYTES_MAX: usize = 32 << 10;
/// Bytes of the bodies of a call's requests together, each of which is held until it is sent.
pub const BODY_BYTES_MAX: usize = 8 << 20;
/// Bytes of a body that are handed on at once.
pub const PIECE_BYTES_MAX: usize = 256 << 10;
/// Redirects that are followed, each under the same rules.
pub const REDIRECTS_MAX: u32 = 3;

/// Names and values, in their order.
pub type Headers = Vec<(String, ByteBuf)>;

/// A request as a guest has it; its body comes apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    /// The method, as the guest spells it.
    pub method: String,
    /// The whole address.
    pub url: String,
    /// What the guest wants to say; the gateway decides what is said.
    #[serde(deserialize_with = "read_headers")]
    pub headers: Headers,
}

/// A header of no length takes 50 bytes of memory for two on the wire, so the list is bounded as it
/// is read.
fn read_headers<'de, D: Deserializer<'de>>(wire: D) -> Result<Headers, D::Error> {
    read_bounded(wire, HEADERS_MAX, "headers")
}

/// The beginning of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpHead {
    /// The status.
    pub status: u16,
    /// What the server says of itself and of the body, without what is between it and the gateway.
    pub headers: Headers,
}

/// Why there is no answer, or no more of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct HttpFailure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// One line for people, without a query and without a secret.
    pub message: String,
}

/// Kinds of [`HttpFailure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// No rule lets this through; nothing was sent there.
    Denied,
    /// The bytes of the call are used up.
    TooLarge,
    /// The time of the call is over, or nobody wants its answer.
    Late,
    /// The name stands for nothing.
    NotFound,
    /// The body is packed in a way that is not unpacked.
    Packed,
    /// The connection broke, or was never made.
    Broken,
}

impl HttpFailure {
    /// A failure with its one line.
    pub fn new(kind: FailureKind, message: impl AsRef<str>) -> Self {
        Self { kind, message: crate::text::one_line(message.as_ref(), 1000) }
    }
}

/// Bytes that a call has left for bodies. Clones are the same allowance.
#[derive(Clone, Debug)]
pub struct Allowance {
    left: Arc<AtomicU64>,
    max: u64,
}

impl Allowance {
    /// So many bytes.
    pub fn new(max: u64) -> Self {
        Self { left: Arc::new(AtomicU64::new(max)), max }
    }

    /// Takes so many bytes off.
    ///
    /// # Errors
    /// When there are not as many left; then nothing is left any more.
    pub fn take(&self, bytes: u64) -> Result<(), HttpFailure> {
        let taken =
            self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(bytes));
        if taken.is_ok() {
            return Ok(());
        }
        self.left.store(0, Ordering::Release);
        let said = format!(
            "the bodies of this call have more than {} bytes, which is all that its profile allows",
            self.max
        );
        Err(HttpFailure::new(FailureKind::TooLarge, said))
    }
}

/// When the work of a call is of no use any more.
pub type Stopped = Arc<dyn Fn() -> bool + Send + Sync>;

/// Under what a request is sent.
#[derive(Clone)]
pub struct Terms {
    /// The profile's grant.
    pub network: Network,
    /// What is left of its bytes.
    pub allowance: Allowance,
    /// Whether the call has ended.
    pub stopped: Stopped,
}

/// One request to one host, for the audit: a redirect that is followed is one of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// The method; of a request that is refused for it, as the guest spells it.
    pub method: String,
    /// The host, with its port unless that is the scheme's own; empty where there is none.
    pub host: String,
    /// The path without the query.
    pub path: String,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestFate {
    /// It is about to be sent, and may change something there.
    Sending,
    /// It was answered with a redirect, which is followed.
    Redirected(u16),
    /// It was refused, or failed before an answer came.
    Failed(HttpFailure),
}

/// Is told of each request as it happens. An error keeps it from being sent.
pub type Witness<'a> = &'a mut dyn FnMut(&RequestRecord, RequestFate) -> Result<(), HttpFailure>;

/// An answer, whose body is still to come.
pub struct HttpAnswer {
    /// Who answered.
    pub asked: RequestRecord,
    /// How the answer begins.
    pub head: HttpHead,
    /// The rest, unpacked, in pieces of at most [`PIECE_BYTES_MAX`]. Waiting for one blocks; after
    /// a failure there is nothing more.
    pub body: Box<dyn Iterator<Item = Result<Vec<u8>, HttpFailure>> + Send>,
}

/// Who sends what guests ask for.
pub trait Web: Send + Sync {
    /// Sends a request, follows redirects, and waits for the beginning of the answer. Blocks.
    ///
    /// # Errors
    /// [`HttpFailure`]; the witness has seen it.
    fn send(
        &self,
        request: HttpRequest,
        body: Vec<u8>,
        terms: &Terms,
        witness: Witness<'_>,
    ) -> Result<HttpAnswer, HttpFailure>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn headers_are_bounded_as_they_are_read() {
        let request = |headers: usize| {
            let headers: Vec<_> = (0..headers).map(|_| json!(["x", []])).collect();
            serde_json::from_value::<HttpRequest>(json!({ "method": "GET", "url": "", "headers": headers }))
        };
        assert!(request(HEADERS_MAX).is_ok());
        let refused = request(HEADERS_MAX + 1).expect_err("too many").to_string();
        assert!(refused.contains("at most 64 headers"), "{refused}");
    }

    #[test]
    fn an_allowance_that_was_exceeded_is_used_up() {
        let allowance = Allowance::new(10);
        assert_eq!((allowance.take(4), allowance.take(6)), (Ok(()), Ok(())));
        assert_eq!(allowance.take(1).map_err(|failure| failure.kind), Err(FailureKind::TooLarge));
        let allowance = Allowance::new(10);
        assert!(allowance.take(11).is_err() && allowance.take(1).is_err());
    }
}
