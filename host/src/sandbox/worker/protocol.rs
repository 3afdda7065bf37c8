//! What gateway and worker say to each other. Plain data; a permit never crosses.
//!
//! The gateway asks for one thing at a time. While it waits for the answer to a call, the worker asks back
//! on behalf of the guest, and the gateway answers each request before the next.

pub(super) use cofferdam_core::host_call::{Ask, Tell};

use super::super::cache::{Compatibility, Missing};
use super::super::machine::{Job, Said};
use crate::confine::Report;
use cofferdam_core::capability::Grants;
use cofferdam_core::tool::ToolError;
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteBuf, Bytes};
use std::borrow::Cow;

/// What a worker is for; its confinement follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Runs guests of one profile.
    Call,
    /// Compiles one component, in so much CPU time.
    Compile { cpu_seconds: u64 },
}

/// The first message to a worker. The cache's folder and one folder a mount come with it, in this order; a
/// compiling worker gets neither.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) kind: Kind,
    /// The guest names of the mounts.
    pub(super) mounts: Vec<String>,
}

/// The first message of a worker: what is in force, or why it cannot confine itself and ends.
pub(super) type Ready = Result<Report, String>;

/// What the gateway wants.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToWorker<'a> {
    /// Compile these bytes: answered by [`Compiled`].
    Compile(#[serde(borrow)] &'a Bytes),
    /// Machine code that the cache does not keep; not answered.
    Code {
        sha256: Cow<'a, str>,
        #[serde(borrow)]
        code: &'a Bytes,
    },
    /// Link a component of the cache and let it describe itself: answered by [`Described`].
    Describe { sha256: Cow<'a, str>, grants: Cow<'a, Grants>, time_ms: u64 },
    /// Run a call: answered by [`FromWorker`]s up to `Ended`.
    Call { sha256: Cow<'a, str>, job: Cow<'a, Job>, time_ms: u64 },
}

/// Machine code, or why there is none.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Compiled<'a> {
    Code(Compatibility, #[serde(borrow)] &'a Bytes),
    Refused(String),
}

/// What became of a description.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Described {
    /// By code of this compatibility.
    Said(Compatibility, Said),
    /// There is no code to link.
    NotCompiled(Missing),
    /// An import is not granted.
    Link(String),
    /// It does not describe a tool.
    Describe(String),
    /// The engine fails.
    Engine(String),
}

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

/// Longest message to a worker: machine code, and what stands around it.
pub(super) const TO_WORKER_BYTES_MAX: usize = COMPILED_BYTES_MAX + (1 << 20);
/// Longest request of a guest: a write through a stream, and what stands around it.
pub(super) const ASK_BYTES_MAX: usize = 2 << 20;
/// Longest machine code of a component.
pub const COMPILED_BYTES_MAX: usize = 256 << 20;
