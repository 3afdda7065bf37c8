//! The sandbox: loads components and runs judged calls, each in a fresh instance with nothing within
//! reach but what its permit grants.
//!
//! The only room that names wasmtime. There is no native fallback: without a sandbox nothing runs.
//! It publishes nothing; a call's plan leaves it as a value. Guests run in worker processes, or in this one
//! where that was asked for by name.

mod attachments;
mod authority;
mod binary;
mod bindings;
mod cache;
mod clock;
mod descriptions;
mod engine;
mod files;
mod host_calls;
pub mod imports;
mod last_words;
mod machine;
mod missing;
mod mounts;
mod notice;
mod outcome;
mod reply;
mod staging;
mod state;
mod stdio;
pub mod worker;

pub use authority::REPORT_BYTES_MAX;
pub use binary::Binary;
pub use cache::{CACHE_ENTRIES_MAX, COMPONENT_BYTES_MAX};
pub use clock::CANCEL_GRACE;
pub use files::DIRECTORY_ENTRIES_MAX;
pub use notice::{loading, tell_of_compiling};
pub use stdio::OUTPUT_BYTES_MAX;

use crate::attachments::Attachments;
use crate::attachments::outgoing::Addition;
use crate::confine::{self, COMPILE_CPU_SECONDS, Mode};
use crate::publish::{Planned, TurnShare, Workspace};
use authority::Authority;
use cache::Cache;
use clock::Clock;
use cofferdam_core::capability::Grants;
use cofferdam_core::json::parse_strict;
use cofferdam_core::limits::{Limits, Span};
use cofferdam_core::policy::{GuestPath, Permit};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{Description, ErrorCode, ToolError, ToolName};
use machine::{DESCRIBE_LIMITS, Job, Linked, Machine, Reach, Said};
use mounts::{Mounts, granted};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use worker::{Known, Pool, Seat};

/// What the sandbox is built with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where compiled components are kept.
    pub cache_dir: PathBuf,
    /// Calls that may run at once in this process: address space is reserved for this many.
    pub calls_max: u32,
    /// Where guests run, and whether workers must be confined whole.
    pub isolation: confine::Config,
    /// How long a component may compile, where a process does it that can be ended.
    pub compile_time: Span,
}

/// How long a component may compile when nobody says.
pub const COMPILE_TIME: Span = Span::seconds(COMPILE_CPU_SECONDS);
/// The longest that can be asked for.
pub const COMPILE_TIME_CEILING: Span = Span::seconds(3600);

/// Whether components can be compiled within this.
pub fn compile_time_is_sound(time: Span) -> bool {
    time.0 > Duration::ZERO && time <= COMPILE_TIME_CEILING
}

/// Why a component cannot be loaded, or the sandbox not be built.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The engine does not start on this machine.
    #[error("the sandbox does not start: {0}")]
    Engine(String),
    /// The compile cache is unusable.
    #[error("the compile cache is unusable: {0}")]
    Cache(String),
    /// The component is larger than [`COMPONENT_BYTES_MAX`].
    #[error("the component has {0} bytes; at most {COMPONENT_BYTES_MAX} are loaded")]
    TooLarge(usize),
    /// It is no component, or not one this engine takes.
    #[error("the component does not compile: {0}")]
    Compile(String),
    /// It imports what is not granted.
    #[error("the component does not load: {0}")]
    Link(String),
    /// It does not describe itself as a tool.
    #[error("the component does not describe a tool: {0}")]
    Describe(String),
}

/// Handles that one call may hold: files, streams, directories, attachments.
pub const HANDLES_MAX: usize = 256;
/// Random bytes that a guest may ask for at once.
pub const RANDOM_BYTES_MAX: u64 = 64 << 10;
/// Bytes that a guest may hand to one host function; the result has its own limit on top.
const HOSTCALL_BYTES_MAX: usize = 2 << 20;
/// A schema longer than this is refused.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;
/// Longest summary of a tool.
const SUMMARY_BYTES_MAX: usize = 400;

/// Loads components and runs calls.
pub struct Sandbox {
    place: Place,
}

enum Place {
    Here { machine: Box<Machine>, cache: Cache, mounts: Mounts },
    Workers(Pool),
}

