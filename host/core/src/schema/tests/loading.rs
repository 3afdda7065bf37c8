//! What does not load: the place as a pointer, and what to write instead.

use super::super::{DOCUMENT_DEPTH_MAX, SCHEMAS_MAX};
use super::*;
use serde_json::json;

#[test]
fn what_is_not_read_refuses_to_load_with_its_place() {
    let properties = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    for (schema, said) in [
        (json!(1), "#: is no schema; write an object, true or false"),
        (properties(json!("x")), "#/properties/a: is no schema; write an object, true or false"),
        (json!({ "properties": [] }), "#/properties: must be an object of schemas by name"),
        (
            properties(json!({ "type": "text" })),
            "#/properties/a/type: must be one of string, integer, number, boolean, array, object and null, or a list of some, each once",
        ),
        (json!({ "type": [] }), "#/type: must name at least one type"),
        (json!({ "type": ["string", "string"] }), "#/type: must be one of string"),
        (json!({ "minLength": -1 }), "#/minLength: must be a whole number, 0 or more"),
        (json!({ "minLength": 1.5 }), "#/minLength: must be a whole number, 0 or more"),
        (json!({ "maxItems": "3" }), "#/maxItems: must be a whole number, 0 or more"),
        (json!({ "minimum": "3" }), "#/minimum: must be a number"),
        (json!({ "exclusiveMinimum": true }), "#/exclusiveMinimum: must be a number"),
        (json!({ "multipleOf": 0 }), "#/multipleOf: must be above 0"),
        (json!({ "enum": "a" }), "#/enum: must be a list of the values that it may have"),
        (json!({ "required": "a" }), "#/required: must be a list of names"),
        (json!({ "required": [1] }), "#/required: must be a list of names"),
        (json!({ "uniqueItems": 1 }), "#/uniqueItems: must be true or false"),
        (json!({ "anyOf": [] }), "#/anyOf: must be a list of schemas, at least one"),
        (json!({ "allOf": {} }), "#/allOf: must be a list of schemas"),
        (json!({ "oneOf": [true, 3] }), "#/oneOf/1: is no schema"),
        (json!({ "pattern": 1 }), "#/pattern: must be a regular expression"),
        (
            properties(json!({ "pattern": "(?=(a+))a*b" })),
            "#/properties/a/pattern: looks ahead, which takes more than one reading; write what the text is",
        ),
        (json!({ "pattern": "(a)\\1" }), "#/pattern: refers back"),
        (json!({ "patternProperties": { "(?!a)": true } }), "#/patternProperties: looks ahead"),
        (
            json!({ "unevaluatedProperties": false }),
            "#/unevaluatedProperties: is not read; write all properties in one schema",
        ),
        (
            json!({ "dependencies": {} }),
            "#/dependencies: is not read; write dependentRequired, or if and then",
        ),
        (json!({ "nullable": true }), "#/nullable: is not read; write \"type\": [\"string\", \"null\"]"),
        (json!({ "$dynamicRef": "#x" }), "#/$dynamicRef: is not read; put the schema under $defs"),
        (json!({ "properties": { "a": { "$id": "urn:x" } } }), "#/properties/a/$id: is not read; remove it"),
        (json!({ "x/y~": true }), "#/x~1y~0: is not read; remove it, or write it with"),
        (json!({ "items": [true], "prefixItems": [true] }), "#/prefixItems: stands beside a list of items"),
        (json!({ "additionalItems": false }), "#/additionalItems: is not read; write prefixItems"),
    ] {
        let error = Schema::compile(&schema).expect_err(&schema.to_string()).to_string();
        assert!(error.starts_with(said), "{schema}: {error}");
    }
}

#[test]
fn a_reference_leads_to_a_schema_of_the_document() {
    for leaving in [
        "",
        "x",
        "#anchor",
        "other.json",
        "http://127.0.0.1:1/x",
        "file:///etc/passwd",
        "/$defs/x",
        "#/$defs/nope",
        "#/$defs/%78",
        "#/$defs",
        "#/$defs/x/enum",
        "#/$defs/x/enum/0",
        "#/properties",
    ] {
        let schema =
            json!({ "properties": { "a": { "$ref": leaving } }, "$defs": { "x": { "enum": [{}] } } });
        let error = Schema::compile(&schema).expect_err(leaving);
        assert_eq!(error.place, "#/properties/a/$ref", "{leaving}");
        assert!(error.problem.starts_with("leads to no schema of this document"), "{leaving}: {error}");
    }
    for (led, fits, fails) in [
        ("#/$defs/x", json!(1), json!("a")),
        ("#/$defs/a~1b~0", json!("a"), json!(1)),
        ("#/properties/b/items", json!(true), json!(1)),
        ("#/definitions/y/anyOf/0", json!(null), json!(1)),
    ] {
        let schema = json!({
            "properties": { "a": { "$ref": led }, "b": { "items": { "type": "boolean" } } },
            "$defs": { "x": { "type": "integer" }, "a/b~": { "type": "string" } },
            "definitions": { "y": { "anyOf": [{ "type": "null" }] } } });
        let compiled = compiled(&schema);
        assert!(compiled.check(&json!({ "a": fits }), 1000).is_ok(), "{led}");
        assert!(compiled.check(&json!({ "a": fails }), 1000).is_err(), "{led}");
    }
    // An unused one is looked at, too.
    let hidden = json!({ "$defs": { "x": { "$ref": "file:///s" } } });
    assert_eq!(Schema::compile(&hidden).expect_err("refused").place, "#/$defs/x/$ref");
}

