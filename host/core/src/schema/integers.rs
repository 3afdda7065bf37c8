//! Whole numbers in one notation: where a schema says `integer`, a value gets digits.
//!
//! `1.0` and `1e0` are integers to JSON Schema, and no integers to what most languages read JSON
//! with. It changes notation alone: what fits a schema before fits it after.

use super::Schema;
use super::node::{ListRules, NodeId, ObjectRules, SchemaNode, Type, ValueRules};
use crate::json::Whole;
use serde_json::{Map, Number, Value};
use std::collections::BTreeSet;

/// Schemas that meet values or are asked for those of their parts, and bytes that patterns look for
/// names in.
const INTEGER_STEPS_MAX: u64 = 1 << 20;

impl Schema {
    /// Writes whole numbers below 2^53 that came with a point or an exponent in digits, where the
    /// schema says `integer`. Beyond `INTEGER_STEPS_MAX` steps the rest stays as it is.
    pub fn write_integers(&self, value: &mut Value) {
        if has_whole_float(value) {
            let nodes = &self.nodes;
            Rewriting { nodes, left: INTEGER_STEPS_MAX }.visit(&same_value(nodes, [0]), value);
        }
    }
}

struct Rewriting<'a> {
    nodes: &'a [SchemaNode],
    /// Steps.
    left: u64,
}

impl Rewriting<'_> {
    fn visit(&mut self, ids: &[NodeId], value: &mut Value) {
        if self.left == 0 {
            return;
        }
        self.spend(ids.len());
        match value {
            Value::Number(number) => {
                let is_integer = rules(self.nodes, ids).any(|rules| rules.types.has(Type::Integer));
                if is_integer && let Some(digits) = digits(number) {
                    *number = digits;
                }
            }
            Value::Array(items) => self.list(ids, items),
            Value::Object(fields) => self.object(ids, fields),
            _ => {}
        }
    }

    fn list(&mut self, ids: &[NodeId], items: &mut [Value]) {
        let nodes = self.nodes;
        let lists: Vec<&ListRules> = rules(nodes, ids).filter_map(|rules| rules.list.as_deref()).collect();
        let of_item = |index: usize| {
            let one = |list: &&ListRules| {
                let item = list.prefix.get(index).or(list.rest.as_ref()).copied();
                item.into_iter().chain(list.contains)
            };
            same_value(nodes, lists.iter().flat_map(one))
        };
        // Behind those that have a schema of their own all items have the same.
        let first = lists.iter().map(|list| list.prefix.len()).max().unwrap_or(0);
        // Looked for where an item has it, and so paid for: empty lists are many in few bytes.
        let mut rest = None;
        for (index, item) in items.iter_mut().enumerate().filter(|(_, item)| may_hold_numbers(item)) {
            if self.left == 0 {
                return;
            }
            if index < first {
                self.spend(lists.len());
                self.visit(&of_item(index), item);
            } else {
                self.visit(rest.get_or_insert_with(|| of_item(first)), item);
            }
        }
    }

    fn object(&mut self, ids: &[NodeId], fields: &mut Map<String, Value>) {
        let nodes = self.nodes;
        let objects: Vec<&ObjectRules> =
            rules(nodes, ids).filter_map(|rules| rules.object.as_deref()).collect();
        let patterns: usize = objects.iter().map(|object| object.patterns.len()).sum();
        for (name, value) in fields.iter_mut().filter(|(_, value)| may_hold_numbers(value)) {
            if self.left == 0 {
                return;
            }
            self.spend(objects.len() + patterns * name.len());
            let of_field = objects.iter().flat_map(|object| of_field(object, name));
            self.visit(&same_value(nodes, of_field), value);
        }
    }

    fn spend(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(steps as u64);
    }
}

/// The schemas of a property.
fn of_field(object: &ObjectRules, name: &str) -> Vec<NodeId> {
    let named = object.properties.get(name).copied();
    let by_pattern = object.patterns.iter().filter(|(pattern, _)| pattern.is_in(name)).map(|(_, id)| *id);
    let mut found: Vec<NodeId> = named.into_iter().chain(by_pattern).collect();
    if found.is_empty() {
        found.extend(object.additional);
    }
    found
}

fn rules<'a>(nodes: &'a [SchemaNode], ids: &[NodeId]) -> impl Iterator<Item = &'a ValueRules> {
    ids.iter().filter_map(move |id| nodes[*id].rules())
}

/// These schemas, and all that they name for the same value, each once.
fn same_value(nodes: &[SchemaNode], ids: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
    let (mut found, mut open) = (BTreeSet::new(), ids.into_iter().collect::<Vec<_>>());
    while let Some(id) = open.pop() {
        if found.insert(id)
            && let Some(parts) = nodes[id].parts()
        {
            open.extend(parts.ids());
        }
    }
    found.into_iter().collect()
}

fn may_hold_numbers(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::Array(_) | Value::Object(_))
}

fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => digits(number).is_some(),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(fields) => fields.values().any(has_whole_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The number in digits, where it is whole, is not written so, and was not rounded.
fn digits(number: &Number) -> Option<Number> {
    match Whole::from_number(number) {
        Whole::Exact(whole) if number.is_f64() => i64::try_from(whole).ok().map(Number::from),
        _ => None,
    }
}
