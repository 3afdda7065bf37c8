//! Strict JSON against `serde_json`: the same value when no key is doubled, a refusal when one is.

use super::parse_strict;
use proptest::prelude::*;
use serde_json::Value;

/// JSON as it is written, where an object may hold a key twice.
#[derive(Clone, Debug)]
enum DuplicateJson {
    Plain(String),
    List(Vec<DuplicateJson>),
    Object(Vec<(WrittenKey, DuplicateJson)>),
}

/// A key, and whether it is written with escapes: `"\u0061"` is `"a"`.
#[derive(Clone, Debug)]
struct WrittenKey {
    text: String,
    escaped: bool,
}

fn written() -> impl Strategy<Value = DuplicateJson> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_filter("JSON has no such number", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
    ];
    let text = any::<String>().prop_map(|text| Value::String(text).to_string());
    let word =
        prop::sample::select(vec!["null", "true", "false", "-0", "\"\"", "[]", "{}"]).prop_map(str::to_owned);
    let leaf = prop_oneof![number, text, word].prop_map(DuplicateJson::Plain);
    // Few names, so that doubles are frequent.
    let key = (prop::sample::select(vec!["a", "b", "", "ä", "a\n", "😀", "path"]), any::<bool>())
        .prop_map(|(text, escaped)| WrittenKey { text: text.to_owned(), escaped });
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(DuplicateJson::List),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(DuplicateJson::Object),
        ]
    })
}

impl WrittenKey {
    fn print(&self) -> String {
        if !self.escaped {
            return Value::String(self.text.clone()).to_string();
        }
        let units = self.text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
        format!("\"{}\"", units.collect::<String>())
    }
}

impl DuplicateJson {
    fn print(&self) -> String {
        let list = |parts: Vec<String>| parts.join(" ,\n");
        match self {
            Self::Plain(text) => text.clone(),
            Self::List(items) => format!("[{}]", list(items.iter().map(Self::print).collect())),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(k, v)| format!("{}\t: {}", k.print(), v.print()));
                format!("{{{} }}", list(fields.collect()))
            }
        }
    }

    fn has_duplicate_key(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::List(items) => items.iter().any(Self::has_duplicate_key),
            Self::Object(fields) => fields.iter().enumerate().any(|(n, (key, value))| {
                value.has_duplicate_key() || fields[..n].iter().any(|(earlier, _)| earlier.text == key.text)
            }),
        }
    }
}

proptest! {
    #[test]
    fn a_doubled_key_is_refused_and_nothing_else(written in written()) {
        let text = written.print();
        match parse_strict(&text) {
            Ok(value) => {
                prop_assert!(!written.has_duplicate_key(), "{}", text);
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).expect("the generator writes JSON"));
            }
            Err(error) => {
                prop_assert!(written.has_duplicate_key(), "{}: {}", text, error);
                prop_assert!(error.to_string().starts_with("duplicate key "), "{}", error);
            }
        }
    }

    #[test]
    fn what_is_no_json_is_refused_as_serde_json_refuses_it(written in written(), at in any::<prop::sample::Index>(), junk in "[\\[\\]{}\",:a0 \\\\]{0,2}") {
        let mut text = written.print();
        let cuts: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
        let at = cuts[at.index(cuts.len())];
        text.replace_range(at..=at + text[at..].chars().next().map_or(0, |c| c.len_utf8() - 1), &junk);
        let lenient = serde_json::from_str::<Value>(&text);
        match parse_strict(&text) {
            Ok(value) => prop_assert_eq!(Some(value), lenient.ok()),
            Err(error) => prop_assert!(lenient.is_err() || error.to_string().starts_with("duplicate key "), "{}: {}", text, error),
        }
    }

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        let _ = parse_strict(&text);
    }
}
