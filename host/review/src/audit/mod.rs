//! The audit for people: which records are asked for, one record on one line, and what a check of
//! the chain found, and what a call came to when it was made again.
//!
//! Text from the log is told on one line without deceptive characters: a tool's caller chose it.

mod filter;
mod glob;
mod replay;
mod row;
mod verify;
mod when;

pub use filter::Filter;
pub use glob::PathPattern;
pub use replay::{Unreplayable, differences, outcome_word, rebuild};
pub use row::{entry_json, entry_text, row};
pub use verify::{SignedHeads, describe_bad, format_sound, format_sound_json, statements};
pub use when::parse_period;

use std::path::Path;

/// The file's name alone: people know the folder.
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    cofferdam_core::text::one_line(&name, 255)
}
