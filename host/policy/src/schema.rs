//! Which places of a tool's arguments can hold text, read from the JSON Schema.
//!
//! Errs on the side of "can": what this does not understand can hold text, and a schema that
//! lets properties in which it does not name is refused, because nobody could classify them.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a place in the arguments can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// A string, alone or among other types.
    MayBeText,
    /// Numbers, booleans, null, or a closed choice without strings.
    NeverText,
}

/// Longest chain of nested schemas; a recursive schema ends here and is refused.
const DEPTH_MAX: usize = 16;
/// Schemas looked at in all: references that fan out would otherwise multiply at each level.
const VISITS_MAX: usize = 10_000;
/// Bytes, choices or types that are looked at like one schema.
const SMALL: usize = 16;
/// Longest name of a place, in bytes.
const PLACE_BYTES_MAX: usize = 1024;

/// Every place of the arguments by name (`path`, `paths[]`, `edits[].new_text`, of a tuple
/// `pair[0]`) with what it can hold.
///
/// # Errors
/// What in the schema makes judging impossible: a root that is no object, properties that are not
/// named, references that leave the document or that a validator could resolve elsewhere,
/// compositions of nothing, nesting or recursion deeper than 16, more than 10 000 schemas.
pub fn leaves(schema: &Value) -> Result<BTreeMap<String, Leaf>, String> {
    let mut walk = SchemaWalk { root: schema, found: BTreeMap::new(), visits: 0 };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("its root is not \"type\": \"object\"".into());
    }
    walk.visit("", schema, 0)?;
    Ok(walk.found)
}

struct SchemaWalk<'a> {
    root: &'a Value,
    found: BTreeMap<String, Leaf>,
    visits: usize,
}

impl<'a> SchemaWalk<'a> {
    /// Counts what is looked at: long lists in a schema that many references lead to would take
    /// minutes.
    fn count(&mut self, looks: usize) -> Result<(), String> {
        self.visits += looks;
        if self.visits > VISITS_MAX {
            return Err(format!("it has more than {VISITS_MAX} schemas, references counted each time"));
        }
        Ok(())
    }

    fn visit(&mut self, at: &str, schema: &'a Value, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("{at:?} nests deeper than {DEPTH_MAX}, or without end"));
        }
        if at.len() > PLACE_BYTES_MAX {
            return Err(format!("the name of a place is longer than {PLACE_BYTES_MAX} bytes"));
        }
        self.count(1)?;
        let Value::Object(fields) = schema else {
            // `true` lets anything in; `false` lets nothing in.
            if *schema == Value::Bool(false) {
                return Ok(());
            }
            return self.leaf(at, Leaf::MayBeText);
        };
        for keyword in [
            "patternProperties",
            "unevaluatedProperties",
            "dependentSchemas",
            "$dynamicRef",
            "if",
            "not",
            "contains",
        ] {
            if fields.get(keyword).is_some_and(|v| *v != Value::Bool(false)) {
                return Err(format!("{at:?} uses {keyword}, which the judge does not read"));
            }
        }
        if depth > 0 && fields.contains_key("$id") {
            return Err(format!("{at:?} has an $id, which moves what its references mean"));
        }
        if let Some(reference) = fields.get("$ref") {
            // `%` is decoded by some readers of a reference and not by others.
            self.count(reference.as_str().map_or(0, str::len) / SMALL)?;
            let pointer = reference.as_str().and_then(|r| r.strip_prefix('#')).filter(|p| !p.contains('%'));
            let target = pointer.and_then(|pointer| self.root.pointer(pointer));
            let target =
                target.ok_or_else(|| format!("{at:?} has a $ref that is no plain place in the document"))?;
            self.visit(at, target, depth + 1)?;
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let Some(written) = fields.get(keyword) else { continue };
            // `allOf` of nothing lets anything in.
            let branches = written.as_array().filter(|branches| !branches.is_empty());
            for branch in branches.ok_or_else(|| format!("{at:?} has {keyword} without a schema in it"))? {
                self.visit(at, branch, depth + 1)?;
            }
        }
        let composed = ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|k| fields.contains_key(*k));
        if let Some(choice) = fields.get("enum").and_then(Value::as_array) {
            self.count(choice.len() / SMALL)?;
            return self
                .leaf(at, if choice.iter().all(excludes_text) { Leaf::NeverText } else { Leaf::MayBeText });
        }
        if let Some(value) = fields.get("const") {
            return self.leaf(at, if excludes_text(value) { Leaf::NeverText } else { Leaf::MayBeText });
        }
        let kinds: Vec<&str> = match fields.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ if composed => return Ok(()),
            _ => return self.leaf(at, Leaf::MayBeText),
        };
        self.count(kinds.len() / SMALL)?;
        for kind in kinds {
            match kind {
                "object" => self.object(at, fields, depth)?,
                "array" => self.array(at, fields, depth)?,
                "integer" | "number" | "boolean" | "null" => self.leaf(at, Leaf::NeverText)?,
                _ => self.leaf(at, Leaf::MayBeText)?,
            }
        }
        Ok(())
    }

    fn object(&mut self, at: &str, fields: &'a Map<String, Value>, depth: usize) -> Result<(), String> {
        if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            let place = if at.is_empty() { "its root".to_owned() } else { format!("{at:?}") };
            return Err(format!(
                "{place} lets unnamed properties in; it must say \"additionalProperties\": false"
            ));
        }
        for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            self.visit(&at, property, depth + 1)?;
        }
        Ok(())
    }

    fn array(&mut self, at: &str, fields: &'a Map<String, Value>, depth: usize) -> Result<(), String> {
        // Draft 7 writes the first items as `items` and the rest as `additionalItems`.
        let tuple = fields.get("items").and_then(Value::as_array);
        let first = tuple.or_else(|| fields.get("prefixItems").and_then(Value::as_array));
        for (index, item) in first.into_iter().flatten().enumerate() {
            self.visit(&format!("{at}[{index}]"), item, depth + 1)?;
        }
        let at = format!("{at}[]");
        match fields.get(if tuple.is_some() { "additionalItems" } else { "items" }) {
            Some(items) => self.visit(&at, items, depth + 1),
            None => self.leaf(&at, Leaf::MayBeText),
        }
    }

    fn leaf(&mut self, at: &str, leaf: Leaf) -> Result<(), String> {
        if at.is_empty() {
            return Err("its root takes something other than an object".into());
        }
        let entry = self.found.entry(at.to_owned()).or_insert(leaf);
        if leaf == Leaf::MayBeText {
            *entry = Leaf::MayBeText;
        }
        Ok(())
    }
}

