//! Machine code of components: made by a worker that compiles, mapped by one that runs it.

use crate::function::concurrent;
use cofferdam_core::text::one_line;
use rustix::fd::AsRawFd;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use wasmtime::Engine;
use wasmtime::component::Component;

/// The machine code of a component, once it is sure that a worker can load it: one with more parts
/// than an instance may have is refused here, with the reason.
///
/// # Errors
/// What the compiler says.
pub(crate) fn compile(engine: &Engine, component: &[u8]) -> Result<Vec<u8>, String> {
    let code = engine
        .precompile_component(component)
        .map_err(|error| concurrent::refusal(component).unwrap_or_else(|| compiler_error(error)))?;
    load_own(engine, &code).map(|_| code)
}

/// The component of machine code that this process made.
///
/// # Errors
/// What wasmtime says where it cannot be instantiated.
#[allow(unsafe_code, reason = "wasmtime cannot check compiled code; see SAFETY")]
pub(crate) fn load_own(engine: &Engine, code: &[u8]) -> Result<Component, String> {
    // SAFETY: this process compiled it a moment ago.
    unsafe { Component::deserialize(engine, code) }.map_err(compiler_error)
}

/// The component of machine code that the gateway handed over.
///
/// # Errors
/// What wasmtime says of code that was made for another machine, or is none.
#[allow(unsafe_code, reason = "wasmtime cannot check compiled code; see SAFETY")]
pub(crate) fn load(engine: &Engine, code: &OwnedFd) -> Result<Component, String> {
    let path = PathBuf::from(format!("/proc/self/fd/{}", code.as_raw_fd()));
    // SAFETY: the gateway hands over a sealed memory file, which nobody changes any more, with code
    // that this very program compiled: embedded when it was built, or kept in a folder that only
    // its user can write, whose checksum held. Version and settings are checked by wasmtime itself.
    unsafe { Component::deserialize_file(engine, path) }.map_err(compiler_error)
}

/// On one line: the compiler shows bytes of the component over several.
fn compiler_error(error: wasmtime::Error) -> String {
    one_line(&format!("{error:#}"), 400)
}
