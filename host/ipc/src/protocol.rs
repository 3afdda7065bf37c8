//! The messages. The gateway asks for one thing at a time; while it waits for the result of a call,
//! the worker asks back ([`Request`]).

use cofferdam_confine::Report;
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::{EntryCall, EntryPoint};
use cofferdam_core::host_call::{Notification, Request};
use cofferdam_core::limits::Limits;
use cofferdam_core::tool::ToolError;
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes;
use std::borrow::Cow;

/// Longest machine code of a component.
pub const COMPILED_BYTES_MAX: usize = 256 << 20;
/// Longest message to a worker: a component to be compiled or the arguments of a call, and what
/// stands around them.
pub const TO_WORKER_BYTES_MAX: usize = 128 << 20;
/// Longest request of a guest: a write through a stream, and what stands around it.
pub const REQUEST_BYTES_MAX: usize = 2 << 20;
/// Longest description: two schemas, and what stands around them.
pub const DESCRIPTION_BYTES_MAX: usize = 1 << 20;

/// The first message to a worker: what it is for. Its confinement follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hello {
    /// Runs the guests of one component. The machine code and one folder a mount come with it as
    /// descriptors, in this order.
    Call {
        /// Guest names of the mounts.
        mounts: Vec<String>,
    },
    /// Compiles one component, whose bytes are the next message: answered by [`Compiled`].
    Compile {
        /// Processor time over all its threads, in seconds.
        cpu_seconds: u64,
    },
}

/// The first message of a worker: what is in force, or why it ends.
pub type Ready = Result<Report, StartError>;

/// Why a worker cannot serve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum StartError {
    /// It cannot be confined.
    #[error("a worker cannot confine itself, so no guest runs: {0}")]
    Confine(String),
    /// The engine does not start on this machine.
    #[error("a worker's engine does not start: {0}")]
    Engine(String),
    /// The machine code is none that this engine runs.
    #[error("a worker does not load the machine code: {0}")]
    Code(String),
}

/// What the gateway wants of a worker that runs calls.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToWorker<'a> {
    /// Let the component describe itself under these grants: answered by a [`Description`]. One
    /// that is no tool of the contract says nothing; it is seen whether it has the entry point.
    Describe {
        /// What its imports are linked with.
        grants: Cow<'a, Grants>,
        /// What of it will be called.
        point: EntryPoint,
    },
    /// List the functions that the component exports, those of the contract and of commands apart:
    /// answered by a list of [`ExportedFunction`].
    Functions,
    /// Run a call: answered by [`FromWorker`]s up to [`FromWorker::Ended`].
    Call {
        /// What runs.
        spec: Cow<'a, CallSpec>,
        /// Time that is left, in milliseconds.
        time_ms: u64,
    },
}

/// One call as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallSpec {
    /// The arguments, a JSON object; empty where the entry has all that is needed of them.
    pub arguments: String,
    /// What of the component is called.
    pub entry: EntryCall,
    /// Mounts and interfaces within reach.
    pub grants: Grants,
    /// The limits of the call.
    pub limits: Limits,
}

/// What a worker says during a call.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromWorker<'a> {
    /// A request of the guest, to be answered.
    #[serde(borrow)]
    Request(Request<'a>),
    /// A word of the guest, not to be answered.
    #[serde(borrow)]
    Notification(Notification<'a>),
    /// The call is over: the guest's text, or why there is none.
    #[serde(borrow)]
    Ended(Result<Cow<'a, str>, ToolError>),
}

/// Machine code, or why there is none.
pub type Compiled<'a> = Result<&'a Bytes, String>;

/// What a component says of itself, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The tool's name.
    pub name: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// JSON Schema of its arguments.
    pub arguments_schema: String,
    /// JSON Schema of its result.
    pub result_schema: String,
}

/// Functions of one component that are listed.
pub const FUNCTIONS_MAX: usize = 256;

/// A function that a component exports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFunction {
    /// As a policy names it: `read-file`, or `acme:demo/math@1.2.0#paint`.
    pub export: String,
    /// JSON Schema of its arguments and of its result, or why JSON cannot hold them.
    pub schemas: Result<(String, String), String>,
}

/// Why a component has no description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum DescribeError {
    /// An import is not granted.
    #[error("the component does not load: {0}")]
    Link(String),
    /// It does not describe a tool.
    #[error("the component does not describe a tool: {0}")]
    Describe(String),
}
