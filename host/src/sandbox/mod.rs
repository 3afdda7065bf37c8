//! The sandbox: loads components and runs judged calls, each in a fresh instance with nothing within
//! reach but what its permit grants.
//!
//! The only room that names wasmtime. There is no native fallback: without a sandbox nothing runs.
//! It publishes nothing; sealed files leave it as values.

mod attachments;
mod bindings;
mod cache;
mod engine;
mod files;
pub mod imports;
mod outcome;
mod staging;
mod state;
mod stdio;

pub use cache::{CACHE_ENTRIES_MAX, COMPONENT_BYTES_MAX};
pub use stdio::OUTPUT_BYTES_MAX;

use crate::attachments::Attachments;
use crate::publish::{Budget, SealedFile, Stop, Workspace};
use bindings::ToolWorldPre;
use bindings::cofferdam::tool::{turn_attachments, workspace_write};
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::capability::{Grants, Interface, MOUNTS};
use cofferdam_core::json::parse_strict;
use cofferdam_core::limits::{ByteSize, Limits, Span};
use cofferdam_core::policy::Permit;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{Description, ErrorCode, ToolError, ToolName};
use engine::{Running, Ticker};
use files::{HasFiles, Mount};
use outcome::Stopped;
use serde_json::Value;
use state::{MemoryLimit, Staging, State};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use stdio::Output;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

/// What the sandbox is built with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where compiled components are kept.
    pub cache_dir: PathBuf,
    /// Calls that may run at once; address space is reserved for this many.
    pub calls_max: u32,
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

/// What `describe` may use: it has nothing to do but return a text.
const DESCRIBE_LIMITS: Limits = Limits {
    memory: ByteSize::mib(16),
    deadline: Span::seconds(2),
    written_bytes: ByteSize(0),
    arguments: ByteSize(0),
    result: ByteSize::kib(256),
};

/// Loads components and runs calls.
pub struct Sandbox {
    engine: Engine,
    ticker: Ticker,
    cache: cache::Cache,
    /// None where tools are looked at and never called.
    workspace: Option<Arc<Workspace>>,
    mounts: Vec<Mount>,
}

/// A component that is compiled, linked with what its profile grants, and ready to be instantiated.
#[derive(Clone)]
pub struct Component {
    pre: ToolWorldPre<State>,
    sha256: String,
}

impl Component {
    /// SHA-256 of the component's bytes, lower-case hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// What a call needs besides its permit.
pub struct Inputs {
    /// The turn's attachments; not handed on unless the permit grants `turn-attachments`.
    pub attachments: Attachments,
    /// Ends the call early.
    pub cancel: CancellationToken,
    /// When the call's time began.
    pub started: Instant,
}

/// How a call ended.
pub struct Finished {
    /// The tool's JSON object, or why there is none.
    pub result: Result<Value, ToolError>,
    /// What the guest sealed, in order. To be published only if `result` is ok.
    pub sealed: Vec<SealedFile>,
}

impl Sandbox {
    /// A sandbox whose guests see the granted mounts of `workspace`.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] and [`SandboxError::Cache`]; the gateway must not start then.
    pub fn new(config: &Config, workspace: Option<Arc<Workspace>>) -> Result<Self, SandboxError> {
        let engine = engine::engine(config.calls_max, Limits::CEILING.memory.0 as usize)?;
        let ticker = Ticker::start(&engine)?;
        let mounts =
            MOUNTS.iter().filter_map(|guest| Some(Mount::new(guest, workspace.as_ref()?.mount(guest)?)));
        let mounts = mounts.collect::<Result<_, _>>().map_err(|e| SandboxError::Engine(e.to_string()))?;
        Ok(Self { cache: cache::Cache::open(&config.cache_dir)?, engine, ticker, workspace, mounts })
    }

    /// The component of these bytes, linked with what `grants` allow.
    ///
    /// # Errors
    /// [`SandboxError`]; an import that is not granted is named.
    pub fn load(&self, bytes: &[u8], grants: &Grants) -> Result<Component, SandboxError> {
        let sha256 = sha256_hex(bytes);
        let component = self.cache.load(&self.engine, bytes, &sha256)?;
        let linker = self.linker(grants).map_err(|e| SandboxError::Engine(format!("{e:#}")))?;
        let refused = |e: wasmtime::Error| SandboxError::Link(link_problem(&e));
        let pre = linker.instantiate_pre(&component).map_err(refused)?;
        let pre = ToolWorldPre::new(pre).map_err(refused)?;
        Ok(Component { pre, sha256 })
    }

