//! JSON (RFC 8259) read strictly: duplicate keys are refused, because two readers would disagree on
//! them. So are whole numbers that may have been other ones, where a whole number is wanted.

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

/// From here on a double may stand for a whole number beside the one that was written.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// Which whole number a JSON number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// This one.
    Exact(i128),
    /// One that was written with a point or an exponent, or beyond 64 bits, and may have been
    /// rounded.
    Rounded,
    /// None: it has a fraction.
    Fraction,
}

impl Whole {
    /// The one of a number that was read.
    pub fn from_number(number: &Number) -> Self {
        if let Some(whole) = number.as_i64() {
            return Self::Exact(whole.into());
        }
        if let Some(whole) = number.as_u64() {
            return Self::Exact(whole.into());
        }
        match number.as_f64() {
            Some(float) if float.fract() != 0.0 => Self::Fraction,
            Some(float) if float.abs() < EXACT_BELOW => Self::Exact(float as i128),
            _ => Self::Rounded,
        }
    }
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
    fn a_whole_number_that_may_have_been_another_one_is_none() {
        for (text, whole) in [
            ("-0", Whole::Exact(0)),
            ("-0.0", Whole::Exact(0)),
            ("1e2", Whole::Exact(100)),
            ("-9223372036854775808", Whole::Exact(i64::MIN.into())),
            ("18446744073709551615", Whole::Exact(u64::MAX.into())),
            ("9007199254740993", Whole::Exact(9_007_199_254_740_993)),
            ("9007199254740991.0", Whole::Exact(9_007_199_254_740_991)),
            ("9007199254740993.0", Whole::Rounded),
            ("-9007199254740992.0", Whole::Rounded),
            ("-9223372036854775809", Whole::Rounded),
            ("18446744073709551616", Whole::Rounded),
            ("1e300", Whole::Rounded),
            ("1.5", Whole::Fraction),
            ("-5e-324", Whole::Fraction),
        ] {
            let Ok(Value::Number(number)) = parse_strict(text) else { panic!("{text}") };
            assert_eq!(Whole::from_number(&number), whole, "{text}");
        }
    }

    #[test]
    fn agrees_with_serde_json_on_the_rest() {
        for text in [r#"{"a":[1,-2,3.5,"x",null,true],"b":{"c":""}}"#, "[]", "\"\\ud83d\\ude00\"", "12"] {
            assert_eq!(parse_strict(text).expect(text), serde_json::from_str::<Value>(text).expect(text));
        }
    }
}
