//! A request in a guest's hands: its head, its options, and its body, which is held until it is
//! sent so that the gateway can send it again after a redirect.

use super::Shared;
use super::bindings::wasi::http::types::{self, Duration, ErrorCode, Method, Scheme};
use super::fields::HeaderFields;
use crate::output::{ByteSink, StreamTo, check_permit};
use crate::state::{Answered, StoreState};
use cofferdam_core::lock::lock;
use cofferdam_core::web::{BODY_BYTES_MAX, HttpRequest};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynOutputStream, StreamError, StreamResult};

/// A request that is being put together.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OutgoingRequest {
    method: Method,
    scheme: Option<Scheme>,
    authority: Option<String>,
    path: Option<String>,
    headers: HeaderFields,
    body: Option<Shared<BodyBytes>>,
}

/// What is written of a body.
#[derive(Debug)]
pub(super) struct BodyBytes {
    pub(super) bytes: Vec<u8>,
    pub(super) state: BodyState,
    /// Bytes of all bodies that the call keeps: a guest may write many and send none.
    kept: Arc<AtomicUsize>,
}

impl BodyBytes {
    /// Counts so many bytes more, if the call may keep them. It runs on one thread.
    fn count(&self, len: usize) -> bool {
        let kept = self.kept.load(Ordering::Relaxed).saturating_add(len);
        let fits = kept <= BODY_BYTES_MAX;
        if fits {
            self.kept.store(kept, Ordering::Relaxed);
        }
        fits
    }

    /// The bytes, which the call keeps no longer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.bytes);
        self.kept.fetch_sub(bytes.len(), Ordering::Relaxed);
        bytes
    }
}

impl Drop for BodyBytes {
    fn drop(&mut self) {
        self.take();
    }
}

/// Whether more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyState {
    Open,
    Finished,
    /// Dropped before its end: it is not sent.
    Aborted,
}

/// The guest's hold on a body.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OutgoingBody {
    written: Shared<BodyBytes>,
    has_stream: bool,
}

/// How long a guest would wait; the deadline of its call holds instead.
#[derive(Clone, Copy, Debug, Default)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Options {
    connect: Option<Duration>,
    first_byte: Option<Duration>,
    between_bytes: Option<Duration>,
}

impl OutgoingRequest {
    /// As the gateway is told; it parses the address.
    pub(super) fn wire(self) -> Result<(HttpRequest, Option<Shared<BodyBytes>>), ErrorCode> {
        let scheme = match self.scheme {
            None | Some(Scheme::Https) => "https".to_owned(),
            Some(Scheme::Http) => "http".to_owned(),
            Some(Scheme::Other(other)) => other,
        };
        let authority = self.authority.ok_or(ErrorCode::HttpRequestUriInvalid)?;
        let url = format!("{scheme}://{authority}{}", self.path.as_deref().unwrap_or("/"));
        let request = HttpRequest { method: name(&self.method), url, headers: self.headers.wire() };
        Ok((request, self.body))
    }
}

fn name(method: &Method) -> String {
    match method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
        Method::Connect => "CONNECT",
        Method::Options => "OPTIONS",
        Method::Trace => "TRACE",
        Method::Patch => "PATCH",
        Method::Other(other) => other,
    }
    .to_owned()
}

type Set = Answered<(), ()>;

impl types::HostOutgoingRequest for StoreState {
    fn new(&mut self, headers: Resource<HeaderFields>) -> wasmtime::Result<Resource<OutgoingRequest>> {
        let headers = self.table.delete(headers)?.freeze();
        let request = OutgoingRequest {
            method: Method::Get,
            scheme: None,
            authority: None,
            path: None,
            headers,
            body: None,
        };
        Ok(self.table.push(request)?)
    }

    fn body(&mut self, this: Resource<OutgoingRequest>) -> Answered<Resource<OutgoingBody>, ()> {
        let request = self.table.get_mut(&this)?;
        if request.body.is_some() {
            return Ok(Err(()));
        }
        let (state, kept) = (BodyState::Open, self.body_bytes.clone());
        let written = Arc::new(Mutex::new(BodyBytes { bytes: Vec::new(), state, kept }));
        request.body = Some(written.clone());
        Ok(Ok(self.table.push(OutgoingBody { written, has_stream: false })?))
    }

    fn method(&mut self, this: Resource<OutgoingRequest>) -> wasmtime::Result<Method> {
        Ok(self.table.get(&this)?.method.clone())
    }

    fn set_method(&mut self, this: Resource<OutgoingRequest>, method: Method) -> Set {
        self.table.get_mut(&this)?.method = method;
        Ok(Ok(()))
    }

    fn path_with_query(&mut self, this: Resource<OutgoingRequest>) -> wasmtime::Result<Option<String>> {
        Ok(self.table.get(&this)?.path.clone())
    }

