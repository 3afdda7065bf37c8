//! Runs guests: links a compiled component with what is granted, and makes a fresh store and a
//! fresh instance for each call.
//!
//! It decides nothing about a guest's requests: they go to the [gateway](crate::gateway).

use crate::bindings::ToolWorldPre;
use crate::bindings::cofferdam::tool::{
    progress, recent_attachments, reply_attachments, turn_attachments, workspace_write,
};
use crate::engine;
use crate::files::{HasFiles, Mount};
use crate::gateway::Gateway;
use crate::http;
use crate::outcome;
use crate::state::{self, MemoryLimit, State};
use crate::stdio::Output;
use cofferdam_core::capability::{Grants, Interface};
use cofferdam_core::limits::{Limits, SCHEMA_BYTES_MAX};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ToolError;
use cofferdam_ipc::{DescribeError, Description, Job};
use std::time::Instant;
use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

/// Handles that one call may hold: files, streams, directories, attachments.
pub(crate) const HANDLES_MAX: usize = 256;
/// Random bytes that a guest may ask for at once.
const RANDOM_BYTES_MAX: u64 = 64 << 10;
/// Bytes that a guest may hand to one host function; the result has its own limit on top.
const HOSTCALL_BYTES_MAX: usize = 2 << 20;

/// A component that is compiled, linked with what its profile grants, and ready to be instantiated.
#[derive(Clone)]
pub(crate) struct Linked(ToolWorldPre<State>);

/// What a call has to do with, besides its job.
pub(crate) struct Reach {
    /// The folders of its workspace; it sees those of them that are granted.
    pub(crate) mounts: Vec<Mount>,
    /// The gateway's side.
    pub(crate) gateway: Gateway,
}

/// The time of a call is over. A guest that does not look up is ended with its process, by the
/// gateway.
#[derive(Debug, thiserror::Error)]
#[error("the deadline passed")]
pub(crate) struct OutOfTime;

/// The instance of a call that is over. Taking it apart takes a while, which nobody needs to wait
/// for.
#[must_use = "dropped before the answer is sent, it delays that"]
pub(crate) struct Spent {
    _store: Store<State>,
}

/// An engine.
pub(crate) struct Machine {
    engine: Engine,
}

