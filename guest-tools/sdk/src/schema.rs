//! JSON Schema (2020-12) texts from Rust types, in the shape that models cope with best: no
//! references where types do not recurse, plain types for optional arguments, no unknown
//! properties. It refuses types that cannot be the arguments or the result of a tool.

use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments.
///
/// # Errors
/// Says what to change, where `T` is not a struct with named fields or takes any property.
pub fn of_arguments<T: JsonSchema>() -> Result<String, String> {
    let mut schema = generator(SchemaSettings::for_deserialize).into_root_schema_for::<T>();
    tidy(&mut schema);
    RecursiveTransform(|schema: &mut Schema| {
        plain_optionals(schema);
        close(schema);
    })
    .transform(&mut schema);

    let root = object_root(&mut schema)?;
    if let Some(combined) =
        ["$ref", "oneOf", "anyOf", "allOf"].into_iter().find(|key| root.contains_key(*key))
    {
        return Err(format!("must be a struct with named fields, not `{combined}`"));
    }
    root.entry("properties").or_insert_with(|| json!({}));
    match root.entry("additionalProperties").or_insert(Value::Bool(false)) {
        Value::Bool(false) => Ok(schema.as_value().to_string()),
        _ => Err("must not take unknown properties: remove the flattened map, name the fields".into()),
    }
}

/// The schema of a tool's result.
///
/// # Errors
/// Says what to change, where `T` is not a JSON object.
pub fn of_result<T: JsonSchema>() -> Result<String, String> {
    let mut schema = generator(SchemaSettings::for_serialize).into_root_schema_for::<T>();
    tidy(&mut schema);
    object_root(&mut schema)?;
    Ok(schema.as_value().to_string())
}

fn generator(contract: fn(SchemaSettings) -> SchemaSettings) -> SchemaGenerator {
    contract(SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true))
        .into_generator()
}

fn object_root(schema: &mut Schema) -> Result<&mut Map<String, Value>, String> {
    match schema.as_object_mut() {
        Some(root) if root.get("type").is_none_or(|kind| kind == "object") => Ok(root),
        _ => Err("must be a JSON object: use a struct with named fields".into()),
    }
}

/// Drops what only Rust knows: the type's name, number formats (their bounds stay), line breaks in
/// docs.
fn tidy(schema: &mut Schema) {
    if let Some(root) = schema.as_object_mut() {
        root.shift_remove("title");
    }
    RecursiveTransform(|schema: &mut Schema| {
        let bounds = match schema.get("format").and_then(Value::as_str) {
            Some("uint32") => Some((0, i64::from(u32::MAX))),
            Some("int32") => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
            Some("int8" | "int16" | "int64" | "int" | "uint8" | "uint16" | "uint64" | "uint") => None,
            Some("float" | "double") => None,
            _ => return unwrap_lines(schema),
        };
        let Some(object) = schema.as_object_mut() else { return };
        // Not `remove`, which would disturb the order.
        object.shift_remove("format");
        if let Some((least, most)) = bounds {
            object.entry("minimum").or_insert(least.into());
            object.entry("maximum").or_insert(most.into());
        }
        unwrap_lines(schema);
    })
    .transform(schema);
}

/// Doc comments are wrapped for an editor: one line a paragraph or list item here.
fn unwrap_lines(schema: &mut Schema) {
    let Some(Value::String(text)) = schema.get_mut("description") else {
        return;
    };
    let mut unwrapped = String::with_capacity(text.len());
    for line in text.lines() {
        let starts_anew = line.is_empty() || line.starts_with(['-', '*', ' ']);
        if !unwrapped.is_empty() {
            unwrapped.push(if starts_anew || unwrapped.ends_with('\n') { '\n' } else { ' ' });
        }
        unwrapped.push_str(line);
    }
    *text = unwrapped;
}

/// An argument that may be left out is of its plain type: models take `["integer", "null"]` badly.
fn plain_optionals(schema: &mut Schema) {
    let required: Vec<Value> = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        if let (false, Value::Object(property)) = (required.iter().any(|it| it == name), property) {
            drop_null(property);
        }
    }
}

fn drop_null(property: &mut Map<String, Value>) {
    if property.get("default").is_some_and(Value::is_null) {
        property.shift_remove("default");
    }
    for key in ["type", "enum"] {
        if let Some(Value::Array(choices)) = property.get_mut(key) {
            choices.retain(|it| it != "null" && !it.is_null());
            if let ("type", [only]) = (key, choices.as_slice()) {
                let only = only.clone();
                property.insert(key.into(), only);
            }
        }
    }
    let Some(Value::Array(choices)) = property.get_mut("anyOf") else {
        return;
    };
    choices.retain(|it| it != &json!({ "type": "null" }));
    if let [Value::Object(only)] = choices.as_mut_slice() {
        let only = std::mem::take(only);
        property.shift_remove("anyOf");
        for (key, value) in only {
            // The field's own description stands; the type's is behind it.
            property.entry(key).or_insert(value);
        }
    }
}

/// Unknown properties are refused even where the author forgot `deny_unknown_fields`: a string in
/// one would be classified by no policy.
fn close(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let combined = ["oneOf", "anyOf", "allOf", "$ref", "unevaluatedProperties"];
    if object.contains_key("properties") && !combined.iter().any(|key| object.contains_key(*key)) {
        object.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}

#[cfg(test)]
mod tests;
