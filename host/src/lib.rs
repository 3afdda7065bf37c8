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
