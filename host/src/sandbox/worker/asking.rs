//! What a worker says during a call: it asks on behalf of the guest, and the gateway answers each request before the
//! next. Plain data; it names nothing of the engine, so that it is fuzzed without building one.

pub(super) use cofferdam_core::host_call::{Ask, Tell};

use super::super::missing::Missing;
use cofferdam_core::tool::ToolError;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::borrow::Cow;

/// Longest request of a guest: a write through a stream, and what stands around it.
pub(super) const ASK_BYTES_MAX: usize = 2 << 20;

/// What a worker says during a call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromWorker<'a> {
    /// A request of the guest, to be answered.
    #[serde(borrow)]
    Ask(Ask<'a>),
    /// A remark, not to be answered.
    #[serde(borrow)]
    Tell(Tell<'a>),
    /// The cache has no sound entry for the component.
    NotCompiled(Missing),
    /// The call is over: the guest's text, or why there is none.
    #[serde(borrow)]
    Ended(Result<Cow<'a, str>, ToolError>),
}

/// An attachment's bytes: small ones inline, a larger one as a descriptor that comes with the answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) len: u64,
    pub(super) sha256: [u8; 32],
    pub(super) inline: Option<ByteBuf>,
}
