//! A model's server on loopback, for tests: it speaks the streams of Chat Completions, Anthropic's
//! Messages and OpenAI's Responses, answers what a test has scripted, and checks every request as
//! strictly as the real ones.
//!
//! What it is not: a model. Each request takes the next turn of the script; one too many is
//! refused, and so is one that the real API would refuse. Both are violations, which
//! [`LlmServer::violations`] lists.
//!
//! ```text
//! http ─► journal ─► key? ─► check ─► script ─► stream ─► wire
//! bytes   recorded   401     400      the next  events    chunked, cut, held
//!                                     turn      of a
//!                                               dialect
//! ```
//!
//! ```no_run
//! # use support::llm::{Call, Dialect, LlmServer, Turn};
//! # async fn example() -> anyhow::Result<()> {
//! let llm = LlmServer::start().await?;
//! let read = Call::new("file_read", serde_json::json!({ "path": "/shared/a" }));
//! llm.script([
//!     Turn::calls([read.in_pieces(3)]),
//!     Turn::status(429).header("Retry-After", "1"),
//!     Turn::say("It says hello.").in_pieces(4),
//! ]);
//! let home = support::home::Home::new().model(&llm, Dialect::Chat, "");
//! // … run the program, then:
//! assert_eq!(llm.violations(), [""; 0]);
//! assert_eq!(llm.requests().len(), 3);
//! # Ok(())
//! # }
//! ```

mod check;
mod connection;
mod dialect;
mod gate;
mod journal;
mod models;
mod script;
mod server;
mod state;
mod stream;
mod wire;

#[cfg(test)]
mod tests;

pub use dialect::Dialect;
pub use gate::Gate;
pub use journal::RequestRecord;
pub use script::{Call, Turn};
pub use server::LlmServer;
