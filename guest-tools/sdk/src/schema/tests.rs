//! The shape of the schemas, as the host and the model see them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{of_arguments, of_result};

fn arguments<T: JsonSchema>() -> Value {
    serde_json::from_str(&of_arguments::<T>().unwrap()).unwrap()
}

// What a tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Plain {
    /// Which attachment,
    /// zero-based.
    ///
    /// - a list
    /// - stays one
    index: u64,
    #[serde(default)]
    overwrite: bool,
    #[schemars(range(min = 1, max = 5))]
    #[serde(default = "three")]
    length: u32,
    offset: Option<u64>,
    #[serde(default)]
    signed: Option<i32>,
    title: Option<String>,
}

fn three() -> u32 {
    3
}

#[test]
fn arguments_are_plain_closed_and_described() {
    assert_eq!(
        arguments::<Plain>(),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "index": {
                    "description": "Which attachment, zero-based.\n\n- a list\n- stays one",
                    "type": "integer", "minimum": 0
                },
                "overwrite": { "type": "boolean", "default": false },
                "length": { "type": "integer", "minimum": 1, "maximum": 5, "default": 3 },
                "offset": { "type": "integer", "minimum": 0 },
                "signed": { "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX },
                "title": { "type": "string" }
            },
            "additionalProperties": false,
            "required": ["index"]
        })
    );
}

#[test]
fn arguments_keep_the_order_of_the_fields() {
    let text = of_arguments::<Plain>().unwrap();
    let at = |name: &str| text.find(&format!("\"{name}\":{{")).unwrap();
    assert!(at("index") < at("overwrite") && at("overwrite") < at("length") && at("length") < at("offset"));
}

// `deny_unknown_fields` is forgotten at both levels.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Nested {
    /// How.
    mode: Option<Mode>,
    edits: Vec<Edit>,
    labels: BTreeMap<String, u8>,
}

#[derive(Deserialize, JsonSchema)]
enum Mode {
    Fast,
    Slow,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Edit {
    new_text: Option<String>,
}

#[test]
fn nested_types_are_inlined_and_closed() {
    assert_eq!(
        arguments::<Nested>()["properties"],
        json!({
            "mode": { "description": "How.", "type": "string", "enum": ["Fast", "Slow"] },
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "new_text": { "type": "string" } },
                    "additionalProperties": false
                }
            },
            "labels": {
                "type": "object",
                "additionalProperties": { "type": "integer", "minimum": 0, "maximum": 255 }
            }
        })
    );
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Open {
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
enum Either {
    One { a: u8 },
    Other { b: u8 },
}

#[test]
fn no_arguments_are_a_closed_object() {
    let schema = arguments::<Nothing>();
    assert_eq!((&schema["properties"], &schema["additionalProperties"]), (&json!({}), &json!(false)));
}

#[test]
fn what_cannot_be_arguments_says_why() {
    let check = |refused: Result<String, String>, part: &str| {
        let why = refused.unwrap_err();
        assert!(why.contains(part), "{why}");
    };
    check(of_arguments::<Open>(), "unknown properties");
    check(of_arguments::<Either>(), "oneOf");
    check(of_arguments::<String>(), "JSON object");
    check(of_arguments::<()>(), "JSON object");
    check(of_result::<Vec<u8>>(), "JSON object");
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    saved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    bytes: u64,
}

#[test]
fn a_result_says_what_is_always_there() {
    let schema: Value = serde_json::from_str(&of_result::<Answer>().unwrap()).unwrap();
    assert_eq!(schema["required"], json!(["saved", "bytes"]));
    assert_eq!(schema["properties"]["bytes"], json!({ "type": "integer", "minimum": 0 }));
}