    /// What the component says of itself, checked. Runs with nothing granted and tight limits.
    ///
    /// # Errors
    /// [`SandboxError::Describe`] says what is wrong with the description.
    pub fn describe(&self, component: &Component) -> Result<Description, SandboxError> {
        let output = Output::new("describe");
        let state = State {
            wasi: context(&output),
            table: ResourceTable::new(),
            memory: MemoryLimit { bytes_max: DESCRIBE_LIMITS.memory.0 as usize, exceeded: false },
            mounts: Vec::new(),
            attachments: Attachments::default(),
            staging: None,
        };
        let cancel = CancellationToken::new();
        let mut run = self.start(state, &DESCRIBE_LIMITS, Instant::now(), &cancel);
        let said = run.block_on(&DESCRIBE_LIMITS, async |store| {
            let instance = component.pre.instantiate_async(&mut *store).await?;
            instance.cofferdam_tool_tool().call_describe(store).await
        });
        let memory = &run.store.data().memory;
        let said = said.map_err(|e| {
            SandboxError::Describe(outcome::of_failure(&e, memory, &DESCRIBE_LIMITS, &output.tail()).message)
        })?;
        let schema = |what: &str, text: &str| {
            if text.len() > SCHEMA_BYTES_MAX {
                return Err(SandboxError::Describe(format!(
                    "its {what} schema is longer than {SCHEMA_BYTES_MAX} bytes"
                )));
            }
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

    /// Runs a judged call to its end. Blocks; meant for a thread of its own, never an async worker.
    pub fn run(&self, permit: Permit, component: &Component, inputs: Inputs) -> Finished {
        let limits = *permit.limits();
        let arguments = permit.call().arguments.to_string();
        let output = Output::new(permit.call().tool.as_str());
        let state = self.state(permit, &inputs, &output);
        let mut run = self.start(state, &limits, inputs.started, &inputs.cancel);
        let returned = run.block_on(&limits, async |store| {
            let instance = component.pre.instantiate_async(&mut *store).await?;
            instance.cofferdam_tool_tool().call_call(store, &arguments).await
        });
        output.finish();
        let (deadline, cancel) = (run.deadline, run.cancel.clone());
        let state = run.store.into_data();
        let result = match returned {
            Ok(Ok(text)) => read_result(&text, &limits),
            // A guest that was stopped inside a host function tells of a failure; the reason is ours.
            Ok(Err(error)) => Err(match stop(deadline, &cancel) {
                Some(stopped) => stopped.to_tool_error(&limits),
                None => state::from_guest(error),
            }),
            Err(error) => Err(outcome::of_failure(&error, &state.memory, &limits, &output.tail())),
        };
        let sealed = state.staging.map(|s| s.sealed).unwrap_or_default();
        Finished { result, sealed }
    }

    /// WASI 0.2 with nothing behind it, our own filesystem over the stock one, and what is granted.
    fn linker(&self, grants: &Grants) -> wasmtime::Result<Linker<State>> {
        let mut linker = Linker::new(&self.engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        linker.allow_shadowing(true);
        use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
        types::add_to_linker::<State, HasFiles>(&mut linker, State::files)?;
        preopens::add_to_linker::<State, HasFiles>(&mut linker, State::files)?;
        linker.allow_shadowing(false);
        if grants.allows(Interface::TurnAttachments) {
            turn_attachments::add_to_linker::<State, HasSelf<_>>(&mut linker, |state| state)?;
        }
        if grants.may_write() {
            workspace_write::add_to_linker::<State, HasSelf<_>>(&mut linker, |state| state)?;
        }
        Ok(linker)
    }

    /// What a call finds within reach: nothing but its grants.
    fn state(&self, permit: Permit, inputs: &Inputs, output: &Output) -> State {
        let limits = *permit.limits();
        let grants = permit.grants();
        let mounts =
            self.mounts.iter().filter(|mount| grants.access(mount.guest()).is_some()).cloned().collect();
        let attachments = match grants.allows(Interface::TurnAttachments) {
            true => inputs.attachments.clone(),
            false => Attachments::default(),
        };
        let staging = self.workspace.as_ref().filter(|_| grants.may_write()).map(|workspace| {
            let deadline = inputs.started + limits.deadline.0;
            let cancel = inputs.cancel.clone();
            let budget = Budget::new(limits.written_bytes, move || {
                stop(deadline, &cancel).map(|stopped| match stopped {
                    Stopped::Deadline => Stop::Deadline,
                    Stopped::Cancelled => Stop::Cancelled,
                })
            });
            (workspace.clone(), Arc::new(budget))
        });
        State {
            wasi: context(output),
            table: ResourceTable::new(),
            memory: MemoryLimit { bytes_max: limits.memory.0 as usize, exceeded: false },
            mounts,
            attachments,
            staging: staging.map(|(workspace, budget)| Staging {
                permit,
                workspace,
                budget,
                sealed: Vec::new(),
            }),
        }
    }

    fn start(&self, mut state: State, limits: &Limits, started: Instant, cancel: &CancellationToken) -> Run {
        state.table.set_max_capacity(HANDLES_MAX);
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(HOSTCALL_BYTES_MAX + limits.result.0 as usize);
        store.set_max_component_handles(HANDLES_MAX);
        store.set_epoch_deadline(1);
        let deadline = started + limits.deadline.0;
        let watched = cancel.clone();
        store.epoch_deadline_callback(move |_| match stop(deadline, &watched) {
            Some(stopped) => Err(wasmtime::Error::new(stopped)),
            None => Ok(UpdateDeadline::Continue(1)),
        });
        Run { store, deadline, cancel: cancel.clone(), _running: self.ticker.run() }
    }
}

fn stop(deadline: Instant, cancel: &CancellationToken) -> Option<Stopped> {
    if cancel.is_cancelled() {
        Some(Stopped::Cancelled)
    } else if Instant::now() >= deadline {
        Some(Stopped::Deadline)
    } else {
        None
    }
}

/// A store with its deadline and its share of the ticking clock.
struct Run {
    store: Store<State>,
    deadline: Instant,
    cancel: CancellationToken,
    _running: Running,
}

thread_local! {
    /// Drives the guest's waits (clocks, polls) on this thread alone.
    static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs only memory");
}

impl Run {
    /// Runs `work` until it ends, the deadline passes or the call is cancelled: guest code is stopped
    /// by the epoch, a wait in a host function by dropping it.
    fn block_on<T>(
        &mut self,
        limits: &Limits,
        work: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        if let Some(stopped) = stop(self.deadline, &self.cancel) {
            return Err(wasmtime::Error::new(stopped));
        }
        debug_assert!(limits.deadline.0 >= self.deadline.saturating_duration_since(Instant::now()));
        let (deadline, cancel) = (self.deadline, self.cancel.clone());
        let store = &mut self.store;
        RUNTIME.with(|runtime| {
            runtime.block_on(async move {
                tokio::select! {
                    biased;
                    done = work(store) => done,
                    () = cancel.cancelled() => Err(wasmtime::Error::new(Stopped::Cancelled)),
                    () = tokio::time::sleep_until(deadline.into()) => Err(wasmtime::Error::new(Stopped::Deadline)),
                }
            })
        })
    }
}

/// WASI with nothing behind it: no environment, no arguments, closed stdin, no sockets.
fn context(output: &Output) -> WasiCtx {
    WasiCtxBuilder::new()
        .stdout(output.clone())
        .stderr(output.clone())
        .max_random_size(RANDOM_BYTES_MAX)
        .allow_blocking_current_thread(true)
        .allow_tcp(false)
        .allow_udp(false)
        .build()
}

fn read_result(text: &str, limits: &Limits) -> Result<Value, ToolError> {
    if text.len() as u64 > limits.result.0 {
        let said = format!(
            "the tool returned {} bytes; at most {} are taken. Ask for less.",
            text.len(),
            limits.result
        );
        return Err(ToolError::new(ErrorCode::TooLarge, said));
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

/// wasmtime's words on a missing import, with what to do.
fn link_problem(error: &wasmtime::Error) -> String {
    let said: Vec<String> = error.chain().map(|cause| one_line(&cause.to_string(), 300)).collect();
    format!(
        "{}. Its profile does not grant this, or the host does not know it; grant the interface in the profile or \
         build the tool without it",
        said.join(": ")
    )
}
