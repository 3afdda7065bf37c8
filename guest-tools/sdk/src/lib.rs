//! Everything a Cofferdam tool needs: write a [`Tool`], name it in [`export_tool!`], build it for
//! `wasm32-wasip2`. This crate holds no policy: what a tool may reach is decided by its host.
//!
//! `cofferdam tool new NAME` writes a crate that builds, with a policy and tests. What it comes to
//! is `crate-type = ["cdylib"]` and this crate as the only dependency:
//!
//! ```
//! use cofferdam_sdk::{Tool, ToolError, schemars::JsonSchema, serde::{Deserialize, Serialize}};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "cofferdam_sdk::serde", deny_unknown_fields)]
//! #[schemars(crate = "cofferdam_sdk::schemars")]
//! struct Arguments {
//!     /// Who is greeted. This comment is what the model reads about `name`.
//!     name: String,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! #[serde(crate = "cofferdam_sdk::serde")]
//! #[schemars(crate = "cofferdam_sdk::schemars")]
//! struct Greeting {
//!     greeting: String,
//! }
//!
//! enum Hello {}
//!
//! impl Tool for Hello {
//!     const NAME: &str = "hello";
//!     const SUMMARY: &str = "Greets somebody by name.";
//!     type Arguments = Arguments;
//!     type Output = Greeting;
//!
//!     fn call(arguments: Arguments) -> Result<Greeting, ToolError> {
//!         Ok(Greeting { greeting: format!("Hello, {}!", arguments.name) })
//!     }
//! }
//!
//! cofferdam_sdk::export_tool!(Hello);
//! ```
//!
//! The two `crate = "…"` attributes are needed only where `serde` and `schemars` are not
//! dependencies of the tool itself. Files are read with `std::fs` (the granted mounts are there,
//! read-only) or, where many are, with [`files`] and [`walk`], and changed with a [`StagedFile`] or
//! [`change`]; what came with the message is in [`attachments`], and what goes back with the answer
//! is added with [`reply`]. People are written to with [`messaging`]. A long call tells what it
//! does by [`progress`].

pub mod attachments;
pub mod bindings;
pub mod change;
mod error;
mod export;
pub mod files;
pub mod glob;
pub mod messaging;
pub mod progress;
pub mod recent;
pub mod reply;
pub mod schema;
mod staged;
mod stream;
pub mod text;
pub mod walk;
mod wasi;

pub use bindings::cofferdam::tool::types::{ErrorCode, ToolError};
pub use bindings::cofferdam::tool::workspace_write::Sealed;
pub use export::{Exported, Tool};
pub use staged::StagedFile;

pub use schemars;
pub use serde;
pub use serde_json;
