//! What a client is told of the tools: all that load, by name, with hints that follow from the
//! policy alone, so that no component can claim to be harmless.

use cofferdam_agent::tools::{RegisteredTool, Registry};
use cofferdam_core::schema::Schema;
use cofferdam_policy::{Safety, ToolPolicy};
use rmcp::model::{JsonObject, Tool as Offered, ToolAnnotations};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tools as they are offered, each with what its results are held to, where it says so itself.
pub(crate) fn offer_tools(registry: &Registry) -> BTreeMap<String, (Offered, Option<Schema>)> {
    let loaded = registry.iter().filter_map(|(name, tool)| Some((name, tool.as_ref().ok()?)));
    loaded.map(|(name, tool)| (name.to_owned(), entry(name, tool))).collect()
}

fn entry(name: &str, tool: &RegisteredTool) -> (Offered, Option<Schema>) {
    let description = &tool.description;
    let input = modern(&description.arguments).as_object().cloned().unwrap_or_default();
    let offered = Offered::new(name.to_owned(), description.summary.clone(), Arc::new(input))
        .with_annotations(annotations(&tool.policy));
    let (object, result) = result(name, &description.result);
    (offered.with_raw_output_schema(Arc::new(object)), result)
}

/// A result's schema, and what results are held to. The sandbox lets no result pass that is not an
/// object, so this is told for a schema that says it otherwise, or not at its root; clients of the
/// older era demand it there. Where results cannot be held to the rest, that is all that is told.
fn result(name: &str, schema: &Value) -> (JsonObject, Option<Schema>) {
    let is_object = ("type".to_owned(), Value::from("object"));
    let mut object = modern(schema).as_object().cloned().unwrap_or_default();
    object.extend([is_object.clone()]);
    match Schema::compile(&Value::Object(object.clone())) {
        Ok(schema) => (object, Some(schema)),
        Err(error) => {
            tracing::warn!(tool = name, %error, "MCP clients are told no more of its result than that it is an object");
            (JsonObject::from_iter([is_object]), None)
        }
    }
}

/// A schema as JSON Schema 2020-12 writes it, which is what clients read: of draft 7 a tuple is
/// written otherwise.
/// <https://json-schema.org/draft/2020-12/release-notes#changes-to-items-and-additionalitems>
fn modern(schema: &Value) -> Value {
    match schema {
        Value::Array(schemas) => schemas.iter().map(modern).collect(),
        Value::Object(fields) => {
            let tuple = fields.get("items").is_some_and(Value::is_array);
            let field = |(key, value): (&String, &Value)| match (key.as_str(), value) {
                // Values, which say what they say.
                ("enum" | "const" | "default" | "example" | "examples" | "dependentRequired", _) => {
                    (key.clone(), value.clone())
                }
                // By names, which are no keywords.
                ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
                    let named = schemas.iter().map(|(name, schema)| (name.clone(), modern(schema)));
                    (key.clone(), Value::Object(named.collect()))
                }
                ("items", _) if tuple => ("prefixItems".to_owned(), modern(value)),
                ("additionalItems", _) if tuple => ("items".to_owned(), modern(value)),
                _ => (key.clone(), modern(value)),
            };
            fields.iter().filter(|(key, _)| *key != "$schema").map(field).collect()
        }
        other => other.clone(),
    }
}

/// Hints for a client that asks its person, from what the policy lets the tool do.
fn annotations(policy: &ToolPolicy) -> ToolAnnotations {
    let is_read_only = policy.safety == Safety::ReadOnly;
    // Files change only at paths that the judge allows for writing, so without such an argument, or
    // without a mount to write, nothing can be replaced or removed.
    let writes = policy.grants.may_write() && policy.arguments.values().any(|class| class.is_written());
    let names_hosts = policy.grants.network.as_ref().is_some_and(|network| !network.hosts.is_empty());
    ToolAnnotations::new()
        .read_only(is_read_only)
        .destructive(!is_read_only && writes)
        .open_world(names_hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tuple_of_draft_7_is_offered_as_clients_read_it() {
        let tuple = json!({ "type": "array", "items": [{ "const": 1 }, { "$ref": "#/$defs/a" }], "additionalItems": false });
        let prefixed = json!({ "type": "array", "prefixItems": [{ "const": 1 }, { "$ref": "#/$defs/a" }], "items": false });
        let within = |list: &Value| {
            json!({
                "type": "object",
                "properties": {
                    "items": list, "enum": { "anyOf": [list] }, "additionalItems": { "type": "null" },
                    "$schema": {
                        "default": { "items": [1], "additionalItems": 2 },
                        "example": { "items": [1], "$schema": 2 },
                    },
                },
                "patternProperties": { "const": list, "$schema": { "type": "null" } },
                "dependentRequired": { "items": ["enum"], "$schema": ["items"] },
                "$defs": { "a": { "type": "array", "items": list } },
            })
        };
        let mut old = within(&tuple);
        old["$schema"] = "http://json-schema.org/draft-07/schema#".into();
        assert_eq!(modern(&old), within(&prefixed));
        assert_eq!(modern(&within(&prefixed)), within(&prefixed));
    }

    #[test]
    fn every_schema_of_a_result_is_one_of_objects() {
        let text = json!({ "properties": { "a": { "type": "string" } } });
        let with_type = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        for (schema, told) in [
            (with_type.clone(), with_type.clone()),
            (text, with_type),
            (json!({ "type": ["object", "null"] }), json!({ "type": "object" })),
            (json!({ "type": "array" }), json!({ "type": "object" })),
            (json!(true), json!({ "type": "object" })),
            (
                json!({ "oneOf": [{ "$ref": "#/$defs/a" }, { "required": ["b"] }], "$defs": { "a": { "required": ["a"] } } }),
                json!({
                    "type": "object",
                    "oneOf": [{ "$ref": "#/$defs/a" }, { "required": ["b"] }], "$defs": { "a": { "required": ["a"] } },
                }),
            ),
        ] {
            let (object, held_to) = result("a_tool", &schema);
            assert_eq!(Value::Object(object), told, "{schema}");
            let held_to = held_to.expect("results can be held to it");
            let is_valid = |result: Value| held_to.check(&result, 1000).is_ok();
            assert!(is_valid(json!({ "a": "x" })) && !is_valid(json!([])), "{schema}");
        }
        let (object, held_to) = result("a_tool", &json!({ "$ref": "https://schemas.example/a" }));
        assert_eq!(Value::Object(object), json!({ "type": "object" }));
        assert!(held_to.is_none());
    }
}
