//! Guests in processes of their own: the gateway holds the authority, a worker runs the guest.
//!
//! A worker is this very program, started with a socket and nothing else; it confines itself before it reads
//! a component. A call that is over its time ends with its process, whatever it was stuck in.

mod answer;
mod asking;
mod child;
mod code;
mod describing;
#[cfg(test)]
mod fuzzing;
mod idle;
mod pool;
mod process;
mod protocol;
mod remote;
mod socket;
mod starter;
mod unkept;

pub use answer::KILL_GRACE;
pub use child::main;
pub use idle::IDLE_WORKERS_MAX;
pub use pool::CALLS_PER_WORKER_MAX;
pub(super) use pool::{Folders, Known, Pool, Seat};
pub use protocol::COMPILED_BYTES_MAX;
pub use unkept::UNKEPT_BYTES_MAX;

use super::SandboxError;

/// The word that makes the program a worker.
pub const COMMAND: &str = "worker";

fn not_started(error: std::io::Error) -> SandboxError {
    SandboxError::Engine(error.to_string())
}
