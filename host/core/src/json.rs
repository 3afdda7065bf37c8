//! JSON (RFC 8259) read strictly: duplicate keys are refused, because two readers would disagree on
//! them.

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// The value of a JSON text.
///
/// # Errors
/// Syntax errors, trailing text, nesting deeper than 128, and a key that an object holds twice; the
/// error names line and column.
pub fn parse_strict(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(n.into())
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(n.into())
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<Value, E> {
        Number::from_f64(n).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, s: &str) -> Result<Value, E> {
        Ok(Value::String(s.to_owned()))
    }

    fn visit_string<E>(self, s: String) -> Result<Value, E> {
        Ok(Value::String(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if map.contains_key(&key) {
                let key = crate::text::one_line(&key, 80);
                return Err(de::Error::custom(format_args!("duplicate key {key:?}; give each key once")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_two_readers_would_read_differently() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"x":{"a":1,"a":1}}"#,
            r#"[{"a":1,"a":1}]"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":1} x"#,
            "",
            "{",
            "nul",
            "{'a':1}",
            r#"{"a":1e999}"#,
        ] {
            assert!(parse_strict(text).is_err(), "{text}");
        }
        assert!(parse_strict(&"[".repeat(200)).is_err());
    }

    #[test]
    fn agrees_with_serde_json_on_the_rest() {
        for text in [r#"{"a":[1,-2,3.5,"x",null,true],"b":{"c":""}}"#, "[]", "\"\\ud83d\\ude00\"", "12"] {
            assert_eq!(parse_strict(text).expect(text), serde_json::from_str::<Value>(text).expect(text));
        }
    }
}
