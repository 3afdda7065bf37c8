//! Why a value is refused, with the place in it. What the value holds is never said: it may be a
//! secret.

use super::STEPS_MAX;
use crate::text::one_line;
use std::fmt;

/// Longest name of a place or property in a message, in bytes.
const NAME_BYTES_MAX: usize = 80;
/// Longest sentence about one place, in bytes.
const PROBLEM_BYTES_MAX: usize = 400;

/// What stands for a text in an example.
pub(super) const ANY_TEXT: &str = "…";

/// Why a value does not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueRefusal {
    /// It does not fit; at least one problem, at most [`super::FINDINGS_MAX`].
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unfit(Vec<SchemaFinding>),
    /// The schema takes more steps for this value than there are.
    #[error(
        "the tool's schema is too costly for these arguments: checking them takes more than {STEPS_MAX} \
         steps; give fewer or shorter ones, or let the tool's author write a simpler schema"
    )]
    TooCostly,
    /// Schema and value nest deeper than [`super::DEPTH_MAX`].
    #[error("the arguments nest too deep for the tool's schema; give flatter ones")]
    TooDeep,
    /// Its time was over.
    #[error("the time was over before the arguments were checked")]
    Stopped,
}

/// One thing that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFinding {
    /// Where: `edits[2].old_text`; empty for the whole.
    pub place: String,
    /// What.
    pub problem: Mismatch,
}

/// What does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It must be given.
    Missing {
        /// What stands for it in an example; nothing where any would mislead.
        example: Option<String>,
    },
    /// The rest of the sentence: `must be a whole number, like 0`.
    Says(String),
}

impl SchemaFinding {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        Self { place: String::new(), problem: Mismatch::Says(one_line(text.as_ref(), PROBLEM_BYTES_MAX)) }
    }

    /// The same about a property.
    pub(super) fn of_property(mut self, name: &str) -> Self {
        self.move_below(name);
        self
    }

    /// Moves the place below a part of a value: the name of a property, or `[INDEX]`.
    pub(super) fn move_below(&mut self, part: &str) {
        let part = one_line(part, NAME_BYTES_MAX);
        let dot = if self.place.is_empty() || self.place.starts_with('[') { "" } else { "." };
        self.place = format!("{part}{dot}{}", self.place);
    }

    /// Whether it is a property of the whole.
    fn is_top(&self) -> bool {
        !self.place.contains(['.', '['])
    }
}

impl fmt::Display for SchemaFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = one_line(&self.place, 2 * NAME_BYTES_MAX);
        let place = if place.is_empty() { "the whole" } else { &place };
        match &self.problem {
            Mismatch::Says(text) => write!(f, "{place} {text}"),
            Mismatch::Missing { example: Some(example) } if self.is_top() => {
                write!(f, "{place} is missing; give {place}={example}")
            }
            // Nothing that can be typed, and nothing that says more than the name.
            Mismatch::Missing { example: Some(example) } if example != ANY_TEXT => {
                write!(f, "{place} is missing; give e.g. {example}")
            }
            Mismatch::Missing { .. } => write!(f, "{place} is missing"),
        }
    }
}
