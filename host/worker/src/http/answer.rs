//! An answer in a guest's hands: its head, and its body as a stream whose pieces the gateway hands
//! out one by one.

use super::bindings::wasi::http::types::{self, ErrorCode};
use super::fields::HeaderFields;
use super::{Got, failure_code, gateway_error_code};
use crate::gateway::GatewayLink;
use crate::input::stream_from;
use crate::state::{Answered, StoreState};
use bytes::Bytes;
use cofferdam_core::host_call::{HttpId, Notification, Reply, Request};
use cofferdam_core::web::HttpHead;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, DynPollable, Pollable, StreamError, subscribe};

/// An answer.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct IncomingResponse {
    status: u16,
    headers: HeaderFields,
    /// Taken once.
    body: Option<AnswerHold>,
}

/// The body of an answer.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct IncomingBody {
    /// Taken once, by its stream.
    hold: Option<AnswerHold>,
}

/// There are none: the gateway drops those of servers.
#[derive(Debug, Default)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Trailers {
    taken: bool,
}

/// The guest's hold on an answer; the gateway forgets the rest of it when it ends.
struct AnswerHold {
    id: HttpId,
    gateway: GatewayLink,
}

impl AnswerHold {
    /// The next piece of the body; nothing at the end.
    fn next_piece(&self) -> Result<Vec<u8>, ErrorCode> {
        let piece = self.gateway.ask(Request::HttpRead(self.id), |reply| match reply {
            Reply::HttpPiece(piece) => Some(Ok(piece.into_vec())),
            Reply::HttpFailed(failure) => Some(Err(failure)),
            _ => None,
        });
        piece.map_err(gateway_error_code)?.map_err(failure_code)
    }
}

impl Drop for AnswerHold {
    fn drop(&mut self) {
        self.gateway.notify(Notification::HttpClose(self.id));
    }
}

impl IncomingResponse {
    pub(super) fn new(gateway: GatewayLink, id: HttpId, head: HttpHead) -> Self {
        let body = Some(AnswerHold { id, gateway });
        Self { status: head.status, headers: HeaderFields::from_headers(head.headers), body }
    }
}

impl types::HostIncomingResponse for StoreState {
    fn status(&mut self, this: Resource<IncomingResponse>) -> wasmtime::Result<u16> {
        Ok(self.table.get(&this)?.status)
    }

    fn headers(&mut self, this: Resource<IncomingResponse>) -> wasmtime::Result<Resource<HeaderFields>> {
        let headers = self.table.get(&this)?.headers.clone();
        Ok(self.table.push(headers)?)
    }

    fn consume(&mut self, this: Resource<IncomingResponse>) -> Answered<Resource<IncomingBody>, ()> {
        match self.table.get_mut(&this)?.body.take() {
            None => Ok(Err(())),
            hold => Ok(Ok(self.table.push(IncomingBody { hold })?)),
        }
    }

    fn drop(&mut self, this: Resource<IncomingResponse>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl types::HostIncomingBody for StoreState {
    fn stream(&mut self, this: Resource<IncomingBody>) -> Answered<Resource<DynInputStream>, ()> {
        let Some(hold) = self.table.get_mut(&this)?.hold.take() else { return Ok(Err(())) };
        Ok(Ok(self.table.push_child(stream_body(hold), &this)?))
    }

    fn finish(&mut self, this: Resource<IncomingBody>) -> wasmtime::Result<Resource<Trailers>> {
        self.table.delete(this)?;
        Ok(self.table.push(Trailers::default())?)
    }

    fn drop(&mut self, this: Resource<IncomingBody>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

#[async_trait::async_trait]
impl Pollable for Trailers {
    async fn ready(&mut self) {}
}

impl types::HostFutureTrailers for StoreState {
    fn subscribe(&mut self, this: Resource<Trailers>) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(&mut self.table, this)
    }

    fn get(&mut self, this: Resource<Trailers>) -> wasmtime::Result<Got<Option<Resource<HeaderFields>>>> {
        let taken = std::mem::replace(&mut self.table.get_mut(&this)?.taken, true);
        Ok(Some(if taken { Err(()) } else { Ok(Ok(None)) }))
    }

    fn drop(&mut self, this: Resource<Trailers>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// The body of an answer, until its end or an error.
fn stream_body(hold: AnswerHold) -> DynInputStream {
    // None at the end, and after an error.
    let mut hold = Some(hold);
    // What was handed out and not read yet.
    let mut piece = Bytes::new();
    stream_from(move |size| {
        if size == 0 {
            return Ok(Bytes::new());
        }
        if piece.is_empty() {
            let Some(open) = &hold else { return Err(StreamError::Closed) };
            match open.next_piece() {
                Ok(next) if next.is_empty() => {
                    hold = None;
                    return Err(StreamError::Closed);
                }
                Ok(next) => piece = next.into(),
                Err(code) => {
                    hold = None;
                    return Err(StreamError::LastOperationFailed(wasmtime::Error::new(code)));
                }
            }
        }
        Ok(piece.split_to(size.min(piece.len())))
    })
}
