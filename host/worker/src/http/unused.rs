//! The side of `wasi:http/types` that is for servers: it is linked with the rest, and no guest ever
//! holds a request that came in.

use super::answer::IncomingBody;
use super::bindings::wasi::http::types::{self, ErrorCode, Method, Scheme};
use super::fields::HeaderFields;
use super::request::OutgoingBody;
use crate::state::{Answered, StoreState};
use std::convert::Infallible;
use wasmtime::component::Resource;

/// An answer that a guest may put together, and can give to nobody.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OutgoingResponse {
    status: u16,
    headers: HeaderFields,
}

impl types::HostIncomingRequest for StoreState {
    fn method(&mut self, this: Resource<Infallible>) -> wasmtime::Result<Method> {
        match *self.table.get(&this)? {}
    }

    fn path_with_query(&mut self, this: Resource<Infallible>) -> wasmtime::Result<Option<String>> {
        match *self.table.get(&this)? {}
    }

    fn scheme(&mut self, this: Resource<Infallible>) -> wasmtime::Result<Option<Scheme>> {
        match *self.table.get(&this)? {}
    }

    fn authority(&mut self, this: Resource<Infallible>) -> wasmtime::Result<Option<String>> {
        match *self.table.get(&this)? {}
    }

    fn headers(&mut self, this: Resource<Infallible>) -> wasmtime::Result<Resource<HeaderFields>> {
        match *self.table.get(&this)? {}
    }

    fn consume(&mut self, this: Resource<Infallible>) -> Answered<Resource<IncomingBody>, ()> {
        match *self.table.get(&this)? {}
    }

    fn drop(&mut self, this: Resource<Infallible>) -> wasmtime::Result<()> {
        match self.table.delete(this)? {}
    }
}

impl types::HostResponseOutparam for StoreState {
    fn send_informational(
        &mut self,
        this: Resource<Infallible>,
        _: u16,
        _: Resource<HeaderFields>,
    ) -> Answered<(), ErrorCode> {
        match *self.table.get(&this)? {}
    }

    fn set(
        &mut self,
        this: Resource<Infallible>,
        _: Result<Resource<OutgoingResponse>, ErrorCode>,
    ) -> wasmtime::Result<()> {
        match self.table.delete(this)? {}
    }

    fn drop(&mut self, this: Resource<Infallible>) -> wasmtime::Result<()> {
        match self.table.delete(this)? {}
    }
}

impl types::HostOutgoingResponse for StoreState {
    fn new(&mut self, headers: Resource<HeaderFields>) -> wasmtime::Result<Resource<OutgoingResponse>> {
        let headers = self.table.delete(headers)?.freeze();
        Ok(self.table.push(OutgoingResponse { status: 200, headers })?)
    }

    fn status_code(&mut self, this: Resource<OutgoingResponse>) -> wasmtime::Result<u16> {
        Ok(self.table.get(&this)?.status)
    }

    fn set_status_code(&mut self, this: Resource<OutgoingResponse>, status: u16) -> Answered<(), ()> {
        self.table.get_mut(&this)?.status = status;
        Ok(Ok(()))
    }

    fn headers(&mut self, this: Resource<OutgoingResponse>) -> wasmtime::Result<Resource<HeaderFields>> {
        let headers = self.table.get(&this)?.headers.clone();
        Ok(self.table.push(headers)?)
    }

    fn body(&mut self, _: Resource<OutgoingResponse>) -> Answered<Resource<OutgoingBody>, ()> {
        Ok(Err(()))
    }

    fn drop(&mut self, this: Resource<OutgoingResponse>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