/// A component that is compiled, linked with what its profile grants, and ready to be instantiated.
#[derive(Clone)]
pub struct Component {
    binary: Arc<Binary>,
    said: Arc<Said>,
    /// In workers the link is theirs.
    linked: Option<Linked>,
}

impl Component {
    /// SHA-256 of the component's bytes, lower-case hex.
    pub fn sha256(&self) -> &str {
        self.binary.sha256()
    }

    fn known(&self) -> Known<'_> {
        Known { sha256: self.binary.sha256(), bytes: self.binary.bytes() }
    }
}

/// Takes what a call says of its progress.
pub type Reports = Arc<dyn Fn(&str) + Send + Sync>;

/// What a call needs besides its permit.
pub struct Inputs {
    /// The call's attachments; not handed on unless the permit grants them.
    pub attachments: Attachments,
    /// Takes what the call adds to the reply; not handed on unless the permit grants it.
    pub reply: Option<Addition>,
    /// Takes progress reports, if anybody does.
    pub report: Option<Reports>,
    /// Takes the lines that the guest prints, if anybody does.
    pub printed: Option<Reports>,
    /// What the call may write of its turn's share.
    pub turn: TurnShare,
    /// Files that an earlier run of this call has made before a crash cut it off: their names are free to it.
    pub made: Vec<GuestPath>,
    /// Ends the call early.
    pub cancel: CancellationToken,
    /// When the call's time began.
    pub started: Instant,
}

impl Inputs {
    fn clock(&self, limits: &Limits) -> Clock {
        Clock::new(self.started + limits.deadline.0, self.cancel.clone())
    }
}

/// How a call ended.
pub struct Finished {
    /// The tool's JSON object, or why there is none.
    pub result: Result<Value, ToolError>,
    /// What the guest planned, in order. To be carried out only if `result` is ok.
    pub plan: Vec<Planned>,
    /// Bytes that were staged, discarded ones included.
    pub written_bytes: u64,
    /// What the guest added to the reply. To be kept only if `result` is ok.
    pub reply: Option<Addition>,
}

impl Sandbox {
    /// A sandbox without any guest yet.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] and [`SandboxError::Cache`]; the gateway must not start then.
    pub fn new(config: &Config) -> Result<Self, SandboxError> {
        let cache = Cache::open(&config.cache_dir)?;
        let failed = |e: std::io::Error| SandboxError::Engine(e.to_string());
        let place = match config.isolation.mode {
            Mode::InProcess => {
                let machine = Box::new(Machine::interrupting(config.calls_max)?);
                Place::Here { machine, cache, mounts: Mounts::default() }
            }
            Mode::Processes => {
                let pool = Pool::new(cache, config.compile_time, config.isolation);
                Place::Workers(pool.map_err(failed)?)
            }
        };
        Ok(Self { place })
    }

    /// The component, linked with what `grants` allow.
    ///
    /// # Errors
    /// [`SandboxError`]; an import that is not granted is named.
    pub fn load(&self, binary: Binary, grants: &Grants) -> Result<Component, SandboxError> {
        let known = Known { sha256: binary.sha256(), bytes: binary.bytes() };
        let (said, linked) = match &self.place {
            Place::Here { machine, cache, .. } => {
                let component = cache.load(machine.engine(), known.bytes, known.sha256)?;
                let linked = machine.link(&component, grants)?;
                let clock = Clock::until(Instant::now() + DESCRIBE_LIMITS.deadline.0);
                (machine.describe(&linked, &clock)?, Some(linked))
            }
            Place::Workers(pool) => (pool.describe(known, grants)?, None),
        };
        Ok(Component { binary: Arc::new(binary), said: Arc::new(said), linked })
    }

    /// What the component says of itself, checked.
    ///
    /// # Errors
    /// [`SandboxError::Describe`] says what is wrong with the description.
    pub fn describe(&self, component: &Component) -> Result<Description, SandboxError> {
        let said = &component.said;
        let schema = |what: &str, text: &str| {
            parse_strict(text)
                .map_err(|e| SandboxError::Describe(format!("its {what} schema is not JSON: {e}")))
        };
        Ok(Description {
            name: ToolName::parse(&said.name).map_err(|e| SandboxError::Describe(e.to_string()))?,
            summary: one_line(&said.summary, SUMMARY_BYTES_MAX),
            arguments: schema("arguments", &said.arguments_schema)?,
            result: schema("result", &said.result_schema)?,
        })
    }

