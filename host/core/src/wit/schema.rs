//! JSON Schema of shapes.

use super::{FunctionShape, Shape, Width, snake};
use serde_json::{Map, Value, json};

/// The shortest decimal that stands for the largest number of 32 bits.
const FLOAT32_MAX: f64 = 3.402_823_5e38;

impl FunctionShape {
    /// JSON Schema of the arguments: an object.
    pub fn arguments_schema(&self) -> Value {
        record(&self.parameters)
    }

    /// JSON Schema of a successful result: an object. What is none is in `value`.
    pub fn result_schema(&self) -> Value {
        let returned = match &self.result {
            Some(Shape::Result(ok, _)) => ok.as_deref(),
            other => other.as_ref(),
        };
        match returned {
            None => record(&[]),
            Some(shape @ (Shape::Variant(_) | Shape::Result(..))) => {
                let mut schema = shape.schema();
                schema["type"] = "object".into();
                schema
            }
            Some(shape @ Shape::Record(_)) => shape.schema(),
            Some(shape) => json!({ "type": "object", "additionalProperties": false, "required": ["value"],
                                   "properties": { "value": shape.schema() } }),
        }
    }
}

impl Shape {
    /// JSON Schema of its values.
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Bool => json!({ "type": "boolean" }),
            Self::Integer(width) => integer(*width),
            Self::Float32 => json!({ "type": "number", "minimum": -FLOAT32_MAX, "maximum": FLOAT32_MAX }),
            Self::Float64 => json!({ "type": "number" }),
            Self::Char => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            Self::String => json!({ "type": "string" }),
            Self::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
            Self::List(item) => json!({ "type": "array", "items": item.schema() }),
            Self::Record(fields) => record(fields),
            Self::Tuple(fields) => json!({ "type": "array", "items": false, "minItems": fields.len(),
                "maxItems": fields.len(), "prefixItems": fields.iter().map(Self::schema).collect::<Vec<_>>() }),
            Self::Variant(cases) => {
                let cases = cases.iter().map(|(name, payload)| case(name, payload.as_ref()));
                json!({ "oneOf": cases.collect::<Vec<_>>() })
            }
            Self::Enum(names) => json!({ "type": "string", "enum": all(names) }),
            Self::Option(inner) => json!({ "anyOf": [inner.schema(), { "type": "null" }] }),
            Self::Result(ok, err) => {
                json!({ "oneOf": [case("ok", ok.as_deref()), case("err", err.as_deref())] })
            }
            Self::Flags(names) => json!({ "type": "array", "uniqueItems": true,
                "items": { "type": "string", "enum": all(names) } }),
        }
    }
}

fn all(names: &[String]) -> Vec<String> {
    names.iter().map(|name| snake(name)).collect()
}

fn integer(width: Width) -> Value {
    let (least, most) = width.range();
    // Both fit: the ranges are those of 64 bits at most.
    let bound = |n: i128| i64::try_from(n).map_or_else(|_| Value::from(most as u64), Value::from);
    let number = json!({ "type": "integer", "minimum": bound(least), "maximum": bound(most) });
    if !width.is_wide() {
        return number;
    }
    let sign = if least < 0 { "-?" } else { "" };
    json!({ "anyOf": [number, { "type": "string", "pattern": format!("^{sign}[0-9]{{1,20}}$") }] })
}

fn record(fields: &[(String, Shape)]) -> Value {
    let properties: Map<_, _> = fields.iter().map(|(name, shape)| (snake(name), shape.schema())).collect();
    let required = fields.iter().filter(|(_, shape)| !matches!(shape, Shape::Option(_)));
    let required: Vec<_> = required.map(|(name, _)| snake(name)).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
}

fn case(name: &str, payload: Option<&Shape>) -> Value {
    let name = snake(name);
    let payload = payload.map_or_else(|| json!({ "type": "null" }), Shape::schema);
    json!({ "type": "object", "additionalProperties": false, "required": [name], "properties": { name: payload } })
}