impl Machine {
    /// A machine that runs one call at a time.
    ///
    /// # Errors
    /// What the engine says where it does not start.
    pub(crate) fn new() -> Result<Self, String> {
        Ok(Self { engine: engine::engine(Limits::CEILING.memory.0 as usize)? })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The component, linked with what `grants` allow.
    ///
    /// # Errors
    /// [`DescribeError::Link`] names an import that is not granted.
    pub(crate) fn link(&self, component: &Component, grants: &Grants) -> Result<Linked, DescribeError> {
        let linker = self.linker(grants).map_err(|e| DescribeError::Engine(format!("{e:#}")))?;
        let refused = |e: wasmtime::Error| DescribeError::Link(link_problem(&e));
        let pre = linker.instantiate_pre(component).map_err(refused)?;
        Ok(Linked(ToolWorldPre::new(pre).map_err(refused)?))
    }

    /// What the component says of itself. Runs with nothing granted and tight limits.
    ///
    /// # Errors
    /// [`DescribeError::Describe`].
    pub(crate) fn describe(&self, linked: &Linked) -> Result<Description, DescribeError> {
        let output = Output::new(Gateway::none());
        let reach = Reach { mounts: Vec::new(), gateway: Gateway::none() };
        let mut store =
            self.store(state_of(&Grants::NOTHING, &Limits::DESCRIBE, reach, &output), &Limits::DESCRIBE);
        let said = block_on(&mut store, Instant::now() + Limits::DESCRIBE.deadline.0, async |store| {
            let instance = linked.0.instantiate_async(&mut *store).await?;
            instance.cofferdam_tool_tool().call_describe(store).await
        });
        let said = said.map_err(|e| {
            let memory = &store.data().memory;
            DescribeError::Describe(
                outcome::of_failure(&e, memory, &Limits::DESCRIBE, &output.tail()).message,
            )
        })?;
        for (what, text) in [("arguments", &said.arguments_schema), ("result", &said.result_schema)] {
            if text.len() > SCHEMA_BYTES_MAX {
                return Err(DescribeError::Describe(format!(
                    "its {what} schema is longer than {SCHEMA_BYTES_MAX} bytes"
                )));
            }
        }
        let texts = [&said.name, &said.summary, &said.arguments_schema, &said.result_schema];
        let (bytes, most) = (texts.map(String::len).iter().sum::<usize>(), Limits::DESCRIBE.result);
        if bytes as u64 > most.0 {
            let said = format!("it says {bytes} bytes of itself; at most {most} are taken");
            return Err(DescribeError::Describe(said));
        }
        Ok(Description {
            name: said.name,
            summary: said.summary,
            arguments_schema: said.arguments_schema,
            result_schema: said.result_schema,
        })
    }

    /// Runs a call to its end. Gives the text that the guest returned, what the guest said instead,
    /// or why it did not come to an end; and the instance, which says nothing any more and is to be
    /// dropped when the answer is on its way. Blocks.
    pub(crate) fn run(
        &self,
        linked: &Linked,
        job: &Job,
        reach: Reach,
        deadline: Instant,
    ) -> (Result<String, ToolError>, Spent) {
        let output = Output::new(reach.gateway.clone());
        let mut store = self.store(state_of(&job.grants, &job.limits, reach, &output), &job.limits);
        let returned = block_on(&mut store, deadline, async |store| {
            let instance = linked.0.instantiate_async(&mut *store).await?;
            instance.cofferdam_tool_tool().call_call(store, &job.arguments).await
        });
        output.finish();
        // What lies in it tells the gateway that it is dropped, which belongs to the call.
        drop(std::mem::take(&mut store.data_mut().table));
        let ended = match returned {
            Ok(Ok(text)) if text.len() as u64 > job.limits.result.0 => {
                Err(ToolError::result_too_long(text.len(), &job.limits))
            }
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => Err(state::from_guest(error)),
            Err(error) => Err(outcome::of_failure(&error, &store.data().memory, &job.limits, &output.tail())),
        };
        (ended, Spent { _store: store })
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
        if grants.network.is_some() {
            http::add_to_linker(&mut linker)?;
        }
        Ok(linker)
    }

    fn store(&self, state: State, limits: &Limits) -> Store<State> {
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(HOSTCALL_BYTES_MAX + limits.result.0 as usize);
        store.set_max_component_handles(HANDLES_MAX);
        store
    }
}

/// What a call finds within reach: nothing but its grants.
fn state_of(grants: &Grants, limits: &Limits, reach: Reach, output: &Output) -> State {
    let Reach { mut mounts, gateway } = reach;
    mounts.retain(|mount| grants.access(mount.guest()).is_some());
    let mut table = ResourceTable::new();
    table.set_max_capacity(HANDLES_MAX);
    State {
        wasi: context(output),
        table,
        memory: MemoryLimit::of(limits.memory.0 as usize),
        mounts,
        entries_read: 0,
        gateway,
    }
}

thread_local! {
    /// Drives the guest's waits (clocks, polls) on this thread alone.
    static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs only memory");
}

/// Runs `work` until it ends; a wait in a host function ends at the deadline.
fn block_on<T>(
    store: &mut Store<State>,
    deadline: Instant,
    work: impl AsyncFnOnce(&mut Store<State>) -> wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    RUNTIME.with(|runtime| {
        runtime.block_on(async move {
            tokio::select! {
                biased;
                done = work(store) => done,
                () = tokio::time::sleep_until(deadline.into()) => Err(wasmtime::Error::new(OutOfTime)),
            }
        })
    })
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
