//! A request on its way: the gateway is asked when the guest waits for the answer and the body is
//! whole.

use super::answer::IncomingResponse;
use super::bindings::wasi::http::types::{self, ErrorCode};
use super::request::{BodyBytes, BodyState};
use super::{Got, Shared, failure_code, gateway_error_code};
use crate::gateway::{GatewayLink, expect_done};
use crate::state::StoreState;
use cofferdam_core::host_call::{HttpId, Reply, Request};
use cofferdam_core::lock::lock;
use cofferdam_core::web::{HttpHead, HttpRequest};
use serde_bytes::Bytes as Raw;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

/// Bytes of a body that one message carries.
const PIECE_BYTES: usize = 1 << 20;

/// A request that was handed over.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct SentRequest {
    gateway: GatewayLink,
    body: Option<Shared<BodyBytes>>,
    state: SendingState,
}

enum SendingState {
    /// Nobody has asked for the answer yet, or the body is not whole.
    Waiting(HttpRequest),
    /// The gateway has answered.
    Answered(Result<(HttpId, HttpHead), ErrorCode>),
    /// The guest has the answer.
    Taken,
}

impl SentRequest {
    pub(super) fn new(gateway: GatewayLink, request: HttpRequest, body: Option<Shared<BodyBytes>>) -> Self {
        Self { gateway, body, state: SendingState::Waiting(request) }
    }

    /// Sends the request if it is whole. Blocks until the answer begins.
    fn send(&mut self) {
        let SendingState::Waiting(request) = &self.state else { return };
        let bytes = match &self.body {
            None => Ok(Vec::new()),
            Some(body) => {
                let mut body = lock(body);
                match body.state {
                    BodyState::Open => return,
                    BodyState::Finished => Ok(body.take()),
                    BodyState::Aborted => Err(ErrorCode::HttpRequestBodySize(Some(body.bytes.len() as u64))),
                }
            }
        };
        let answered = bytes.and_then(|bytes| ask(&self.gateway, request.clone(), &bytes));
        self.state = SendingState::Answered(answered);
    }
}

/// Nothing else of the guest runs meanwhile, so that the pieces belong to this request.
fn ask(gateway: &GatewayLink, request: HttpRequest, body: &[u8]) -> Result<(HttpId, HttpHead), ErrorCode> {
    for piece in body.chunks(PIECE_BYTES) {
        gateway.ask(Request::HttpBody(Raw::new(piece)), expect_done).map_err(gateway_error_code)?;
    }
    let answered = gateway.ask(Request::HttpSend(request), |reply| match reply {
        Reply::HttpHead(id, head) => Some(Ok((id, head))),
        Reply::HttpFailed(failure) => Some(Err(failure)),
        _ => None,
    });
    answered.map_err(gateway_error_code)?.map_err(failure_code)
}

#[async_trait::async_trait]
impl Pollable for SentRequest {
    async fn ready(&mut self) {
        self.send();
        if matches!(self.state, SendingState::Waiting(_)) {
            // Its body is not whole, and the guest that would write it waits here: the deadline
            // ends both.
            std::future::pending::<()>().await;
        }
    }
}

impl types::HostFutureIncomingResponse for StoreState {
    fn subscribe(&mut self, this: Resource<SentRequest>) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(&mut self.table, this)
    }

    fn get(&mut self, this: Resource<SentRequest>) -> wasmtime::Result<Got<Resource<IncomingResponse>>> {
        let sending = self.table.get_mut(&this)?;
        sending.send();
        if matches!(sending.state, SendingState::Waiting(_)) {
            return Ok(None);
        }
        let state = std::mem::replace(&mut sending.state, SendingState::Taken);
        Ok(match state {
            SendingState::Waiting(_) => None,
            SendingState::Taken => Some(Err(())),
            SendingState::Answered(Err(error)) => Some(Ok(Err(error))),
            SendingState::Answered(Ok((id, head))) => {
                let response = IncomingResponse::new(sending.gateway.clone(), id, head);
                Some(Ok(Ok(self.table.push(response)?)))
            }
        })
    }

    fn drop(&mut self, this: Resource<SentRequest>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
