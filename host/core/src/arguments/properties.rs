//! Typed words against the object that they stand for.

use super::from_pairs;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// An argument: its schema, its value, and how a person types the value.
fn argument() -> impl Strategy<Value = (Value, Value, String)> {
    let text = prop_oneof![
        any::<String>(),
        prop::sample::select(vec!["007", "true", "null", "{}", "a=b", "\"x\"", ""]).prop_map(str::to_owned)
    ];
    let kind =
        prop::sample::select(vec![json!("string"), json!(["string", "null"]), json!(["integer", "string"])]);
    prop_oneof![
        (kind, text).prop_map(|(kind, text)| (json!({ "type": kind }), json!(text), text)),
        any::<i64>().prop_map(|n| (json!({ "type": "integer" }), json!(n), n.to_string())),
        any::<bool>().prop_map(|b| (json!({ "type": "boolean" }), json!(b), b.to_string())),
        prop::collection::vec(any::<i8>(), 0..3).prop_map(|n| (
            json!({ "type": "array" }),
            json!(n),
            json!(n).to_string()
        )),
        any::<String>().prop_map(|text| (
            json!({ "type": "object" }),
            json!({ "x": text }),
            json!({ "x": text }).to_string()
        )),
    ]
}

proptest! {
    #[test]
    fn words_mean_the_object_they_were_typed_from(arguments in prop::collection::vec(argument(), 0..5)) {
        let names: Vec<String> = (0..arguments.len()).map(|n| format!("key{n}")).collect();
        let named = || names.iter().zip(&arguments);
        let properties: Map<_, _> = named().map(|(name, (schema, _, _))| (name.clone(), schema.clone())).collect();
        let words: Vec<_> = named().map(|(name, (_, _, typed))| format!("{name}={typed}")).collect();
        let expected: Map<_, _> = named().map(|(name, (_, value, _))| (name.clone(), value.clone())).collect();
        prop_assert_eq!(from_pairs(&json!({ "properties": properties }), &words), Ok(Value::Object(expected)));
    }

    #[test]
    fn any_words_are_answered_and_none_is_lost(words in prop::collection::vec("[a-c=\"{}:1]{0,4}", 0..5)) {
        let schema = json!({ "properties": { "a": { "type": "string" }, "b": { "type": "integer" } } });
        match from_pairs(&schema, &words) {
            Ok(Value::Object(object)) => prop_assert_eq!(object.len(), words.len()),
            Ok(other) => prop_assert!(false, "{}", other),
            Err(bad) => {
                let keys: Vec<_> = words.iter().map(|w| w.split_once('=').map(|(key, _)| key).filter(|k| !k.is_empty())).collect();
                let doubled = (0..keys.len()).any(|n| keys[..n].contains(&keys[n]));
                prop_assert!(doubled || keys.contains(&None), "{:?}: {}", words, bad);
            }
        }
    }
}
