//! The network of one call: requests as the guest makes them, held against the grant by the code
//! that sends them, each one in the audit, and the answers that are still being read.

use cofferdam_core::host_call::{HttpId, Reply};
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_core::web::{
    BODY_BYTES_MAX, FailureKind, HttpAnswer, HttpFailure, HttpRequest, RequestFate, RequestRecord, Terms, Web,
};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Answers that one call may read at a time.
pub const ANSWERS_MAX: usize = 16;
/// Requests that one call may make.
pub const REQUESTS_MAX: u32 = 200;

/// What is written down of a request.
#[derive(Clone, Debug)]
pub(crate) struct ExchangeNote {
    pub asked: RequestRecord,
    pub status: Option<u16>,
    pub bytes: u64,
    /// It is about to be sent.
    pub sending: bool,
    pub failure: Option<HttpFailure>,
}

/// The way to the network for one call.
pub(crate) struct WebAccess {
    /// Who sends.
    pub web: Arc<dyn Web>,
    /// Who writes it down.
    pub note: Box<dyn FnMut(ExchangeNote) -> Result<(), ToolError> + Send>,
}

/// The requests of one call.
pub(super) struct Exchanges {
    access: WebAccess,
    terms: Terms,
    /// The body of the next request, as far as it came.
    pending: Vec<u8>,
    open: BTreeMap<HttpId, OpenExchange>,
    ever: u32,
    /// Why the last request was refused that was.
    pub(super) denied: Option<String>,
    /// What could not be written down.
    unaudited: Option<ToolError>,
}

/// An answer that is being read.
struct OpenExchange {
    asked: RequestRecord,
    status: u16,
    /// Of both bodies.
    bytes: u64,
    body: Box<dyn Iterator<Item = Result<Vec<u8>, HttpFailure>> + Send>,
}

impl Exchanges {
    pub(super) fn new(access: WebAccess, terms: Terms) -> Self {
        Self {
            access,
            terms,
            pending: Vec::new(),
            open: BTreeMap::new(),
            ever: 0,
            denied: None,
            unaudited: None,
        }
    }

    /// Takes a piece of the next request's body.
    pub(super) fn body(&mut self, piece: &[u8]) -> Result<Reply, ToolError> {
        if self.pending.len() + piece.len() > BODY_BYTES_MAX {
            // Only a worker that does not keep to the protocol sends more.
            return Err(ToolError::new(ErrorCode::Internal, "the body of a request is too long"));
        }
        self.pending.extend_from_slice(piece);
        Ok(Reply::Done)
    }

    /// Sends a request, and waits for the beginning of its answer.
    pub(super) fn send(&mut self, request: HttpRequest) -> Result<Reply, ToolError> {
        let body = std::mem::take(&mut self.pending);
        let sent = body.len() as u64;
        self.ever = self.ever.saturating_add(1);
        if let Some(failure) = self.check_count() {
            let asked = RequestRecord { method: request.method, host: String::new(), path: String::new() };
            // Of those beyond the most that there may be, the first alone.
            if self.ever <= REQUESTS_MAX + 1 {
                let failure = Some(failure.clone());
                (self.access.note)(ExchangeNote { asked, status: None, bytes: 0, sending: false, failure })?;
            }
            return Ok(Reply::HttpFailed(self.note_refused(failure)));
        }
        let Self { access: WebAccess { web, note }, terms, unaudited, .. } = self;
        let mut witness = |asked: &RequestRecord, fate: RequestFate| {
            let Some(noted) = ExchangeNote::new(asked, fate, sent) else { return Ok(()) };
            note(noted).map_err(|error| {
                let failure = HttpFailure::new(FailureKind::Late, &error.message);
                *unaudited = Some(error);
                failure
            })
        };
        let answered = web.send(request, body, terms, &mut witness);
        if let Some(error) = self.unaudited.take() {
            return Err(error);
        }
        match answered {
            Ok(HttpAnswer { asked, head, body }) => {
                let id = HttpId(self.ever);
                self.open.insert(id, OpenExchange { asked, status: head.status, bytes: sent, body });
                Ok(Reply::HttpHead(id, head))
            }
            Err(failure) => Ok(Reply::HttpFailed(self.note_refused(failure))),
        }
    }

    fn check_count(&self) -> Option<HttpFailure> {
        let said = if self.ever > REQUESTS_MAX {
            format!("this call made {REQUESTS_MAX} requests, the most that one call may")
        } else if self.open.len() >= ANSWERS_MAX {
            format!("this call reads {ANSWERS_MAX} answers at once, the most that one call may")
        } else {
            return None;
        };
        Some(HttpFailure::new(FailureKind::Denied, said))
    }

    /// The next piece of an answer; nothing at its end, nor of one that is not read any more.
    pub(super) fn read(&mut self, id: HttpId) -> Result<Reply, ToolError> {
        let Some(open) = self.open.get_mut(&id) else { return Ok(Reply::HttpPiece(ByteBuf::new())) };
        match open.body.next().unwrap_or_else(|| Ok(Vec::new())) {
            Ok(piece) => {
                open.bytes += piece.len() as u64;
                if piece.is_empty() {
                    self.end(id, None)?;
                }
                Ok(Reply::HttpPiece(ByteBuf::from(piece)))
            }
            Err(failure) => {
                self.end(id, Some(failure.clone()))?;
                Ok(Reply::HttpFailed(self.note_refused(failure)))
            }
        }
    }

    /// Lets an answer go.
    pub(super) fn close(&mut self, id: HttpId) {
        if let Err(error) = self.end(id, None) {
            self.unaudited = Some(error);
        }
    }

    /// Lets all answers go, at the end of the call.
    ///
    /// # Errors
    /// What could not be written down.
    pub(super) fn finish(&mut self) -> Result<(), ToolError> {
        while let Some((id, _)) = self.open.first_key_value() {
            self.close(*id);
        }
        self.unaudited.take().map_or(Ok(()), Err)
    }

    fn note_refused(&mut self, failure: HttpFailure) -> HttpFailure {
        if failure.kind == FailureKind::Denied {
            self.denied = Some(failure.message.clone());
        }
        failure
    }

    fn end(&mut self, id: HttpId, failure: Option<HttpFailure>) -> Result<(), ToolError> {
        let Some(OpenExchange { asked, status, bytes, .. }) = self.open.remove(&id) else { return Ok(()) };
        (self.access.note)(ExchangeNote { asked, status: Some(status), bytes, sending: false, failure })
    }
}

impl ExchangeNote {
    /// What is written down of a request before its answer is read, if anything.
    fn new(asked: &RequestRecord, fate: RequestFate, sent: u64) -> Option<Self> {
        let (status, bytes, sending, failure) = match fate {
            // What only asks changes nothing there, and its one record tells what came of it.
            RequestFate::Sending if ["GET", "HEAD", "OPTIONS"].contains(&asked.method.as_str()) => {
                return None;
            }
            RequestFate::Sending => (None, sent, true, None),
            RequestFate::Redirected(status) => (Some(status), sent, false, None),
            RequestFate::Failed(failure) => (None, 0, false, Some(failure)),
        };
        Some(Self { asked: asked.clone(), status, bytes, sending, failure })
    }
}
