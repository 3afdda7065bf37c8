//! Runs guests in this process: links a compiled component with what is granted, and makes a fresh store
//! and a fresh instance for each call.
//!
//! It decides nothing about a guest's requests: they go to [`HostCalls`](super::host_calls::HostCalls).

use super::SandboxError;
use super::bindings::ToolWorldPre;
use super::bindings::cofferdam::tool::{
    progress, recent_attachments, reply_attachments, turn_attachments, workspace_write,
};
use super::clock::{Clock, Stopped};
use super::engine::{self, Running, Ticker};
use super::files::{HasFiles, Mount};
use super::host_calls::{Nothing, SharedCalls};
use super::outcome;
use super::state::{self, MemoryLimit, State};
use super::stdio::Output;
use super::{HANDLES_MAX, HOSTCALL_BYTES_MAX, RANDOM_BYTES_MAX, SCHEMA_BYTES_MAX};
use cofferdam_core::capability::{Grants, Interface};
use cofferdam_core::limits::{ByteSize, Limits, Span};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

/// What `describe` may use: it has nothing to do but return a text.
pub(super) const DESCRIBE_LIMITS: Limits = Limits {
    memory: ByteSize::mib(16),
    deadline: Span::seconds(2),
    written_bytes: ByteSize(0),
    changes: 0,
    arguments: ByteSize(0),
    result: ByteSize::kib(256),
};

/// One call as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Job {
    /// The arguments, a JSON object.
    pub(super) arguments: String,
    /// Mounts within reach.
    pub(super) grants: Grants,
    /// The limits of the call.
    pub(super) limits: Limits,
}

/// What a component says of itself, unchecked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) arguments_schema: String,
    pub(super) result_schema: String,
}

/// A component that is compiled, linked with what its profile grants, and ready to be instantiated.
#[derive(Clone)]
pub(super) struct Linked(ToolWorldPre<State>);

/// What a call has to do with, besides its job.
pub(super) struct Reach {
    /// The folders of its workspace; it sees those of them that are granted.
    pub(super) mounts: Vec<Mount>,
    /// The gateway's side.
    pub(super) calls: SharedCalls,
}

/// An engine.
pub(super) struct Machine {
    engine: Engine,
    /// None where somebody outside ends a guest that does not return.
    ticker: Option<Ticker>,
}

impl Machine {
    /// A machine for `calls_max` calls at once whose guests are interrupted when their time is over.
    pub(super) fn interrupting(calls_max: u32) -> Result<Self, SandboxError> {
        let mut machine = Self::uninterrupted(calls_max)?;
        machine.ticker = Some(Ticker::start(&machine.engine)?);
        Ok(machine)
    }