#[test]
fn a_reference_that_takes_no_step_into_the_value_is_refused() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "anyOf": [{ "type": "null" }, { "$ref": "#" }] }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } } }),
        json!({ "not": { "$ref": "#" } }),
        json!({ "if": { "$ref": "#" }, "then": true }),
        // Nobody uses it.
        json!({ "$defs": { "a": { "oneOf": [{ "$ref": "#/$defs/a" }] } } }),
    ] {
        let error = Schema::compile(&schema).expect_err(&schema.to_string()).to_string();
        assert!(error.contains("refers to itself without a step into the value"), "{schema}: {error}");
    }
    // Each of these takes one.
    let tree = json!({ "type": "object", "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } },
        "additionalProperties": false });
    assert!(compiled(&tree).check(&json!({ "left": { "right": {} } }), 1000).is_ok());
    let said = refusal(&tree, &json!({ "left": { "right": { "up": {} } } }));
    assert_eq!(said.to_string(), "left.right.up is unknown; there is left, right");
    for step in [json!({ "items": { "$ref": "#" } }), json!({ "contains": { "$ref": "#" } })] {
        compiled(&step);
    }
}

#[test]
fn schemas_are_bounded() {
    let many = |n: usize| json!({ "anyOf": vec![json!(true); n - 1] });
    compiled(&many(SCHEMAS_MAX));
    let error = Schema::compile(&many(SCHEMAS_MAX + 1)).expect_err("refused").to_string();
    assert!(error.ends_with("is one schema more than 10000; write fewer"), "{error}");

    // A plain value is one level.
    let deep = |levels: usize| (1..levels).fold(json!(true), |inner, _| json!({ "items": inner }));
    compiled(&deep(DOCUMENT_DEPTH_MAX));
    let error = Schema::compile(&deep(DOCUMENT_DEPTH_MAX + 1)).expect_err("refused").to_string();
    assert_eq!(error, "#: nests deeper than 128; write parts of it under $defs");

    // Each fits the bound, and both together do not.
    let pattern = "^[01]*1[01]{9}$";
    compiled(&json!({ "pattern": pattern }));
    let twenty: Vec<Value> = (0..40).map(|_| json!({ "pattern": pattern })).collect();
    let error = Schema::compile(&json!({ "allOf": twenty })).expect_err("refused").to_string();
    assert!(error.contains("/pattern: is too large as a finite automaton"), "{error}");
    let long = json!({ "properties": { "n".repeat(5000): { "properties": { "m".repeat(5000): 1 } } } });
    let error = Schema::compile(&long).expect_err("refused");
    assert!(error.place.len() <= 200 && error.problem.len() <= 300, "{error}");
}

#[test]
fn what_generators_write_loads() {
    for schema in [
        // schemars 1: a tagged union, numbers with formats, an option.
        json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "type": "object",
            "properties": { "n": { "type": ["integer", "null"], "format": "uint32", "minimum": 0, "default": null },
                "kind": { "oneOf": [{ "description": "d", "type": "string", "const": "a" }, { "type": "string", "enum": ["b"] }] } } }),
        // schemars 0.8, zod-to-json-schema: definitions, tuples as lists.
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": { "P": { "type": "string" } },
            "properties": { "p": { "allOf": [{ "$ref": "#/definitions/P" }], "default": "x" },
                "t": { "type": "array", "items": [{ "type": "integer" }, { "type": "string" }], "minItems": 2,
                    "maxItems": 2, "additionalItems": { "type": "boolean" } } } }),
        // pydantic 2.
        json!({ "$defs": { "Cat": { "type": "object", "title": "Cat", "properties": { "kind": { "const": "cat", "type": "string" } } } },
            "properties": { "pet": { "discriminator": { "mapping": { "cat": "#/$defs/Cat" }, "propertyName": "kind" },
                "oneOf": [{ "$ref": "#/$defs/Cat" }] }, "at": { "type": "string", "format": "date-time" },
                "pair": { "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "number" }], "minItems": 2, "maxItems": 2 },
                "by": { "type": "object", "additionalProperties": { "type": "integer" }, "propertyNames": { "pattern": "^[a-z]+$" } } },
            "type": "object", "example": {}, "examples": [{}] }),
        // zod 4.
        json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {
            "id": { "type": "string", "format": "uuid", "pattern": "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$" },
            "n": { "type": "integer", "minimum": -9007199254740991i64, "maximum": 9007199254740991i64 },
            "never": { "not": {} }, "bytes": { "type": "string", "contentEncoding": "base64" } },
            "required": ["id"], "additionalProperties": false }),
    ] {
        compiled(&schema);
    }
}
