//! `cofferdam mcp` as its clients meet it: over standard input and output, and over HTTP.

mod approving;
mod beside;
mod calls;
mod endings;
mod eras;
mod foreign;
mod frames;
mod http;
mod offer;
mod outside;
mod print;
mod vault;
pub(crate) mod world;

use std::time::Duration;

/// Longer than anything takes that is not stuck, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is promised of every end.
const END_MAX: Duration = Duration::from_secs(10);