    /// The same for a process that is killed when a call's time is over: it has no thread of its own.
    pub(super) fn uninterrupted(calls_max: u32) -> Result<Self, SandboxError> {
        let engine = engine::engine(calls_max, Limits::CEILING.memory.0 as usize)?;
        Ok(Self { engine, ticker: None })
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The component, linked with what `grants` allow.
    ///
    /// # Errors
    /// [`SandboxError::Link`] names an import that is not granted.
    pub(super) fn link(&self, component: &Component, grants: &Grants) -> Result<Linked, SandboxError> {
        let linker = self.linker(grants).map_err(|e| SandboxError::Engine(format!("{e:#}")))?;
        let refused = |e: wasmtime::Error| SandboxError::Link(link_problem(&e));
        let pre = linker.instantiate_pre(component).map_err(refused)?;
        Ok(Linked(ToolWorldPre::new(pre).map_err(refused)?))
    }

    /// What the component says of itself. Runs with nothing granted and tight limits.
    ///
    /// # Errors
    /// [`SandboxError::Describe`].
    pub(super) fn describe(&self, linked: &Linked, clock: &Clock) -> Result<Said, SandboxError> {
        let calls: SharedCalls = Arc::new(Mutex::new(Nothing));
        let output = Output::new(calls.clone());
        let nothing = Grants { mounts: Vec::new(), interfaces: Vec::new() };
        let reach = Reach { mounts: Vec::new(), calls };
        let state = state_of(&nothing, &DESCRIBE_LIMITS, reach, &output);
        let mut run = self.start(state, &DESCRIBE_LIMITS, clock);
        let said = run.block_on(async |store| {
            let instance = linked.0.instantiate_async(&mut *store).await?;
            instance.cofferdam_tool_tool().call_describe(store).await
        });
        let memory = &run.store.data().memory;
        let said = said.map_err(|e| {
            SandboxError::Describe(outcome::of_failure(&e, memory, &DESCRIBE_LIMITS, &output.tail()).message)
        })?;
        for (what, text) in [("arguments", &said.arguments_schema), ("result", &said.result_schema)] {
            if text.len() > SCHEMA_BYTES_MAX {
                return Err(SandboxError::Describe(format!(
                    "its {what} schema is longer than {SCHEMA_BYTES_MAX} bytes"
                )));
            }
        }
        let texts = [&said.name, &said.summary, &said.arguments_schema, &said.result_schema];
        let (bytes, most) = (texts.map(String::len).iter().sum::<usize>(), DESCRIBE_LIMITS.result);
        if bytes as u64 > most.0 {
            let said = format!("it says {bytes} bytes of itself; at most {most} are taken");
            return Err(SandboxError::Describe(said));
        }
        Ok(Said {
            name: said.name,
            summary: said.summary,
            arguments_schema: said.arguments_schema,
            result_schema: said.result_schema,
        })
    }

    /// Runs a call to its end and gives the text that the guest returned. Blocks.
    ///
    /// # Errors
    /// What the guest said, or why it did not come to an end.
    pub(super) fn run(
        &self,
        linked: &Linked,
        job: &Job,
        reach: Reach,
        clock: &Clock,
    ) -> Result<String, ToolError> {
        let output = Output::new(reach.calls.clone());
        let state = state_of(&job.grants, &job.limits, reach, &output);
        let mut run = self.start(state, &job.limits, clock);
        let returned = run.block_on(async |store| {
            let instance = linked.0.instantiate_async(&mut *store).await?;
            instance.cofferdam_tool_tool().call_call(store, &job.arguments).await
        });
        output.finish();
        let state = run.store.into_data();
        match returned {
            Ok(Ok(text)) if text.len() as u64 > job.limits.result.0 => Err(too_long(text.len(), &job.limits)),
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => Err(state::from_guest(error)),
            Err(error) => Err(outcome::of_failure(&error, &state.memory, &job.limits, &output.tail())),
        }
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
        progress::add_to_linker::<State, HasSelf<_>>(&mut linker, |state| state)?;
        if grants.allows(Interface::TurnAttachments) {
            turn_attachments::add_to_linker::<State, HasSelf<_>>(&mut linker, |state| state)?;
        }
        if grants.allows(Interface::RecentAttachments) {
            recent_attachments::add_to_linker::<State, HasSelf<_>>(&mut linker, |state| state)?;
        }
        if grants.allows(Interface::ReplyAttachments) {
            reply_attachments::add_to_linker::<State, HasSelf<_>>(&mut linker, |state| state)?;
        }
        if grants.may_write() {
            workspace_write::add_to_linker::<State, HasSelf<_>>(&mut linker, |state| state)?;
        }
        Ok(linker)
    }

    fn start(&self, state: State, limits: &Limits, clock: &Clock) -> Run {
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(HOSTCALL_BYTES_MAX + limits.result.0 as usize);
        store.set_max_component_handles(HANDLES_MAX);
        store.set_epoch_deadline(1);
        let watched = clock.clone();
        store.epoch_deadline_callback(move |_| match watched.stop() {
            Some(stopped) => Err(wasmtime::Error::new(stopped)),
            None => Ok(UpdateDeadline::Continue(1)),
        });
        Run { store, clock: clock.clone(), _running: self.ticker.as_ref().map(Ticker::run) }
    }
}

/// What a call finds within reach: nothing but its grants.
fn state_of(grants: &Grants, limits: &Limits, reach: Reach, output: &Output) -> State {
    let Reach { mut mounts, calls } = reach;
    mounts.retain(|mount| grants.access(mount.guest()).is_some());
    let mut table = ResourceTable::new();
    table.set_max_capacity(HANDLES_MAX);
    State {
        wasi: context(output),
        table,
        memory: MemoryLimit::of(limits.memory.0 as usize),
        mounts,
        entries_read: 0,
        calls,
    }
}

/// The error of a result over its limit.
pub(super) fn too_long(bytes: usize, limits: &Limits) -> ToolError {
    let said = format!("the tool returned {bytes} bytes; at most {} are taken. Ask for less.", limits.result);
    ToolError::new(ErrorCode::TooLarge, said)
}

/// A store with its deadline and its share of the ticking clock.
struct Run {
    store: Store<State>,
    clock: Clock,
    _running: Option<Running>,
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
        work: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        if let Some(stopped) = self.clock.stop() {
            return Err(wasmtime::Error::new(stopped));
        }
        let (deadline, cancelled) = (self.clock.deadline, self.clock.gives_up());
        let store = &mut self.store;
        RUNTIME.with(|runtime| {
            runtime.block_on(async move {
                tokio::select! {
                    biased;
                    done = work(store) => done,
                    () = cancelled => Err(wasmtime::Error::new(Stopped::Cancelled)),
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

/// wasmtime's words on a missing import, with what to do.
fn link_problem(error: &wasmtime::Error) -> String {
    let said: Vec<String> = error.chain().map(|cause| one_line(&cause.to_string(), 300)).collect();
    format!(
        "{}. Its profile does not grant this, or the host does not know it; grant the interface in the profile or \
         build the tool without it",
        said.join(": ")
    )
}
