//! JSON Schema, as far as the gateway reads it: compiled once at load, then checked in counted
//! steps.
//!
//! A guest writes the schema and a stranger the value, so neither decides how long the check takes:
//! every schema that meets a value, every comparison and every byte of a pattern costs steps, and
//! who has none left is refused. A keyword outside the closed set refuses to load. Nothing here
//! fetches what a reference names.

mod check;
mod compare;
mod compile;
mod compose;
mod cycles;
mod finding;
mod here;
mod integers;
mod keywords;
mod node;
mod number;
mod pattern;
mod shape;
#[cfg(test)]
mod tests;
mod words;

pub use finding::{Mismatch, SchemaFinding, ValueRefusal};

use node::SchemaNode;

/// Steps of one check. The densest 16 MiB of arguments take less under a plain schema; all of them
/// take less than half a second.
pub const STEPS_MAX: u64 = 300_000_000;
/// Schemas within each other during one check, a reference counted as one: about four for each
/// level of a value, which the parser bounds at 128.
pub const DEPTH_MAX: usize = 512;
/// Levels of a schema's JSON.
pub const DOCUMENT_DEPTH_MAX: usize = 128;
/// Schemas in one document.
pub const SCHEMAS_MAX: usize = 10_000;
/// Bytes of the tables of all patterns of a schema, each counted as 16 KiB at least: a pattern is a
/// finite automaton, so a text takes one step a byte.
pub const PATTERN_TABLES_BYTES_MAX: usize = 1 << 20;
/// Problems that one refusal tells of.
pub const FINDINGS_MAX: usize = 4;

/// A schema that values are checked against.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The first is the root.
    nodes: Vec<SchemaNode>,
}

/// Why a schema cannot be used, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct SchemaError {
    /// A JSON pointer from `#`, the root; bounded, one line.
    pub place: String,
    /// A sentence for the author.
    pub problem: String,
}

impl SchemaError {
    fn new(place: &str, problem: impl AsRef<str>) -> Self {
        use crate::text::one_line;
        Self { place: one_line(&format!("#{place}"), 200), problem: one_line(problem.as_ref(), 300) }
    }
}
