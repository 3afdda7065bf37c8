//! What a run is given: a JSON Schema of an object, with its defaults filled in and no key besides.

use crate::node::Node;
use crate::problem::{FileFault, FileMark};
use cofferdam_core::schema::{STEPS_MAX, Schema};
use serde_json::{Map, Value};

/// The input that a workflow takes.
#[derive(Clone, Debug)]
pub struct Input {
    /// The schema, with what it leaves unsaid.
    pub schema: Value,
    compiled: Schema,
}

impl Input {
    pub(super) fn read(node: Option<&Node>, start: FileMark) -> Result<Self, FileFault> {
        let mark = node.map_or(start, |node| node.mark);
        let mut schema = node.map(|node| read_schema(node, "input")).transpose()?.unwrap_or_default();
        if *schema.entry("type").or_insert_with(|| "object".into()) != "object" {
            let said = "`input` must be the schema of an object; write `type: object`";
            return Err(FileFault::new(mark, said));
        }
        let says = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
        if !says.iter().any(|key| schema.contains_key(*key)) {
            schema.insert("additionalProperties".into(), false.into());
        }
        let schema = Value::Object(schema);
        let compiled = compile(&schema, mark, "input")?;
        Ok(Self { schema, compiled })
    }

    /// The input of a run: what is given, with defaults where nothing is.
    ///
    /// # Errors
    /// The place and what belongs there.
    pub fn complete(&self, given: Value) -> Result<Value, String> {
        let mut input = given;
        fill(&self.schema, &mut input);
        check(&self.compiled, &input).map_err(|why| format!("the input does not fit: {why}"))?;
        Ok(input)
    }
}

/// The schema under this key, not compiled.
pub(super) fn read_schema(node: &Node, key: &str) -> Result<Map<String, Value>, FileFault> {
    let Value::Object(schema) = node.to_value() else {
        let said = format!(
            "`{key}` must be a JSON Schema; write e.g. `{key}: {{ type: object, properties: {{ … }} }}`"
        );
        return Err(FileFault::new(node.mark, said));
    };
    Ok(schema)
}

/// The schema under this key, compiled.
pub(super) fn compile(schema: &Value, mark: FileMark, key: &str) -> Result<Schema, FileFault> {
    Schema::compile(schema)
        .map_err(|error| FileFault::new(mark, format!("`{key}` is no usable JSON Schema: {error}")))
}

/// Whether a value fits.
pub(crate) fn check(schema: &Schema, value: &Value) -> Result<(), String> {
    schema.check(value, STEPS_MAX).map_err(|refusal| refusal.to_string())
}

/// Puts defaults where properties are missing, in objects that are there.
fn fill(schema: &Value, value: &mut Value) {
    let (Some(properties), Some(object)) =
        (schema.get("properties").and_then(Value::as_object), value.as_object_mut())
    else {
        return;
    };
    for (name, property) in properties {
        if let (None, Some(default)) = (object.get(name), property.get("default")) {
            object.insert(name.clone(), default.clone());
        }
        if let Some(inner) = object.get_mut(name) {
            fill(property, inner);
        }
    }
}
