//! Values and verdicts of Cofferdam: what a call is, what a policy allows, what the audit records.
//!
//! Pure: no I/O, no async runtime, no WebAssembly. Everything here is a function of its arguments,
//! so a reviewer can read it and a table test can cover it without a sandbox.
#![forbid(unsafe_code)]

pub mod arguments;
mod as_text;
pub mod attachment;
pub mod audit;
pub mod capability;
pub mod command;
pub mod counts;
pub mod entry;
pub mod host_call;
pub mod id;
pub mod interfaces;
pub mod journal;
pub mod json;
pub mod limits;
pub mod lock;
pub mod message;
pub mod network;
pub mod oci;
pub mod path;
pub mod schema;
pub mod secret;
pub mod standing;
pub mod text;
pub mod tool;
pub mod web;
pub mod wit;
