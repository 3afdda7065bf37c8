//! A template with what its paths name put in. What comes out is data, also where it looks like a
//! template.

use super::filter::{TemplateFilter, plain_text};
use super::path::ValueRoot;
use super::{Expression, Piece, Template};
use crate::problem::quote;
use serde_json::{Map, Value};

/// Bytes that one text may be rendered to.
pub const RENDERED_BYTES_MAX: usize = 1 << 20;

/// What paths name: an object with the roots that are known. Of `env` it has every name that the
/// operator lists, null where the variable is not set.
#[derive(Clone, Debug, Default)]
pub struct RenderScope {
    roots: Map<String, Value>,
}

/// Why a template cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expression}: {problem}")]
pub struct RenderError {
    /// As it is written.
    pub expression: String,
    /// What is wrong, and what to write.
    pub problem: String,
}

impl RenderScope {
    /// The same with what this root holds.
    #[must_use]
    pub fn with(mut self, root: ValueRoot, value: Value) -> Self {
        self.roots.insert(root.name().to_owned(), value);
        self
    }
}

impl Template {
    /// The text: strings as they are, all else as JSON.
    ///
    /// # Errors
    /// [`RenderError`].
    pub fn render_text(&self, scope: &RenderScope) -> Result<String, RenderError> {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Expression(expression) => {
                    text.push_str(&plain_text(expression.value(scope)?));
                    if text.len() > RENDERED_BYTES_MAX {
                        return Err(expression.too_long());
                    }
                }
            }
        }
        Ok(text)
    }

    /// The value that its one expression names, or the text.
    ///
    /// # Errors
    /// [`RenderError`].
    pub fn render_value(&self, scope: &RenderScope) -> Result<Value, RenderError> {
        match &self.pieces[..] {
            [Piece::Expression(expression)] => expression.value(scope),
            _ => self.render_text(scope).map(Value::String),
        }
    }
}

impl Expression {
    fn refuse(&self, problem: impl Into<String>) -> RenderError {
        RenderError { expression: quote(&self.source), problem: problem.into() }
    }

    fn value(&self, scope: &RenderScope) -> Result<Value, RenderError> {
        let root = scope.roots.get(self.path.root.name());
        if let (ValueRoot::Env, Some(name)) = (self.path.root, self.path.key(0))
            && !root.and_then(Value::as_object).is_some_and(|listed| listed.contains_key(name))
        {
            let said =
                format!("the variable {name} is not listed; write it into [workflows] env of cofferdam.toml");
            return Err(self.refuse(said));
        }
        let mut value = root.and_then(|root| self.path.find(root)).cloned();
        for filter in &self.filters {
            let filtered = match (filter, value) {
                (TemplateFilter::Default(instead), None) => Some(instead.clone()),
                (_, None) => return Err(self.missing()),
                (filter, Some(value)) => {
                    filter.apply(value, RENDERED_BYTES_MAX).map_err(|problem| self.refuse(problem))?
                }
            };
            // Bounded at each step: every further `tojson` can double what the one before has made.
            value = filtered.map(|value| self.bounded(value)).transpose()?;
        }
        value.ok_or_else(|| self.missing()).and_then(|value| self.bounded(value))
    }

    /// The value, unless it is a text that is too long.
    fn bounded(&self, value: Value) -> Result<Value, RenderError> {
        match &value {
            Value::String(text) if text.len() > RENDERED_BYTES_MAX => Err(self.too_long()),
            _ => Ok(value),
        }
    }

    fn too_long(&self) -> RenderError {
        self.refuse(format!("the text grows beyond {RENDERED_BYTES_MAX} bytes with this"))
    }

    fn missing(&self) -> RenderError {
        self.refuse(format!(
            "{} is missing or null; give it, or write `| default(\"…\")` after it",
            self.path
        ))
    }
}
