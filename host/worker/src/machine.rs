//! Runs guests: links a compiled component with what is granted, and makes a fresh store and a
//! fresh instance for each call.
//!
//! It decides nothing about a guest's requests: they go to the [gateway](crate::gateway).

use crate::bindings::ToolWorldPre;
use crate::command::{LinkedCommand, Streams};
use crate::files::{GuestMount, LastMount};
use crate::function::{Callable, VALUE_BYTES};
use crate::gateway::GatewayLink;
use crate::linking;
use crate::outcome;
use crate::output::StreamTo;
use crate::scratch::ScratchFolder;
use crate::state::{self, DiskReads, MemoryLimit, StoreState};
use crate::stdio::CallStreams;
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::{CommandCall, EntryCall, EntryPoint};
use cofferdam_core::limits::{Limits, SCHEMA_BYTES_MAX};
use cofferdam_core::text::one_line;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_ipc::{CallSpec, DescribeError, Description};
use std::sync::Arc;
use std::time::Instant;
use wasmtime::component::{Component, ResourceTable};
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
pub(crate) enum LinkedComponent {
    /// A tool of the contract.
    Tool(ToolWorldPre<StoreState>),
    /// A WASI command.
    Command(LinkedCommand),
    /// A function.
    Function(Callable),
}

/// Ends what a call has begun, and leaves its instance. `result` is what becomes of what it
/// returned.
fn end_call<T>(
    (mut store, output): (Store<StoreState>, CallStreams),
    returned: wasmtime::Result<T>,
    result: impl FnOnce(&StoreState, T) -> Result<String, ToolError>,
) -> (Result<String, ToolError>, Option<Store<StoreState>>) {
    let ended = match returned {
        Ok(returned) => result(store.data(), returned),
        Err(error) => Err(outcome::failure_error(&error, &store.data().memory, &output.tail())),
    };
    output.finish();
    // What lies in it tells the gateway that it is dropped, which belongs to the call.
    drop(std::mem::take(&mut store.data_mut().table));
    (ended, Some(store))
}

/// The component, linked with what `grants` allow and with stubs for the rest, for its entry point.
///
/// # Errors
/// [`DescribeError::Link`] names an import that cannot be linked, or the export that it lacks.
pub(crate) fn link(
    component: &Component,
    grants: &Grants,
    point: &EntryPoint,
) -> Result<LinkedComponent, DescribeError> {
    let refused = |e: wasmtime::Error| DescribeError::Link(link_problem(&e));
    let linker = linking::linker(component, grants).map_err(refused)?;
    let pre = linker.instantiate_pre(component).map_err(refused)?;
    Ok(match point {
        EntryPoint::Tool => LinkedComponent::Tool(ToolWorldPre::new(pre).map_err(refused)?),
        EntryPoint::Command => {
            LinkedComponent::Command(LinkedCommand::new(pre).map_err(DescribeError::Link)?)
        }
        EntryPoint::Function(export) => {
            LinkedComponent::Function(Callable::new(pre, export).map_err(DescribeError::Link)?)
        }
    })
}

