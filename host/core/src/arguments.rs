//! Arguments as a person types them (`key=value`) turned into the JSON that the schema describes.

use crate::json::parse_strict;
use serde_json::{Map, Value};

/// Why typed arguments cannot become JSON; the message says what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadArguments {
    /// A word without `=`.
    #[error("{0:?} is not key=value; write e.g. path=/shared/photo.jpg")]
    NotAPair(String),
    /// The same key twice.
    #[error("{0:?} is given twice; give each argument once")]
    Duplicate(String),
    /// A quote without its end.
    #[error("a quote is not closed; write path=\"/shared/my photo.jpg\"")]
    OpenQuote,
    /// Their writer came to the end of what it may write before the end of the arguments.
    #[error("the arguments were cut off at the limit of the model's output; make a call with shorter ones")]
    CutOff,
}

impl BadArguments {
    /// The same without anything that was typed.
    pub fn audit_text(&self) -> &'static str {
        match self {
            Self::NotAPair(_) | Self::Duplicate(_) | Self::OpenQuote => {
                "what was typed is not key=value, each key once"
            }
            Self::CutOff => "the arguments were cut off at the limit of the model's output",
        }
    }
}

/// An object from words `key=value`: where the schema takes a string the text is taken as it is,
/// everywhere else it is read as JSON.
///
/// Checks nothing: a key that the schema lacks, or a value of the wrong type, is kept, so that the
/// one schema check refuses it and the audit sees it.
///
/// # Errors
/// [`BadArguments`].
pub fn from_pairs<S: AsRef<str>>(schema: &Value, words: &[S]) -> Result<Value, BadArguments> {
    let mut object = Map::new();
    for word in words {
        let word = word.as_ref();
        let (key, text) = word
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| BadArguments::NotAPair(crate::text::one_line(word, 80)))?;
        let value = match schema.get("properties").and_then(|p| p.get(key)) {
            Some(property) if takes_text(property) => Value::String(text.to_owned()),
            // Text that is no JSON stays text, for the schema check to refuse by name.
            _ => parse_strict(text).unwrap_or_else(|_| Value::String(text.to_owned())),
        };
        if object.insert(key.to_owned(), value).is_some() {
            return Err(BadArguments::Duplicate(crate::text::one_line(key, 80)));
        }
    }
    Ok(Value::Object(object))
}

fn takes_text(property: &Value) -> bool {
    match property.get("type") {
        Some(Value::String(kind)) => kind == "string",
        // "string or null": typing null as text would be surprising for neither reading.
        Some(Value::Array(kinds)) => kinds.iter().any(|k| k == "string"),
        _ => false,
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({ "properties": {
            "index": { "type": "integer" }, "path": { "type": "string" },
            "overwrite": { "type": "boolean" }, "bad": { "type": "integer" }, "note": { "type": ["string", "null"] },
            "edits": { "type": "array" } } })
    }

    #[test]
    fn words_are_typed_by_the_schema() {
        let words = [
            "index=0",
            "path=007",
            "overwrite=true",
            "note=a=b",
            "edits=[1]",
            "new=x",
            "n=1",
            "path2=",
            "bad={",
        ];
        assert_eq!(
            from_pairs(&schema(), &words),
            Ok(json!({ "index": 0, "path": "007", "overwrite": true, "note": "a=b", "edits": [1],
                       "new": "x", "n": 1, "path2": "", "bad": "{" }))
        );
    }

    #[test]
    fn refusals_say_what_to_write() {
        let said = |words: &[&str]| from_pairs(&schema(), words).expect_err("refused").to_string();
        assert_eq!(said(&["index"]), "\"index\" is not key=value; write e.g. path=/shared/photo.jpg");
        assert_eq!(said(&["=1"]), "\"=1\" is not key=value; write e.g. path=/shared/photo.jpg");
        assert_eq!(said(&["path=a", "path=b"]), "\"path\" is given twice; give each argument once");
    }
}
