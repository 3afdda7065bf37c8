//! Why a guest ended, in the gateway's codes: traps, limits and deadlines told apart.

use crate::machine::HANDLES_MAX;
use crate::state::MemoryLimit;
use cofferdam_core::tool::{ErrorCode, ToolError};
use wasmtime::Trap;
use wasmtime::component::ResourceTableError;
use wasmtime_wasi::I32Exit;

/// The error of a call whose guest did not return.
pub(crate) fn failure_error(error: &wasmtime::Error, memory: &MemoryLimit, said: &str) -> ToolError {
    if let Some(host) = error.downcast_ref::<ToolError>() {
        return host.clone();
    }
    if let Some(wanted) = memory.exceeded() {
        let text = format!("the tool wanted {wanted}; nothing was changed");
        return ToolError::new(ErrorCode::OutOfMemory, text);
    }
    let cause = cause(error, said);
    let text = if said.is_empty() { cause } else { format!("{cause}: {said}") };
    ToolError::new(ErrorCode::Trapped, format!("the tool crashed and nothing was changed: {text}"))
}

/// What the guest did, in words for a person.
fn cause(error: &wasmtime::Error, said: &str) -> String {
    if let Some(I32Exit(status)) = error.downcast_ref() {
        return format!("it exited with status {status} instead of answering");
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref() {
        return format!("it held more than {HANDLES_MAX} files, streams and timers at once");
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => "its stack overflowed".to_owned(),
        Some(Trap::UnreachableCodeReached) if said.is_empty() => "it aborted".to_owned(),
        Some(Trap::UnreachableCodeReached) => "it aborted, saying".to_owned(),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    }
}
