//! Cofferdam: a hardened agent gateway whose every tool runs in its own WebAssembly sandbox.
//!
//! `docs/architecture.md` draws the rooms; each module's first line says its one job.

pub mod answering;
pub mod bus;
pub mod channels;
pub mod cli;
pub mod config;
pub mod gateway;
pub mod llm;
pub mod log;
pub mod monitor;
pub mod outbound;
pub mod store;
pub mod tools;
pub mod turn;