    fn set_path_with_query(&mut self, this: Resource<OutgoingRequest>, path: Option<String>) -> Set {
        // Anything else there would be a part of the host.
        if path.as_ref().is_some_and(|path| !path.is_empty() && !path.starts_with(['/', '?'])) {
            return Ok(Err(()));
        }
        self.table.get_mut(&this)?.path = path;
        Ok(Ok(()))
    }

    fn scheme(&mut self, this: Resource<OutgoingRequest>) -> wasmtime::Result<Option<Scheme>> {
        Ok(self.table.get(&this)?.scheme.clone())
    }

    fn set_scheme(&mut self, this: Resource<OutgoingRequest>, scheme: Option<Scheme>) -> Set {
        self.table.get_mut(&this)?.scheme = scheme;
        Ok(Ok(()))
    }

    fn authority(&mut self, this: Resource<OutgoingRequest>) -> wasmtime::Result<Option<String>> {
        Ok(self.table.get(&this)?.authority.clone())
    }

    fn set_authority(&mut self, this: Resource<OutgoingRequest>, authority: Option<String>) -> Set {
        if authority.as_ref().is_some_and(|authority| authority.contains(['/', '?', '#', '\\'])) {
            return Ok(Err(()));
        }
        self.table.get_mut(&this)?.authority = authority;
        Ok(Ok(()))
    }

    fn headers(&mut self, this: Resource<OutgoingRequest>) -> wasmtime::Result<Resource<HeaderFields>> {
        let headers = self.table.get(&this)?.headers.clone();
        Ok(self.table.push(headers)?)
    }

    fn drop(&mut self, this: Resource<OutgoingRequest>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl types::HostOutgoingBody for StoreState {
    fn write(&mut self, this: Resource<OutgoingBody>) -> Answered<Resource<DynOutputStream>, ()> {
        let body = self.table.get_mut(&this)?;
        if std::mem::replace(&mut body.has_stream, true) {
            return Ok(Err(()));
        }
        let stream: DynOutputStream = Box::new(StreamTo(body.written.clone()));
        Ok(Ok(self.table.push_child(stream, &this)?))
    }

    fn finish(
        &mut self,
        this: Resource<OutgoingBody>,
        trailers: Option<Resource<HeaderFields>>,
    ) -> Answered<(), ErrorCode> {
        let body = self.table.delete(this)?;
        lock(&body.written).state = BodyState::Finished;
        let Some(trailers) = trailers else { return Ok(Ok(())) };
        // No trailer is sent, and one that is lost in silence would be a lie.
        self.table.delete(trailers)?;
        lock(&body.written).state = BodyState::Aborted;
        Ok(Err(ErrorCode::HttpRequestTrailerSectionSize(Some(0))))
    }

    fn drop(&mut self, this: Resource<OutgoingBody>) -> wasmtime::Result<()> {
        let body = self.table.delete(this)?;
        lock(&body.written).state = BodyState::Aborted;
        Ok(())
    }
}

impl types::HostRequestOptions for StoreState {
    fn new(&mut self) -> wasmtime::Result<Resource<Options>> {
        Ok(self.table.push(Options::default())?)
    }

    fn connect_timeout(&mut self, this: Resource<Options>) -> wasmtime::Result<Option<Duration>> {
        Ok(self.table.get(&this)?.connect)
    }

    fn set_connect_timeout(&mut self, this: Resource<Options>, time: Option<Duration>) -> Set {
        self.table.get_mut(&this)?.connect = time;
        Ok(Ok(()))
    }

    fn first_byte_timeout(&mut self, this: Resource<Options>) -> wasmtime::Result<Option<Duration>> {
        Ok(self.table.get(&this)?.first_byte)
    }

    fn set_first_byte_timeout(&mut self, this: Resource<Options>, time: Option<Duration>) -> Set {
        self.table.get_mut(&this)?.first_byte = time;
        Ok(Ok(()))
    }

    fn between_bytes_timeout(&mut self, this: Resource<Options>) -> wasmtime::Result<Option<Duration>> {
        Ok(self.table.get(&this)?.between_bytes)
    }

    fn set_between_bytes_timeout(&mut self, this: Resource<Options>, time: Option<Duration>) -> Set {
        self.table.get_mut(&this)?.between_bytes = time;
        Ok(Ok(()))
    }

    fn drop(&mut self, this: Resource<Options>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// Where a guest writes a body.
impl ByteSink for Shared<BodyBytes> {
    const PERMIT_BYTES: usize = 1 << 20;

    /// Takes them if the call may keep them beside those of its other bodies.
    fn append(&mut self, bytes: &[u8]) -> StreamResult<()> {
        check_permit::<Self>(bytes)?;
        let mut written = lock(self);
        if !written.count(bytes.len()) {
            written.state = BodyState::Aborted;
            let code = ErrorCode::HttpRequestBodySize(Some(BODY_BYTES_MAX as u64));
            return Err(StreamError::LastOperationFailed(wasmtime::Error::new(code)));
        }
        written.bytes.extend_from_slice(bytes);
        Ok(())
    }
}
