//! The ten filters: what each takes and gives.

use crate::problem::{list_names, quote};
use serde_json::Value;

/// The filters' names.
pub const FILTERS: [&str; 10] =
    ["default", "upper", "lower", "trim", "replace", "join", "first", "last", "length", "tojson"];

/// What is done to a value.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplateFilter {
    /// Stands for what is missing or null.
    Default(Value),
    /// A text in capitals.
    Upper,
    /// A text in small letters.
    Lower,
    /// A text without blanks at its ends.
    Trim,
    /// A text with each of one piece in place of another.
    Replace(String, String),
    /// A list as text, with this between.
    Join(String),
    /// The first item of a list, or character of a text.
    First,
    /// The last one.
    Last,
    /// Items of a list, characters of a text, entries of an object.
    Length,
    /// The value as JSON.
    ToJson,
}

impl TemplateFilter {
    /// The filter of this name, with these arguments.
    pub(super) fn of(name: &str, arguments: Vec<Value>) -> Result<Self, String> {
        let wants = |said: &str| Err(format!("the filter {name} takes {said}"));
        let mut arguments = arguments.into_iter();
        match (name, arguments.next(), arguments.next(), arguments.next()) {
            ("default", Some(value), None, None) => Ok(Self::Default(value)),
            ("default", ..) => wants("one argument: default(\"…\")"),
            ("replace", Some(Value::String(from)), Some(Value::String(to)), None) if !from.is_empty() => {
                Ok(Self::Replace(from, to))
            }
            ("replace", ..) => wants("two texts, the first not empty: replace(\"a\", \"b\")"),
            ("join", Some(Value::String(between)), None, None) => Ok(Self::Join(between)),
            ("join", ..) => wants("one text: join(\", \")"),
            ("upper", None, ..) => Ok(Self::Upper),
            ("lower", None, ..) => Ok(Self::Lower),
            ("trim", None, ..) => Ok(Self::Trim),
            ("first", None, ..) => Ok(Self::First),
            ("last", None, ..) => Ok(Self::Last),
            ("length", None, ..) => Ok(Self::Length),
            ("tojson", None, ..) => Ok(Self::ToJson),
            (known, ..) if FILTERS.contains(&known) => wants("no arguments"),
            ("", ..) => Err(format!("after `|` comes a filter; there is {}", list_names(&FILTERS))),
            (other, ..) => {
                Err(format!("there is no filter {}; there is {}", quote(other), list_names(&FILTERS)))
            }
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Default(_) => "default",
            Self::Upper => "upper",
            Self::Lower => "lower",
            Self::Trim => "trim",
            Self::Replace(..) => "replace",
            Self::Join(_) => "join",
            Self::First => "first",
            Self::Last => "last",
            Self::Length => "length",
            Self::ToJson => "tojson",
        }
    }

    /// What it gives of a value that is there; none where that has no first or last.
    ///
    /// # Errors
    /// What it takes, and what this is; or that it would become longer than `bytes_max`.
    pub(super) fn apply(&self, value: Value, bytes_max: usize) -> Result<Option<Value>, String> {
        let wants = |what: &str, value: &Value| {
            Err(format!("the filter {} takes {what}, and this is {}", self.name(), kind(value)))
        };
        let too_long = || {
            let name = self.name();
            Err(format!("the filter {name} makes a text longer than {bytes_max} bytes of this"))
        };
        let some = |value| Ok(Some(value));
        match (self, value) {
            (Self::Default(_), value) => some(value),
            (Self::ToJson, value) => some(Value::String(value.to_string())),
            (Self::Upper, Value::String(text)) => some(text.to_uppercase().into()),
            (Self::Lower, Value::String(text)) => some(text.to_lowercase().into()),
            (Self::Trim, Value::String(text)) => some(text.trim().into()),
            (Self::Replace(from, to), Value::String(text)) => {
                let grown = text.matches(from.as_str()).count().saturating_mul(to.len());
                if text.len().saturating_add(grown) > bytes_max {
                    return too_long();
                }
                some(text.replace(from.as_str(), to).into())
            }
            (Self::Join(between), Value::Array(items)) => {
                let texts: Vec<String> = items.into_iter().map(plain_text).collect();
                let bytes: usize = texts.iter().map(|text| text.len().saturating_add(between.len())).sum();
                if bytes > bytes_max {
                    return too_long();
                }
                some(texts.join(between).into())
            }
            (Self::First, Value::Array(items)) => Ok(items.into_iter().next().filter(|item| !item.is_null())),
            (Self::Last, Value::Array(mut items)) => Ok(items.pop().filter(|item| !item.is_null())),
            (Self::First, Value::String(text)) => Ok(text.chars().next().map(|c| c.to_string().into())),
            (Self::Last, Value::String(text)) => Ok(text.chars().next_back().map(|c| c.to_string().into())),
            (Self::Length, Value::Array(items)) => some(items.len().into()),
            (Self::Length, Value::Object(entries)) => some(entries.len().into()),
            (Self::Length, Value::String(text)) => some(text.chars().count().into()),
            (Self::Upper | Self::Lower | Self::Trim | Self::Replace(..), other) => wants("a text", &other),
            (Self::Join(_), other) => wants("a list", &other),
            (Self::First | Self::Last, other) => wants("a list or a text", &other),
            (Self::Length, other) => wants("a list, a text or an object", &other),
        }
    }
}

/// A value within text: texts as they are, all else as JSON.
pub(super) fn plain_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
