//! Guests in processes of their own: the gateway holds the authority, a worker runs the guest.
//!
//! A worker is a program of its own (`host/worker`), embedded in this one and started with a socket
//! and nothing else; it confines itself before it is handed anything of a guest. A call that is
//! over its time ends with its process, in any state.

mod answer;
mod code;
mod describing;
#[cfg(test)]
mod fuzzing;
mod idle;
mod pool;
mod process;
mod processor;
mod program;
mod starter;

pub use answer::KILL_GRACE;
pub(super) use answer::{Answer, HostCalls};
pub use code::CODE_BYTES_MAX;
pub(super) use code::CodeStore;
pub(super) use idle::IdleWorkers;
pub use idle::{IDLE_TIME_MAX, IDLE_WORKERS_MAX};
pub use pool::CALLS_PER_WORKER_MAX;
pub(super) use pool::WorkerKey;
pub(super) use process::Worker;
pub use processor::{run_anywhere, run_with_calls};
pub use program::{EmbeddedBytes, WORKER_BYTES, WORKER_SHA256, let_start_go};
pub(super) use starter::WorkerStarter;

use super::SandboxError;
use cofferdam_core::text::one_line;
use cofferdam_core::tool::ToolError;

/// What a worker says in words, which may be anything: on one line, and no longer than any message.
fn bound_words(said: &str) -> String {
    one_line(said, ToolError::MESSAGE_BYTES_MAX)
}

fn start_error(error: std::io::Error) -> SandboxError {
    SandboxError::Engine(error.to_string())
}
