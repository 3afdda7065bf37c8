//! What people and models are told of a value that does not fit: its place and what to give, never
//! what it holds.

use super::*;
use crate::json::parse_strict;
use crate::schema::FINDINGS_MAX;
use serde_json::json;

/// What is said of `{"a": value}` where `a` has this schema.
fn said(schema: Value, value: Value) -> String {
    let schema = json!({ "type": "object", "properties": { "a": schema } });
    refusal(&schema, &json!({ "a": value })).to_string()
}

#[test]
fn types_are_named_with_an_example() {
    for (schema, value, text) in [
        (json!({ "type": "integer" }), json!("x"), "a must be a whole number, like 0"),
        (json!({ "type": "integer" }), json!(1.5), "a must be a whole number, like 0"),
        (json!({ "type": "integer", "minimum": 1 }), json!("x"), "a must be a whole number, like 1"),
        (json!({ "type": "integer", "maximum": -5 }), json!("x"), "a must be a whole number, like -5"),
        (json!({ "type": "integer", "default": 7 }), json!("x"), "a must be a whole number, like 7"),
        (json!({ "type": "number" }), json!(null), "a must be a number, like 0"),
        (json!({ "type": "string" }), json!(1), "a must be text"),
        (json!({ "type": "boolean" }), json!("true"), "a must be true or false"),
        (json!({ "type": "array" }), json!("x"), "a must be a list, like […]"),
        (json!({ "type": "object" }), json!("x"), "a must be an object, like {…}"),
        (json!({ "type": ["integer", "null"] }), json!("x"), "a must be a whole number or null"),
        (
            json!({ "type": ["string", "integer", "null"] }),
            json!(true),
            "a must be text, a whole number or null",
        ),
        (json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }), json!(1), "a must be text or null"),
        (json!(false), json!(1), "a is not allowed; leave it out"),
    ] {
        assert_eq!(said(schema, value), text);
    }
    assert_eq!(
        refusal(&json!({ "type": "object" }), &json!([])).to_string(),
        "the whole must be an object, like {…}"
    );
}

#[test]
fn a_whole_number_that_may_have_been_rounded_is_none() {
    let wide = json!({ "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^[0-9]+$" }] });
    for rounded in ["-9223372036854775809", "18446744073709551616", "9007199254740993.0", "1e300"] {
        let value = parse_strict(rounded).expect("JSON");
        for schema in [json!({ "type": "integer" }), json!({ "type": ["integer", "null"] }), wide.clone()] {
            let said = said(schema, value.clone());
            assert_eq!(said, "a must be a whole number of at most 64 bits, written in digits alone");
        }
        for schema in [json!({ "type": "number" }), json!({ "type": ["integer", "number"] })] {
            assert_eq!(compiled(&schema).check(&value, STEPS_MAX), Ok(()), "{rounded}");
        }
    }
    for exact in ["1e2", "9007199254740991.0", "9007199254740993", "-9223372036854775808"] {
        let value = parse_strict(exact).expect("JSON");
        let schema = compiled(&json!({ "type": "integer" }));
        assert_eq!(schema.check(&value, STEPS_MAX), Ok(()), "{exact}");
    }
}

#[test]
fn bounds_choices_and_patterns_are_told() {
    for (schema, value, text) in [
        (json!({ "minimum": 0 }), json!(-1), "a must be 0 or more"),
        (json!({ "maximum": 1000 }), json!(1001), "a must be 1000 or less"),
        (json!({ "minimum": 1, "maximum": 5 }), json!(9), "a must be 1 to 5"),
        (json!({ "exclusiveMinimum": 0, "maximum": 1.5 }), json!(0), "a must be more than 0 and 1.5 or less"),
        (json!({ "exclusiveMaximum": 3 }), json!(3), "a must be less than 3"),
        (json!({ "multipleOf": 5 }), json!(3), "a must be a multiple of 5"),
        (json!({ "minLength": 1 }), json!(""), "a has 0 characters; it must have at least 1 character"),
        (json!({ "maxLength": 2 }), json!("éüä"), "a has 3 characters; it must have at most 2 characters"),
        (
            json!({ "minLength": 2, "maxLength": 2 }),
            json!("x"),
            "a has 1 characters; it must have 2 characters",
        ),
        (json!({ "pattern": "^[a-z]+$" }), json!("A"), "a must match the pattern ^[a-z]+$"),
        (json!({ "enum": ["a", "b", 3] }), json!("c"), "a must be \"a\", \"b\" or 3"),
        (json!({ "enum": [] }), json!("c"), "a must be nothing at all"),
        (json!({ "const": true }), json!(false), "a must be true"),
        (json!({ "minItems": 1 }), json!([]), "a has 0 items; it must have at least 1 item"),
        (
            json!({ "minItems": 1, "maxItems": 2 }),
            json!([1, 2, 3]),
            "a has 3 items; it must have 1 to 2 items",
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 2, 1.0]),
            "a has the same item twice, as [0] and [2]; give it once",
        ),
        (
            json!({ "contains": { "type": "string" } }),
            json!([1]),
            "a has 0 items that are text; it must have at least 1 item of them",
        ),
        (json!({ "minProperties": 1 }), json!({}), "a has 0 properties; it must have at least 1 property"),
        (json!({ "not": { "type": "null" } }), json!(null), "a is what the tool does not take: not null"),
        (
            json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 5 }] }),
            json!(3),
            "a fits more than one of its forms, and must fit exactly one; give what tells them apart",
        ),
        (
            json!({ "if": { "minimum": 10 }, "then": { "multipleOf": 10 } }),
            json!(15),
            "a must be a multiple of 10",
        ),
        (json!({ "dependentRequired": { "b": ["c"] } }), json!({ "b": 1 }), "a.c is missing; it goes with b"),
        (
            json!({ "propertyNames": { "pattern": "^[a-z]+$" } }),
            json!({ "B": 1 }),
            "a.B is not a name that is taken here; a name must match the pattern ^[a-z]+$",
        ),
    ] {
        assert_eq!(said(schema, value), text);
    }
    let many: Vec<Value> = (0..100).map(Value::from).collect();
    assert_eq!(
        said(json!({ "enum": many }), json!("x")),
        "a must be 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 or …"
    );
}

