//! What a check may cost: the attacks that took minutes, in steps; nesting; and what must still
//! pass.

use super::*;
use crate::schema::{DEPTH_MAX, FINDINGS_MAX};
use serde_json::json;
use std::cell::Cell;

/// Nine references at each of three levels, to a schema that no number fits.
fn nested_any_of() -> Value {
    let level = |below: &str| json!({ "anyOf": vec![json!({ "$ref": below }); 9] });
    json!({ "type": "object", "properties": { "list": { "type": "array", "items": { "$ref": "#/$defs/a" } } },
        "$defs": { "a": level("#/$defs/b"), "b": level("#/$defs/c"), "c": level("#/$defs/d"),
            "d": { "type": "integer", "maximum": -1 } } })
}

#[test]
fn nested_any_of_is_ended_by_its_steps() {
    let schema = compiled(&nested_any_of());
    let list = |n: u64| json!({ "list": (0..n).collect::<Vec<_>>() });
    // All nine ways for each item, and one more item than there are problems to tell.
    let told = schema.check(&list(100), STEPS_MAX).expect_err("no number fits");
    assert!(matches!(&told, ValueRefusal::Unfit(findings) if findings.len() == FINDINGS_MAX), "{told:?}");
    // Told to nobody, every item is tried: 10 000 items would be 8 200 000 schemas.
    let hidden = json!({ "anyOf": [{ "type": "null" }, { "not": { "not": nested_any_of() } }] });
    assert!(Schema::compile(&hidden).is_err(), "its references lead elsewhere");
    let mut hidden = nested_any_of();
    hidden["properties"]["list"] =
        json!({ "type": "array", "contains": { "$ref": "#/$defs/a" }, "minContains": 0 });
    let hidden = compiled(&hidden);
    assert_eq!(hidden.check(&list(1_000), STEPS_MAX), Ok(()));
    assert_eq!(hidden.check(&list(10_000), 10_000_000), Err(ValueRefusal::TooCostly));
}

#[test]
fn every_kind_of_work_takes_steps() {
    let text = "a".repeat(10_000);
    let numbers: Vec<u64> = (0..10_000).collect();
    let names: serde_json::Map<String, Value> = (0..10_000).map(|n| (n.to_string(), json!(1))).collect();
    for (schema, value) in [
        (json!({ "pattern": "b" }), json!(text)),
        (json!({ "minLength": 1 }), json!(text)),
        (json!({ "const": text }), json!(text)),
        (json!({ "enum": numbers }), json!(-1)),
        (json!({ "const": numbers }), json!(numbers)),
        (json!({ "uniqueItems": true }), json!(numbers)),
        (json!({ "uniqueItems": true }), json!([text])),
        (json!({ "items": true }), json!(numbers)),
        (json!({ "contains": { "type": "null" } }), json!(numbers)),
        (json!({ "additionalProperties": true }), json!(names)),
        (json!({ "properties": { "x": true } }), json!({ text.clone(): 1 })),
        (json!({ "patternProperties": { "b": true } }), json!({ text.clone(): 1 })),
        (json!({ "propertyNames": { "pattern": "a" } }), json!({ text.clone(): 1 })),
        (json!({ "required": names.keys().collect::<Vec<_>>() }), json!(names)),
        (json!({ "dependentRequired": { "0": names.keys().collect::<Vec<_>>() } }), json!(names)),
        (json!({ "allOf": vec![json!({ "type": "null" }); 9_000] }), json!(null)),
        (json!({ "anyOf": vec![json!({ "type": "integer" }); 9_000] }), json!(null)),
        (json!({ "oneOf": vec![json!({ "type": "integer" }); 9_000] }), json!(null)),
    ] {
        let checked = compiled(&schema).check(&value, 9_000);
        assert_eq!(checked, Err(ValueRefusal::TooCostly), "{:.100}", schema.to_string());
    }
}

#[test]
fn items_that_are_alike_cost_no_square() {
    let items: Vec<Value> = (0..20_000).map(|n| json!({ "n": n, "text": "t" })).collect();
    let schema = compiled(&json!({ "uniqueItems": true }));
    assert_eq!(schema.check(&json!(items), 5_000_000), Ok(()));
}

#[test]
fn a_check_that_nobody_waits_for_ends() {
    let schema = compiled(&json!({ "items": { "anyOf": [{ "type": "string" }, { "type": "integer" }] } }));
    let value = json!((0..200_000).collect::<Vec<u64>>());
    let looks = Cell::new(0);
    let stopped = || {
        looks.set(looks.get() + 1);
        looks.get() > 3
    };
    assert_eq!(schema.check_until(&value, STEPS_MAX, &stopped), Err(ValueRefusal::Stopped));
    assert_eq!(looks.get(), 4);
}

#[test]
fn nothing_goes_deeper_than_its_bound() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    // Three schemas a level: the list, the reference, the choice.
    let tree = compiled(&json!({ "$ref": "#/$defs/n", "$defs": { "n": { "anyOf": [{ "type": "integer" },
        { "type": "array", "items": { "$ref": "#/$defs/n" } }] } } }));
    assert_eq!(tree.check(&nested(127), STEPS_MAX), Ok(()), "as deep as JSON is read");
    assert_eq!(tree.check(&nested(DEPTH_MAX), STEPS_MAX), Err(ValueRefusal::TooDeep));
    let chain: serde_json::Map<String, Value> = (0..2000)
        .map(|n| (format!("d{n}"), json!({ "$ref": format!("#/$defs/d{}", n + 1) })))
        .chain([("d2000".to_owned(), json!({ "type": "null" }))])
        .collect();
    let chain = compiled(&json!({ "$ref": "#/$defs/d0", "$defs": chain }));
    assert_eq!(chain.check(&json!(null), STEPS_MAX), Err(ValueRefusal::TooDeep));
    for schema in [json!({ "const": nested(120) }), json!({ "uniqueItems": true })] {
        let value = if schema.get("const").is_some() { nested(120) } else { json!([nested(DEPTH_MAX)]) };
        let checked = compiled(&schema).check(&value, STEPS_MAX);
        assert_eq!(checked.is_ok(), schema.get("const").is_some(), "{checked:?}");
    }
}

#[test]
fn the_densest_arguments_pass() {
    // One in sixteen of what a policy may allow: 1 MiB of `1,` and of `"",`, and one text of it
    // all.
    let share = STEPS_MAX / 16;
    let numbers = json!({ "list": vec![1; 1 << 19] });
    let texts = json!({ "list": vec![""; (1 << 20) / 3] });
    let schema = |items: Value| {
        compiled(&json!({ "type": "object", "additionalProperties": false,
        "properties": { "list": { "type": "array", "items": items } } }))
    };
    let optional = json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] });
    assert_eq!(schema(json!({ "type": "integer", "minimum": 0 })).check(&numbers, share), Ok(()));
    assert_eq!(schema(optional).check(&numbers, share), Ok(()));
    assert_eq!(schema(json!({ "type": "string", "maxLength": 9 })).check(&texts, share), Ok(()));
    let base64 = "^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$";
    let text = json!("QUJD".repeat(1 << 18));
    let encoded = compiled(&json!({ "type": "string", "pattern": base64, "minLength": 4 }));
    assert_eq!(encoded.check(&text, share), Ok(()));
    // A property of each object, with its name.
    let objects = json!({ "list": vec![json!({ "a": 1 }); (1 << 20) / 8] });
    let object = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"],
        "additionalProperties": false });
    assert_eq!(schema(object).check(&objects, share), Ok(()));
}
