//! Whole numbers are written in digits where a schema says `integer`, and nowhere else.

use super::compiled;
use crate::json::parse_strict;
use crate::schema::STEPS_MAX;
use serde_json::{Map, Value, json};

/// What becomes of a value under a schema.
fn written(schema: &Value, text: &str) -> String {
    let schema = compiled(schema);
    let mut value = parse_strict(text).expect(text);
    let fits = |value: &Value| schema.check(value, STEPS_MAX).is_ok();
    let before = fits(&value);
    schema.write_integers(&mut value);
    assert_eq!(fits(&value), before, "{text}");
    value.to_string()
}

#[test]
fn whole_numbers_get_digits_where_integers_are_wanted() {
    let integer = json!({ "type": "integer" });
    let named = json!({ "properties": { "n": integer, "f": { "type": "number" } } });
    let recursive = json!({
        "$ref": "#/$defs/tree",
        "$defs": { "tree": { "properties": { "n": integer, "below": { "items": { "$ref": "#/$defs/tree" } } } } }
    });
    for (schema, text, expected) in [
        (&integer, "1.0", "1"),
        (&integer, "1e2", "100"),
        (&integer, "-0.0", "0"),
        (&integer, "-2.0", "-2"),
        (&integer, "9007199254740991.0", "9007199254740991"),
        (&integer, "9007199254740992.0", "9007199254740992.0"),
        (&integer, "1.5", "1.5"),
        (&integer, "18446744073709551615", "18446744073709551615"),
        (&json!({ "type": ["integer", "null"] }), "1.0", "1"),
        (&json!({ "type": "number" }), "1.0", "1.0"),
        (&json!({}), "[1.0]", "[1.0]"),
        (&named, r#"{"f":1.0,"n":1.0,"other":1.0}"#, r#"{"f":1.0,"n":1,"other":1.0}"#),
        (&json!({ "items": integer }), "[1.0,\"a\",2e0]", "[1,\"a\",2]"),
        (&json!({ "prefixItems": [{}, integer] }), "[1.0,1.0,1.0]", "[1.0,1,1.0]"),
        (&json!({ "prefixItems": [{}], "items": integer }), "[1.0,1.0,1.0]", "[1.0,1,1]"),
        (&json!({ "additionalProperties": integer }), r#"{"a":[1.0],"b":1.0}"#, r#"{"a":[1.0],"b":1}"#),
        (&json!({ "patternProperties": { "^n": integer } }), r#"{"m":1.0,"n1":1.0}"#, r#"{"m":1.0,"n1":1}"#),
        (&json!({ "anyOf": [{ "type": "string" }, integer] }), "1.0", "1"),
        (&json!({ "allOf": [{ "oneOf": [{ "items": integer }, { "type": "null" }] }] }), "[3.0]", "[3]"),
        (
            &recursive,
            r#"{"below":[{"below":[{"n":1.0}],"n":2.0}]}"#,
            r#"{"below":[{"below":[{"n":1}],"n":2}]}"#,
        ),
    ] {
        assert_eq!(written(schema, text), expected, "{schema}");
    }
}

#[test]
fn beyond_so_many_steps_numbers_stay_as_they_are() {
    let forms: Vec<Value> = (0..1000).map(|n| json!({ "type": "integer", "minimum": n })).collect();
    let schema = compiled(&json!({ "items": { "anyOf": forms } }));
    let mut value = json!(vec![1.0; 5000]);
    schema.write_integers(&mut value);
    assert_eq!((&value[0].to_string(), &value[4999].to_string()), (&"1".to_owned(), &"1.0".to_owned()));
}

#[test]
fn schemas_that_say_nothing_of_a_property_take_steps_as_well() {
    let mut forms = vec![json!({ "minProperties": 0 }); 2000];
    forms.push(json!({ "additionalProperties": { "type": "integer" } }));
    let schema = compiled(&json!({ "allOf": forms }));
    let fields: Map<String, Value> = (0..2000).map(|n| (format!("{n:04}"), json!(1.0))).collect();
    let mut value = Value::Object(fields);
    schema.write_integers(&mut value);
    assert_eq!((value["0000"].to_string(), value["1999"].to_string()), ("1".to_owned(), "1.0".to_owned()));
}