/// What the component says of itself; of a function the schemas alone, of a command nothing. Runs
/// with nothing granted and tight limits.
///
/// # Errors
/// [`DescribeError::Describe`].
pub(crate) fn describe(linked: &LinkedComponent) -> Result<Description, DescribeError> {
    let tool = match linked {
        LinkedComponent::Tool(tool) => tool,
        LinkedComponent::Command(_) => return Ok(Description::default()),
        LinkedComponent::Function(callable) => {
            return Ok(Description {
                arguments_schema: callable.shape().arguments_schema().to_string(),
                result_schema: callable.shape().result_schema().to_string(),
                ..Description::default()
            });
        }
    };
    let output = CallStreams::new(GatewayLink::detached());
    let reach = (Vec::new(), GatewayLink::detached());
    let mut store = store(tool.engine(), &Grants::NOTHING, &Limits::DESCRIBE, reach, context(&output));
    let deadline = Instant::now() + Limits::DESCRIBE.deadline.0;
    let said = block_on(&mut store, &Limits::DESCRIBE, deadline, async |store| {
        let instance = tool.instantiate_async(&mut *store).await?;
        instance.cofferdam_tool_tool().call_describe(store).await
    });
    let said = said.map_err(|e| {
        let memory = &store.data().memory;
        DescribeError::Describe(outcome::failure_error(&e, memory, &output.tail()).message)
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

/// Runs a call to its end, with the folders of its workspace, of which it sees those that are
/// granted, and the gateway's side. Gives the text that the guest returned, what the guest said
/// instead, or why it did not come to an end; and the instance, if there was one, which says
/// nothing any more. It is to be dropped when the answer is on its way: taking it apart takes a
/// while, which nobody needs to wait for. Blocks.
pub(crate) fn run(
    engine: &Engine,
    linked: &LinkedComponent,
    spec: &CallSpec,
    reach: (Vec<GuestMount>, GatewayLink),
    deadline: Instant,
) -> (Result<String, ToolError>, Option<Store<StoreState>>) {
    let output = CallStreams::new(reach.1.clone());
    let (grants, limits) = (&spec.grants, &spec.limits);
    match (linked, &spec.entry) {
        (LinkedComponent::Tool(tool), EntryCall::Tool) => {
            let mut store = store(engine, grants, limits, reach, context(&output));
            let returned = block_on(&mut store, limits, deadline, async |store| {
                let instance = tool.instantiate_async(&mut *store).await?;
                instance.cofferdam_tool_tool().call_call(store, &spec.arguments).await
            });
            end_call((store, output), returned, |state, returned| {
                let text = returned.map_err(|error| state::from_guest(error, &state.disk))?;
                ToolError::check_result(text.len(), limits)?;
                Ok(text)
            })
        }
        (LinkedComponent::Command(runnable), EntryCall::Command(call)) => {
            let streams = Streams::new(output.clone(), limits);
            let mut store = store(engine, grants, limits, reach, streams.context(call));
            let returned = block_on(&mut store, limits, deadline, async |store| runnable.run(store).await);
            end_call((store, output), returned, |state, status| {
                command_result(state, call, streams.result(call, status))
            })
        }
        (LinkedComponent::Function(callable), EntryCall::Function(_)) => {
            let parameters = match callable.parameters(&spec.arguments) {
                Ok(parameters) => parameters,
                Err(error) => return (Err(error), None),
            };
            let mut store = store(engine, grants, limits, reach, context(&output));
            store.set_hostcall_fuel(HOSTCALL_BYTES_MAX + limits.result.0 as usize * VALUE_BYTES);
            let returned =
                block_on(&mut store, limits, deadline, async |store| callable.call(store, &parameters).await);
            end_call((store, output), returned, |_, returned| callable.result(returned.as_ref(), limits))
        }
        // It is linked for the entry of the spec.
        _ => (Err(ToolError::new(ErrorCode::Internal, "another entry point is linked")), None),
    }
}

/// A store in which a call finds nothing within reach but its grants.
fn store(
    engine: &Engine,
    grants: &Grants,
    limits: &Limits,
    (mut mounts, gateway): (Vec<GuestMount>, GatewayLink),
    wasi: WasiCtx,
) -> Store<StoreState> {
    mounts.retain(|mount| grants.may_open(mount.guest()));
    let mut table = ResourceTable::new();
    table.set_max_capacity(HANDLES_MAX);
    let state = StoreState {
        wasi,
        table,
        memory: MemoryLimit::new(limits.memory),
        mounts,
        scratch: grants.scratch.as_ref().map(ScratchFolder::new),
        entries_read: 0,
        last_mount: LastMount::default(),
        disk: DiskReads::default(),
        body_bytes: Arc::default(),
        gateway,
    };
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.memory);
    store.set_hostcall_fuel(HOSTCALL_BYTES_MAX + limits.result.0 as usize);
    store.set_max_component_handles(HANDLES_MAX);
    store
}

/// The result of a command, once what it has left to be published is staged.
fn command_result(
    state: &StoreState,
    call: &CommandCall,
    result: Result<String, ToolError>,
) -> Result<String, ToolError> {
    if let Some(scratch) = &state.scratch {
        scratch.check_exceeded()?;
        if result.is_ok() {
            scratch.stage(&call.outputs, &state.gateway)?;
        }
    }
    result
}

thread_local! {
    /// Drives the guest's waits (clocks, polls) on this thread alone.
    static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O needs only memory");
}

/// Runs `work` until it ends; a wait in a host function ends at the deadline. A guest that does not
/// look up is ended with its process, by the gateway.
fn block_on<T>(
    store: &mut Store<StoreState>,
    limits: &Limits,
    deadline: Instant,
    work: impl AsyncFnOnce(&mut Store<StoreState>) -> wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    RUNTIME.with(|runtime| {
        runtime.block_on(async move {
            tokio::select! {
                biased;
                done = work(store) => done,
                () = tokio::time::sleep_until(deadline.into()) => {
                    Err(wasmtime::Error::new(ToolError::timed_out(limits)))
                }
            }
        })
    })
}

/// What a guest of the contract prints goes to the log.
fn context(output: &CallStreams) -> WasiCtx {
    bare_context().stdout(StreamTo(output.clone())).stderr(StreamTo(output.clone())).build()
}

/// WASI with nothing behind it: no environment, no arguments, closed streams, no sockets.
pub(crate) fn bare_context() -> WasiCtxBuilder {
    let mut context = WasiCtxBuilder::new();
    context
        .max_random_size(RANDOM_BYTES_MAX)
        .allow_blocking_current_thread(true)
        .allow_tcp(false)
        .allow_udp(false);
    context
}

/// wasmtime's words on what cannot be linked.
fn link_problem(error: &wasmtime::Error) -> String {
    let said: Vec<String> = error.chain().map(|cause| one_line(&cause.to_string(), 300)).collect();
    said.join(": ")
}
