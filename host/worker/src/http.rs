//! `wasi:http` for guests: what a guest wants to send goes to the gateway, which sends it or not.
//!
//! Handles and streams alone: nothing here parses an address, and nothing connects to anybody.

mod answer;
mod fields;
mod request;
mod sending;
mod unused;

use crate::state::{Answered, StoreState};
use bindings::wasi::http::{outgoing_handler, types};
use cofferdam_core::tool::{ErrorCode as ToolCode, ToolError};
use cofferdam_core::web::{FailureKind, HttpFailure};
use request::OutgoingRequest;
use sending::SentRequest;
use types::ErrorCode;
use wasmtime::component::{HasSelf, Linker, Resource};

/// Host bindings generated from `wasi:http` as it is published, without its side for servers.
mod bindings {
    #![allow(missing_docs, unreachable_pub, clippy::all, reason = "generated code")]

    wasmtime::component::bindgen!({
        inline: "
            package cofferdam:http;
            world client {
                import wasi:http/types@0.2.12;
                import wasi:http/outgoing-handler@0.2.12;
            }
        ",
        path: ["../../wit", "wit/http.wit"],
        world: "cofferdam:http/client",
        imports: { default: trappable },
        with: {
            "wasi:io": wasmtime_wasi::p2::bindings::io,
            "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
            "wasi:http/types.fields": super::fields::HeaderFields,
            // There is none, nor a place to answer one.
            "wasi:http/types.incoming-request": std::convert::Infallible,
            "wasi:http/types.outgoing-request": super::request::OutgoingRequest,
            "wasi:http/types.request-options": super::request::Options,
            "wasi:http/types.response-outparam": std::convert::Infallible,
            "wasi:http/types.incoming-response": super::answer::IncomingResponse,
            "wasi:http/types.incoming-body": super::answer::IncomingBody,
            "wasi:http/types.future-trailers": super::answer::Trailers,
            "wasi:http/types.outgoing-response": super::unused::OutgoingResponse,
            "wasi:http/types.outgoing-body": super::request::OutgoingBody,
            "wasi:http/types.future-incoming-response": super::sending::SentRequest,
        },
        require_store_data_send: true,
    });
}

/// Links `wasi:http/outgoing-handler` and its types. The gateway decides about every request.
///
/// # Errors
/// When something of it is linked already.
pub(crate) fn add_to_linker(linker: &mut Linker<StoreState>) -> wasmtime::Result<()> {
    types::add_to_linker::<StoreState, HasSelf<_>>(linker, &types::LinkOptions::default(), |state| state)?;
    outgoing_handler::add_to_linker::<StoreState, HasSelf<_>>(linker, |state| state)
}

impl outgoing_handler::Host for StoreState {
    fn handle(
        &mut self,
        request: Resource<OutgoingRequest>,
        options: Option<Resource<request::Options>>,
    ) -> Answered<Resource<SentRequest>, ErrorCode> {
        if let Some(options) = options {
            self.table.delete(options)?;
        }
        let request = self.table.delete(request)?;
        Ok(match request.wire() {
            Ok((wire, body)) => Ok(self.table.push(SentRequest::new(self.gateway.clone(), wire, body))?),
            Err(error) => Err(error),
        })
    }
}

impl types::Host for StoreState {
    fn http_error_code(&mut self, error: Resource<types::IoError>) -> wasmtime::Result<Option<ErrorCode>> {
        Ok(self.table.get(&error)?.downcast_ref::<ErrorCode>().cloned())
    }
}

/// What a guest sees of a failure; its words are in the audit.
fn failure_code(failure: HttpFailure) -> ErrorCode {
    match failure.kind {
        FailureKind::Denied => ErrorCode::HttpRequestDenied,
        FailureKind::TooLarge => ErrorCode::HttpResponseBodySize(None),
        FailureKind::Late => ErrorCode::HttpResponseTimeout,
        FailureKind::NotFound => ErrorCode::DestinationNotFound,
        FailureKind::Packed => ErrorCode::HttpResponseContentCoding(None),
        FailureKind::Broken => ErrorCode::InternalError(Some(failure.message)),
    }
}

/// What a guest sees where the gateway answers none of it.
fn gateway_error_code(error: ToolError) -> ErrorCode {
    match error.code {
        ToolCode::NetworkDenied => ErrorCode::HttpRequestDenied,
        _ => ErrorCode::InternalError(Some(error.to_string())),
    }
}

/// What a guest gets of what is still to come: nothing yet; that it was taken already; why there is
/// none; or what it waited for.
type Got<T> = Option<Result<Result<T, ErrorCode>, ()>>;

/// What both ends of a request share.
type Shared<T> = std::sync::Arc<std::sync::Mutex<T>>;
