//! The agent: from a request to its answer, by a provider's steps and by calls of tools that the
//! warden runs.
//!
//! ```text
//! turn ─► llm: the provider's next step ─► server: which addresses, at what pace, with whose key
//!   ├───► voice: text of what was said, speech of an answer
//!   └───► tools: one call, from its request to the audited outcome ─► warden
//! ```
//!
//! It knows no channel. What it remembers is kept by `cofferdam-store`.

pub mod llm;
pub mod open_requests;
pub mod server;
pub mod tools;
pub mod turn;
pub mod voice;