fn excludes_text(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::Number(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_that_nobody_could_classify_are_refused() {
        for (schema, what) in [
            (json!(true), "root"),
            (json!({ "type": "string" }), "root"),
            (json!({ "type": "object" }), "unnamed"),
            (json!({ "type": "object", "additionalProperties": { "type": "string" } }), "unnamed"),
            (json!({ "type": ["object", "string"], "additionalProperties": false }), "root"),
            (
                json!({ "type": "object", "additionalProperties": false, "patternProperties": { "x": {} } }),
                "patternProperties",
            ),
            (
                json!({ "type": "object", "additionalProperties": false, "properties": { "a": { "$ref": "http://x/y" } } }),
                "$ref",
            ),
            (
                json!({ "type": "object", "additionalProperties": false, "properties": { "a": { "type": "object" } } }),
                "unnamed",
            ),
            (
                json!({ "type": "object", "additionalProperties": false, "properties": { "a": { "$ref": "#" } } }),
                "without end",
            ),
        ] {
            let said = leaves(&schema).expect_err("refused");
            assert!(said.contains(what), "{schema}: {said}");
        }
    }

    #[test]
    fn every_place_that_can_hold_text_is_found() {
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
            "path": { "type": "string" }, "index": { "type": "integer" }, "any": true, "untyped": {},
            "maybe": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
            "kind": { "enum": ["a", 1] }, "n": { "enum": [1, null] },
            "list": { "type": "array", "items": { "type": "string" } }, "loose": { "type": "array" },
            "edits": { "type": "array", "items": { "$ref": "#/$defs/edit" } } },
            "$defs": { "edit": { "type": "object", "additionalProperties": false,
                "properties": { "new_text": { "type": ["string", "null"] }, "all": { "type": "boolean" } } } } });
        let found = leaves(&schema).expect("readable");
        let text: Vec<_> =
            found.iter().filter(|(_, l)| **l == Leaf::MayBeText).map(|(at, _)| at.as_str()).collect();
        assert_eq!(
            text,
            ["any", "edits[].new_text", "kind", "list[]", "loose[]", "maybe", "path", "untyped"]
        );
        let never: Vec<_> =
            found.iter().filter(|(_, l)| **l == Leaf::NeverText).map(|(at, _)| at.as_str()).collect();
        assert_eq!(never, ["edits[].all", "index", "n"]);
    }
}