    /// Has a worker of a profile ready for its first call in this workspace; nothing where guests run in this
    /// process.
    pub fn start_ahead(&self, profile: &str, grants: &Grants, workspace: &Workspace) {
        if let Place::Workers(pool) = &self.place {
            pool.start_ahead(Seat { profile: profile.to_owned(), folders: granted(grants, workspace) });
        }
    }

    /// Has a process ready for whichever worker is wanted next, whoever it will serve; nothing where guests run
    /// in this process.
    pub fn keep_spare(&self) {
        if let Place::Workers(pool) = &self.place {
            pool.keep_spare();
        }
    }

    /// Sees whether a worker starts, confined as is demanded; nothing where guests run in this process.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] when none does.
    pub fn try_worker(&self) -> Result<(), SandboxError> {
        match &self.place {
            Place::Here { .. } => Ok(()),
            Place::Workers(pool) => pool.try_worker().map_err(|e| SandboxError::Engine(e.to_string())),
        }
    }

    /// Runs a judged call to its end; its guest sees the granted mounts of `workspace`. Blocks; meant for a
    /// thread of its own, never an async worker.
    pub fn run(
        &self,
        permit: Permit,
        component: &Component,
        workspace: &Arc<Workspace>,
        inputs: Inputs,
    ) -> Finished {
        let limits = *permit.limits();
        let clock = inputs.clock(&limits);
        let job =
            Job { arguments: permit.call().arguments.to_string(), grants: permit.grants().clone(), limits };
        let seat = Seat { profile: permit.profile().to_owned(), folders: granted(&job.grants, workspace) };
        let authority = Arc::new(Mutex::new(Authority::new(permit, inputs, Some(workspace))));
        let mine = || authority.lock().unwrap_or_else(PoisonError::into_inner);
        let returned = match (&self.place, &component.linked) {
            (Place::Here { machine, mounts, .. }, Some(linked)) => {
                let calls = authority.clone();
                let opened = mounts.of(&seat.folders).map_err(unopened);
                opened.and_then(|mounts| machine.run(linked, &job, Reach { mounts, calls }, &clock))
            }
            (Place::Workers(pool), _) => pool.call(component.known(), seat, &job, &mut *mine(), &clock),
            (Place::Here { .. }, None) => {
                Err(ToolError::new(ErrorCode::Internal, "the component was loaded by another sandbox"))
            }
        };
        // A guest that was stopped inside a host function tells of a failure; the reason is ours. Nobody
        // waits for what a cancelled one says.
        let result = match clock.useless() {
            Some(stopped) => Err(stopped.to_tool_error(&limits)),
            None => returned.and_then(|text| read_result(&text, &limits)),
        };
        let (plan, written_bytes, reply) = mine().take_plan();
        Finished { result, plan, written_bytes, reply: reply.filter(|reply| !reply.is_empty()) }
    }
}

fn unopened(error: std::io::Error) -> ToolError {
    tracing::error!(%error, "a folder of the workspace cannot be opened once more");
    ToolError::new(ErrorCode::ToolUnavailable, "the sandbox cannot be set up; see the log")
}

fn read_result(text: &str, limits: &Limits) -> Result<Value, ToolError> {
    if text.len() as u64 > limits.result.0 {
        return Err(machine::too_long(text.len(), limits));
    }
    match parse_strict(text) {
        // Printed, it could not be told from a failure, and its code may be one that only the host says.
        Ok(Value::Object(object)) if object.get("error").is_some_and(|error| error.get("code").is_some()) => {
            let said = "the tool returned an error as its result; it must fail with it instead";
            Err(ToolError::new(ErrorCode::Trapped, said))
        }
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(ToolError::new(ErrorCode::Trapped, "the tool returned JSON that is not an object")),
        Err(error) => Err(ToolError::new(ErrorCode::Trapped, format!("the tool returned no JSON: {error}"))),
    }
}
