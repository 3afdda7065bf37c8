//! Cofferdam: a hardened agent gateway whose every tool runs in its own WebAssembly sandbox.
//!
//! `docs/architecture.md` draws the rooms; each module's first line says its one job.

pub mod cli;
pub mod config;
pub mod gateway;
pub mod log;
pub mod monitor;
pub mod saying;
pub mod workflows;

/// No two at one moment of one process are the same.
fn unique() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", now.as_nanos(), std::process::id())
}
