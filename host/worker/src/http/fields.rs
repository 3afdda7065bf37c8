//! Header fields in a guest's hands: names in small letters, bounded, and none that are the
//! gateway's to choose.

use super::bindings::wasi::http::types::{self, HeaderError};
use crate::state::{Answered, StoreState};
use cofferdam_core::web::{HEADER_BYTES_MAX, HEADERS_MAX, Headers};
use serde_bytes::ByteBuf;
use wasmtime::component::Resource;

/// What is between the gateway and the server, or stands for another method than the gateway
/// judges, and so no guest's to say.
const FORBIDDEN: &[&str] = &[
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];

/// A list of fields.
#[derive(Clone, Debug, Default)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct HeaderFields {
    list: Vec<(String, Vec<u8>)>,
    /// Those of a request or an answer are no one's to change.
    immutable: bool,
}

impl HeaderFields {
    /// Those of an answer.
    pub(super) fn from_headers(headers: Headers) -> Self {
        let list = headers.into_iter().map(|(name, value)| (name, value.into_vec())).collect();
        Self { list, immutable: true }
    }

    /// The same for a request or an answer.
    #[must_use]
    pub(super) fn freeze(mut self) -> Self {
        self.immutable = true;
        self
    }

    /// As the gateway is told.
    pub(super) fn wire(&self) -> Headers {
        self.list.iter().map(|(name, value)| (name.clone(), ByteBuf::from(value.clone()))).collect()
    }

    fn append(&mut self, name: &str, value: Vec<u8>) -> Changed {
        let name = match self.check_change(name) {
            Ok(name) => name,
            Err(error) => return Ok(Err(error)),
        };
        if value.iter().any(|b| (*b < 0x20 && *b != b'\t') || *b == 0x7f) {
            return Ok(Err(HeaderError::InvalidSyntax));
        }
        let bytes: usize = self.list.iter().map(|(name, value)| name.len() + value.len()).sum();
        if self.list.len() >= HEADERS_MAX || bytes + name.len() + value.len() > HEADER_BYTES_MAX {
            wasmtime::bail!(
                "it set more than {HEADERS_MAX} headers, or more than {HEADER_BYTES_MAX} bytes of them"
            );
        }
        self.list.push((name, value));
        Ok(Ok(()))
    }

    /// The name of fields that are about to change.
    fn check_change(&self, name: &str) -> Result<String, HeaderError> {
        let lower = lower_name(name).ok_or(HeaderError::InvalidSyntax)?;
        match (self.immutable, FORBIDDEN.contains(&lower.as_str())) {
            (true, _) => Err(HeaderError::Immutable),
            (false, true) => Err(HeaderError::Forbidden),
            (false, false) => Ok(lower),
        }
    }
}

/// A name in small letters, if it is one (RFC 9110, 5.6.2).
fn lower_name(name: &str) -> Option<String> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    (!name.is_empty() && name.bytes().all(is_token)).then(|| name.to_ascii_lowercase())
}

type Changed = Answered<(), HeaderError>;

impl types::HostFields for StoreState {
    fn new(&mut self) -> wasmtime::Result<Resource<HeaderFields>> {
        Ok(self.table.push(HeaderFields::default())?)
    }

    fn from_list(
        &mut self,
        entries: Vec<(String, Vec<u8>)>,
    ) -> Answered<Resource<HeaderFields>, HeaderError> {
        let mut fields = HeaderFields::default();
        for (name, value) in entries {
            if let Err(error) = fields.append(&name, value)? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(self.table.push(fields)?))
    }

    fn get(&mut self, this: Resource<HeaderFields>, name: String) -> wasmtime::Result<Vec<Vec<u8>>> {
        let (fields, name) = (self.table.get(&this)?, lower_name(&name).unwrap_or_default());
        Ok(fields.list.iter().filter(|(known, _)| *known == name).map(|(_, value)| value.clone()).collect())
    }

    fn has(&mut self, this: Resource<HeaderFields>, name: String) -> wasmtime::Result<bool> {
        let (fields, name) = (self.table.get(&this)?, lower_name(&name).unwrap_or_default());
        Ok(fields.list.iter().any(|(known, _)| *known == name))
    }

    fn set(&mut self, this: Resource<HeaderFields>, name: String, values: Vec<Vec<u8>>) -> Changed {
        let fields = self.table.get_mut(&this)?;
        let lower = match fields.check_change(&name) {
            Ok(lower) => lower,
            Err(error) => return Ok(Err(error)),
        };
        let mut set = fields.clone();
        set.list.retain(|(known, _)| *known != lower);
        for value in values {
            if let Err(error) = set.append(&lower, value)? {
                return Ok(Err(error));
            }
        }
        *fields = set;
        Ok(Ok(()))
    }

    fn delete(&mut self, this: Resource<HeaderFields>, name: String) -> Changed {
        let fields = self.table.get_mut(&this)?;
        Ok(fields.check_change(&name).map(|lower| fields.list.retain(|(known, _)| *known != lower)))
    }

    fn append(&mut self, this: Resource<HeaderFields>, name: String, value: Vec<u8>) -> Changed {
        self.table.get_mut(&this)?.append(&name, value)
    }

    fn entries(&mut self, this: Resource<HeaderFields>) -> wasmtime::Result<Vec<(String, Vec<u8>)>> {
        Ok(self.table.get(&this)?.list.clone())
    }

    fn clone(&mut self, this: Resource<HeaderFields>) -> wasmtime::Result<Resource<HeaderFields>> {
        let fields = HeaderFields { immutable: false, ..self.table.get(&this)?.clone() };
        Ok(self.table.push(fields)?)
    }

    fn drop(&mut self, this: Resource<HeaderFields>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}
