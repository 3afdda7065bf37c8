//! What gateway and worker say to each other. Plain data; a permit never crosses.
//!
//! The gateway asks for one thing at a time. While it waits for the answer to a call, the worker asks back
//! (`asking.rs`).

use super::super::cache::Compatibility;
use super::super::machine::{Job, Said};
use super::super::missing::Missing;
use crate::confine::Report;
use cofferdam_core::capability::Grants;
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;
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
    /// Run a call: answered by [`FromWorker`](super::asking::FromWorker)s up to `Ended`.
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

/// Longest message to a worker: machine code, and what stands around it.
pub(super) const TO_WORKER_BYTES_MAX: usize = COMPILED_BYTES_MAX + (1 << 20);
/// Longest machine code of a component.
pub const COMPILED_BYTES_MAX: usize = 256 << 20;
