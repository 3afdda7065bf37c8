//! Schemas and arguments: whatever text the gateway's check lets through lies at a place that the
//! policy had to classify, and another validator lets the same through.
//!
//! The bytes are two lines of JSON: a schema, and arguments for it.

use crate::assert_plain;
use cofferdam_core::json::{Whole, parse_strict};
use cofferdam_core::schema::{Schema, ValueRefusal};
use cofferdam_policy::PolicySet;
use cofferdam_policy::schema::{Leaf, leaves};
use cofferdam_policy::{ArgumentClass, ToolPolicy};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Steps for one input: nobody waits for more.
const STEPS: u64 = 20_000_000;

/// Where another validator takes any time, reads something else on purpose, or calculates with
/// floats.
const NOT_COMPARED: [&str; 7] = [
    "pattern",
    "$dynamicRef",
    "multipleOf",
    "$schema",
    "dependencies",
    "contentMediaType",
    "contentEncoding",
];

static POLICY: LazyLock<ToolPolicy> = LazyLock::new(|| {
    let profile = "schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = []\n";
    let tool = "schema = 1\ntool = \"t\"\nprofile = \"p\"\ncomponent = \"builtin\"\nsafety = \"read-only\"\nwhy = \"w\"\n";
    let set =
        PolicySet::parse([("profiles/p.toml", profile), ("tools/t.toml", tool)]).expect("sound policies");
    set.get("t").expect("there").clone()
});

/// Holds the places found in a schema against the gateway's check, and that against another one.
pub fn schemas(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (schema_text, arguments) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(schema) = parse_strict(schema_text) else { return };
    let found = leaves(&schema);
    assert_eq!(found, leaves(&schema), "twice the same");
    let Ok(found) = found else {
        assert!(POLICY.check_schema(&schema).is_err(), "a schema without places passes");
        return;
    };
    classified(&found, &schema);
    let Ok(ours) = Schema::compile(&schema) else { return };
    let Ok(arguments) = parse_strict(arguments) else { return };
    let checked = ours.check(&arguments, STEPS);
    if let Err(refusal) = &checked {
        assert_plain(&refusal.to_string());
    }
    if let (Ok(()), Value::Object(fields)) = (&checked, &arguments) {
        fields.iter().for_each(|(name, value)| covered(&found, name, value, &schema));
    }
    let not_compared = NOT_COMPARED.iter().any(|word| schema_text.contains(word));
    if not_compared || schema_text.contains('\\') || has_rounded(&arguments) {
        return;
    }
    let Ok(theirs) = jsonschema::draft202012::new(&schema) else { return };
    match checked {
        Ok(()) | Err(ValueRefusal::Unfit(_)) => {
            assert_eq!(checked.is_ok(), theirs.is_valid(&arguments), "{arguments} by {schema}: {checked:?}");
        }
        Err(ValueRefusal::TooCostly | ValueRefusal::TooDeep | ValueRefusal::Stopped) => {}
    }
}

/// Whether there is a whole number that may have been rounded: here it is none, and there it is.
fn has_rounded(value: &Value) -> bool {
    match value {
        Value::Number(number) => Whole::from_number(number) == Whole::Rounded,
        Value::Array(items) => items.iter().any(has_rounded),
        Value::Object(fields) => fields.values().any(has_rounded),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// A policy that classifies every place passes; one that leaves any text out does not.
fn classified(found: &BTreeMap<String, Leaf>, schema: &Value) {
    let text = || found.iter().filter(|(_, leaf)| **leaf == Leaf::MayBeText).map(|(at, _)| at);
    let mut policy = POLICY.clone();
    policy.arguments = text().map(|at| (at.clone(), ArgumentClass::Value)).collect();
    assert_eq!(policy.check_schema(schema), Ok(()));
    for at in text().take(8) {
        let class = policy.arguments.remove(at).expect("there");
        let problems = policy.check_schema(schema).expect_err("a place is not classified");
        assert_eq!(problems.len(), 1, "{at}");
        policy.arguments.insert(at.clone(), class);
    }
    policy.arguments.insert("no such place".into(), ArgumentClass::Value);
    assert_eq!(policy.check_schema(schema).is_ok(), found.contains_key("no such place"));
}

fn covered(found: &BTreeMap<String, Leaf>, at: &str, value: &Value, schema: &Value) {
    if found.get(at) == Some(&Leaf::MayBeText) {
        return;
    }
    match value {
        Value::String(text) => panic!("{text:?} is let in at {at:?}, which is not classified: {schema}"),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                // A field of a tuple has a place of its own.
                let own = format!("{at}[{index}]");
                let is_field =
                    found.range(own.clone()..).next().is_some_and(|(key, _)| key.starts_with(&own));
                let at = if is_field { own } else { format!("{at}[]") };
                covered(found, &at, item, schema);
            }
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| covered(found, &format!("{at}.{name}"), value, schema));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
