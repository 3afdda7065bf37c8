//! Random schemas and values against another validator: both take the same.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, json};

const NAMES: &[&str] = &["a", "b", "ab", "x-y"];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-4i64..12).prop_map(Value::from),
        // Whole doubles from 2^53 on are whole numbers there, and here they are not.
        prop::sample::select(vec![0.5, 1.0, 2.5, -0.25, 1e15, 7.75]).prop_map(Value::from),
        prop::sample::select(vec!["", "a", "ab", "b1", "é", "a b", "😀"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..4).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

/// One keyword with a value that it takes.
fn keyword(inner: BoxedStrategy<Value>) -> impl Strategy<Value = (String, Value)> {
    let pair =
        |key: &'static str, value: BoxedStrategy<Value>| value.prop_map(move |v| (key.to_owned(), v)).boxed();
    let types = vec!["string", "integer", "number", "boolean", "array", "object", "null"];
    let names =
        prop::collection::btree_set(prop::sample::select(NAMES), 0..3).prop_map(|names| json!(names)).boxed();
    let small = (0u64..4).prop_map(Value::from).boxed();
    let bound = prop_oneof![(-3i64..9).prop_map(Value::from), Just(json!(0.5)), Just(json!(2.5))].boxed();
    let patterns = vec!["^a", "b$", "^[a-z]+$", "\\d", "^.{1,2}$", "é|1", "^\\w*$", "\\s", "[^a]"];
    let pattern = prop::sample::select(patterns);
    let list = prop::collection::vec(inner.clone(), 1..4).prop_map(Value::from).boxed();
    let object = |keys: BoxedStrategy<String>, inner: BoxedStrategy<Value>| {
        prop::collection::vec((keys, inner), 0..3)
            .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
            .boxed()
    };
    let name = prop::sample::select(NAMES).prop_map(str::to_owned).boxed();
    let pattern_name = pattern.clone().prop_map(str::to_owned).boxed();
    let mut all = vec![
        pair("type", prop::sample::select(types.clone()).prop_map(Value::from).boxed()),
        pair("type", prop::sample::subsequence(types, 1..4).prop_map(|types| json!(types)).boxed()),
        pair("enum", prop::collection::vec(value(), 1..4).prop_map(Value::from).boxed()),
        pair("const", value().boxed()),
        pair("multipleOf", prop::sample::select(vec![json!(1), json!(2), json!(3), json!(0.5)]).boxed()),
        pair("pattern", pattern.prop_map(Value::from).boxed()),
        pair("properties", object(name, inner.clone())),
        pair("patternProperties", object(pattern_name, inner.clone())),
        pair("required", names.clone()),
        pair("dependentRequired", names.prop_map(|names| json!({ "a": names })).boxed()),
        pair("uniqueItems", any::<bool>().prop_map(Value::from).boxed()),
        pair("$ref", prop::sample::select(vec!["#/$defs/d", "#/$defs/e"]).prop_map(Value::from).boxed()),
        pair("items", Just(json!({ "$ref": "#" })).boxed()),
        pair("description", Just(json!("words")).boxed()),
    ];
    for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
        all.push(pair(key, bound.clone()));
    }
    for key in [
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minContains",
        "maxContains",
        "minProperties",
        "maxProperties",
    ] {
        all.push(pair(key, small.clone()));
    }
    for key in ["items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"] {
        all.push(pair(key, inner.clone()));
    }
    for key in ["allOf", "anyOf", "oneOf", "prefixItems"] {
        all.push(pair(key, list.clone()));
    }
    prop::strategy::Union::new(all)
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!({})),
        4 => prop::sample::select(vec!["string", "integer", "number", "array", "object", "null"])
            .prop_map(|one| json!({ "type": one })),
    ];
    let any = leaf.prop_recursive(3, 24, 4, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 1..4)
            .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
    });
    (any.clone(), any.clone(), any).prop_map(|(root, d, e)| {
        // A root of one word has no place for definitions.
        let mut root = if root.is_object() { root } else { json!({ "allOf": [root] }) };
        root["$defs"] = json!({ "d": d, "e": e });
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 600 } else { 20_000 }))]

    #[test]
    fn another_validator_takes_the_same(schema in schema(), values in prop::collection::vec(value(), 8)) {
        // What refers to itself is refused here, and not there.
        let Ok(ours) = Schema::compile(&schema) else { return Ok(()) };
        let theirs = jsonschema::draft202012::new(&schema).expect("a sound schema");
        for value in values {
            let checked = ours.check(&value, STEPS_MAX);
            prop_assert_eq!(checked.is_ok(), theirs.is_valid(&value), "{} by {}: {:?}", value, schema, checked);
            if let Err(refusal) = checked {
                prop_assert!(matches!(&refusal, ValueRefusal::Unfit(findings) if !findings.is_empty()), "{refusal:?}");
                prop_assert!(refusal.to_string().len() < 2048);
            }
        }
    }
}

#[test]
fn the_random_ones_fit_and_fail_in_turn() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut compiled, mut fit, mut unfit) = (0, 0, 0);
    for _ in 0..200 {
        let schema = schema().new_tree(&mut runner).expect("a schema").current();
        let Ok(schema) = Schema::compile(&schema) else { continue };
        compiled += 1;
        for _ in 0..8 {
            let value = value().new_tree(&mut runner).expect("a value").current();
            match schema.check(&value, STEPS_MAX) {
                Ok(()) => fit += 1,
                Err(_) => unfit += 1,
            }
        }
    }
    assert!(compiled > 100 && fit > 200 && unfit > 200, "{compiled} compiled, {fit} fit, {unfit} do not");
}
