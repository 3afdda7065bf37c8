//! The edge to MCP clients: the tools of the policies, over standard input and output or HTTP.
//!
//! `rmcp` speaks the protocol of both eras, the one that begins with `initialize` and the stateless
//! one. What is here offers tools, makes calls of the toolbox out of requests, and bounds what
//! strangers send. It decides nothing about a call: registry, judge, sandbox, publisher and audit
//! do, as in a turn.

mod approving;
mod attached;
mod calling;
#[cfg(test)]
mod fuzzing;
mod holding;
pub mod http;
mod lines;
mod message;
mod offer;
mod progress;
mod requests;
mod server;
mod stdio;
mod streams;

pub use attached::{ATTACHMENTS_META_KEY, CALL_FILES_MAX};
pub use lines::LINE_BYTES_MAX;
pub use message::{ID_BYTES_MAX, INITIALIZE_BYTES_MAX, RawArguments, RpcFrame, STRUCTURE_MAX, read};
pub use requests::REQUESTS_MAX;
pub use server::{McpServer, ServerParts};
pub use stdio::{UNTAKEN_MAX, serve_stdio};

/// The channel's name in audit records.
pub const CHANNEL: &str = "mcp";
