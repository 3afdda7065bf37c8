//! Templates: text with `{{ path | filter }}` in it. Paths and ten filters; no statements,
//! functions or arithmetic.
//!
//! A [`Template`] is made of the text of a file alone. What rendering brings back is a plain text
//! or value, and nothing makes a template of that again.

mod filter;
mod parse;
mod path;
mod render;
#[cfg(test)]
mod tests;

pub use filter::{FILTERS, TemplateFilter};
pub use path::{PathStep, ValuePath, ValueRoot};
pub use render::{RENDERED_BYTES_MAX, RenderError, RenderScope};

/// A text with expressions in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

/// What a template is made of.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Expression(Expression),
}

/// What stands between `{{` and `}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it names.
    pub path: ValuePath,
    filters: Vec<TemplateFilter>,
    /// As it is written, for messages.
    source: String,
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct TemplateError {
    /// Bytes of the text before the place.
    pub at: usize,
    /// What is wrong, and what to write.
    pub problem: String,
}

impl Template {
    /// Its expressions, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Expression(expression) => Some(expression),
        })
    }

    /// The text, where it has no expressions.
    pub fn literal(&self) -> Option<&str> {
        match &self.pieces[..] {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it names tasks, and so waits for phase two.
    pub fn names_tasks(&self) -> bool {
        self.expressions().any(|expression| expression.path.root == ValueRoot::Tasks)
    }
}