#[test]
fn what_is_missing_or_unknown_is_told_with_what_to_give() {
    let schema = json!({ "type": "object", "additionalProperties": false, "required": ["path", "n", "kind"],
        "properties": { "path": { "type": "string" }, "n": { "type": "integer", "minimum": 3 },
            "kind": { "enum": ["day", "week"] }, "list": { "type": "array" } } });
    let said = |value: Value| refusal(&schema, &value).to_string();
    assert_eq!(
        said(json!({})),
        "path is missing; give path=…; n is missing; give n=3; kind is missing; give kind=day"
    );
    assert_eq!(
        said(json!({ "path": "a", "n": 3, "kind": "day", "file": 1 })),
        "file is unknown; there is path, n, kind, list"
    );
    for (name, meant) in [("Path", "path"), ("KIND", "kind"), ("li_st", "list")] {
        let said = said(json!({ "path": "a", "n": 3, "kind": "day", name: 1 }));
        assert_eq!(said, format!("{name} is unknown; write {meant}"));
    }
    assert_eq!(
        refusal(&json!({ "additionalProperties": false }), &json!({ "x": 1 })).to_string(),
        "x is unknown; leave it out"
    );
}

#[test]
fn places_lie_in_lists_and_objects() {
    let edit = json!({ "type": "object", "required": ["old_text"], "additionalProperties": false,
        "properties": { "old_text": { "type": "string" } } });
    let schema = json!({ "type": "object", "properties": {
        "edits": { "type": "array", "items": { "$ref": "#/$defs/edit" } },
        "table": { "type": "array", "items": { "type": "array", "items": { "type": "integer" } } } },
        "$defs": { "edit": edit } });
    let said = |value: Value| refusal(&schema, &value).to_string();
    assert_eq!(said(json!({ "edits": [{ "old_text": "x" }, {}] })), "edits[1].old_text is missing");
    assert_eq!(said(json!({ "edits": [{ "old_text": 1 }] })), "edits[0].old_text must be text");
    assert_eq!(
        said(json!({ "edits": [{ "old_text": "x", "n": 1 }] })),
        "edits[0].n is unknown; there is old_text"
    );
    assert_eq!(said(json!({ "table": [[1], [1, "x"]] })), "table[1][1] must be a whole number, like 0");
}

#[test]
fn of_several_forms_the_one_that_is_meant_is_told() {
    let form = |kind: &str, more: &str| {
        json!({ "type": "object", "required": ["kind", more],
        "properties": { "kind": { "const": kind }, more: { "type": "integer" } } })
    };
    let tagged = json!({ "oneOf": [form("day", "hour"), form("week", "day"), { "type": "null" }] });
    assert_eq!(said(tagged.clone(), json!({ "kind": "week" })), "a.day is missing; give e.g. 0");
    assert_eq!(
        said(tagged.clone(), json!({ "kind": "day", "hour": "x" })),
        "a.hour must be a whole number, like 0"
    );
    assert_eq!(said(tagged.clone(), json!({ "kind": "year" })), "a must be an object or null");
    assert_eq!(said(tagged, json!("x")), "a must be an object or null");
    // The only one of this type.
    let optional = json!({ "anyOf": [form("day", "hour"), { "type": "null" }] });
    assert_eq!(said(optional, json!({ "kind": "day" })), "a.hour is missing; give e.g. 0");
    let vague = json!({ "anyOf": [{ "minimum": 5 }, { "multipleOf": 2 }] });
    assert_eq!(said(vague, json!(3)), "a fits none of the forms that the tool takes");
}

#[test]
fn messages_are_bounded_and_hold_nothing_of_a_value() {
    let secret = "s3cret\u{202E}\n";
    for (schema, value) in [
        (json!({ "type": "integer" }), json!(secret)),
        (json!({ "enum": ["a"] }), json!(secret)),
        (json!({ "const": 1 }), json!([secret])),
        (json!({ "pattern": "^a$" }), json!(secret)),
        (json!({ "maxLength": 1 }), json!(secret)),
        (json!({ "not": {} }), json!(secret)),
        (json!({ "uniqueItems": true }), json!([secret, secret])),
        (json!({ "additionalProperties": { "type": "null" } }), json!({ "x": secret })),
        (json!({ "anyOf": [{ "type": "null" }, { "maxLength": 1 }] }), json!(secret)),
    ] {
        let said = said(schema, value);
        assert!(!said.contains("s3cret"), "{said}");
    }
    let long = "n\u{202E}".repeat(3000);
    let object: serde_json::Map<String, Value> = (0..100).map(|n| (format!("{long}{n}"), json!(1))).collect();
    let schema = json!({ "additionalProperties": false, "properties": { long.clone(): true },
        "required": [long], "enum": [{ "x": long }] });
    let ValueRefusal::Unfit(findings) = refusal(&schema, &Value::Object(object)) else { panic!("unfit") };
    assert_eq!(findings.len(), FINDINGS_MAX);
    let said = ValueRefusal::Unfit(findings).to_string();
    assert!(said.len() < 2048 && !said.contains('\u{202E}'), "{said}");
}
