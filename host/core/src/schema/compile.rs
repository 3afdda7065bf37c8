//! From a schema's JSON to nodes, each place once, without recursion. A keyword that is not read
//! refuses to load.

use super::here::{KeywordAt, RefusedSchema};
use super::keywords::{ANNOTATIONS, replacement_for};
use super::node::{ListItems, ListRules, NodeId, ObjectRules, SchemaNode, ValueRules};
use super::number::Num;
use super::pattern::Pattern;
use super::{DOCUMENT_DEPTH_MAX, PATTERN_TABLES_BYTES_MAX, SCHEMAS_MAX, Schema, SchemaError, cycles};
use crate::text::one_line;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};

/// Longest example that is kept, as JSON.
const EXAMPLE_BYTES_MAX: usize = 60;
/// Longest step to a schema that is kept for messages, in bytes.
const STEP_BYTES_MAX: usize = 100;

impl Schema {
    /// The schema, ready for checks.
    ///
    /// # Errors
    /// The first place that is not read, with what to write instead: an unknown keyword, a value
    /// that its keyword does not take, a reference that leads to no schema of the document or to
    /// itself, a pattern that no finite automaton of a bounded size decides, too many or too deeply
    /// nested schemas.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if !nests_within(schema, DOCUMENT_DEPTH_MAX) {
            let said = format!("nests deeper than {DOCUMENT_DEPTH_MAX}; write parts of it under $defs");
            return Err(SchemaError::new("", said));
        }
        let mut compiler = Compiler {
            root: schema,
            nodes: Vec::new(),
            steps: Vec::new(),
            by_address: HashMap::new(),
            waiting: VecDeque::new(),
            references: Vec::new(),
            tables: PATTERN_TABLES_BYTES_MAX,
        };
        compiler.all().map_err(|RefusedSchema { id, below, problem }| {
            SchemaError::new(&format!("{}{below}", compiler.place(id)), problem)
        })?;
        Ok(Self { nodes: compiler.nodes })
    }
}

/// Whether a value has at most so many levels.
fn nests_within(value: &Value, levels: usize) -> bool {
    let mut level: Vec<&Value> = vec![value];
    for _ in 0..levels {
        let mut next: Vec<&Value> = Vec::new();
        for value in level {
            match value {
                Value::Array(items) => next.extend(items),
                Value::Object(fields) => next.extend(fields.values()),
                _ => {}
            }
        }
        level = next;
        if level.is_empty() {
            return true;
        }
    }
    false
}

struct Compiler<'a> {
    root: &'a Value,
    nodes: Vec<SchemaNode>,
    /// Where each node stands: in which other one, and where in that. Whole places would take too
    /// much memory.
    steps: Vec<(NodeId, String)>,
    by_address: HashMap<*const Value, NodeId>,
    waiting: VecDeque<(NodeId, &'a Value)>,
    /// Nodes that refer to places.
    references: Vec<(NodeId, &'a str)>,
    /// What patterns may still use.
    tables: usize,
}

impl<'a> Compiler<'a> {
    fn all(&mut self) -> Result<(), RefusedSchema> {
        self.schema(0, String::new(), self.root)?;
        while let Some((id, value)) = self.waiting.pop_front() {
            self.nodes[id] = self.node(id, value)?;
        }
        self.resolve()?;
        match cycles::first(&self.nodes) {
            None => Ok(()),
            Some(id) => {
                let said =
                    "refers to itself without a step into the value, so it says nothing; remove the $ref";
                Err(RefusedSchema { id, below: String::new(), problem: said.into() })
            }
        }
    }

    /// The place of a node as a JSON pointer.
    fn place(&self, mut id: NodeId) -> String {
        let mut steps = Vec::new();
        while id != 0 {
            let (within, step) = &self.steps[id];
            steps.push(step.as_str());
            id = *within;
        }
        steps.into_iter().rev().collect()
    }

    /// A place for a schema within another one, which is read later.
    fn schema(&mut self, within: NodeId, step: String, value: &'a Value) -> Result<NodeId, RefusedSchema> {
        let id = self.nodes.len();
        if id >= SCHEMAS_MAX {
            let problem = format!("is one schema more than {SCHEMAS_MAX}; write fewer");
            return Err(RefusedSchema { id: within, below: step, problem });
        }
        self.nodes.push(SchemaNode::Nothing);
        self.steps.push((within, one_line(&step, STEP_BYTES_MAX)));
        self.by_address.insert(std::ptr::from_ref(value), id);
        self.waiting.push_back((id, value));
        Ok(id)
    }

    fn node(&mut self, id: NodeId, value: &'a Value) -> Result<SchemaNode, RefusedSchema> {
        let fields = match value {
            Value::Bool(true) => return Ok(SchemaNode::Anything),
            Value::Bool(false) => return Ok(SchemaNode::Nothing),
            Value::Object(fields) => fields,
            _ => {
                let problem = "is no schema; write an object, true or false".into();
                return Err(RefusedSchema { id, below: String::new(), problem });
            }
        };
        let mut rules = ValueRules { example: example(fields), ..ValueRules::default() };
        let (mut list, mut object, mut parts) =
            (ListRules::default(), ObjectRules::default(), ListItems::default());
        for (key, value) in fields {
            let here = KeywordAt { id, key, value };
            let known = self.compile_value(&here, &mut rules)?
                || self.compile_list(&here, &mut list, fields)?
                || self.compile_object(&here, &mut object)?
                || self.compile_parts(&here, &mut parts)?
                || self.compile_references(&here)?;
            if !known {
                return Err(here.refuse(&format!("is not read; {}", replacement_for(key))));
            }
        }
        rules.list = keep_if_used(list, |list| list.is_used());
        rules.object = keep_if_used(object, |object| object.is_used());
        rules.parts = keep_if_used(parts, |parts| parts.ids().next().is_some());
        if fields.contains_key("$ref") {
            // Its target is put in once all places are known.
            rules.parts.get_or_insert_default();
        }
        rules.plain = rules.choices.is_empty()
            && rules.number.is_empty()
            && rules.text.is_empty()
            && rules.list.is_none()
            && rules.object.is_none()
            && rules.parts.is_none();
        Ok(SchemaNode::Rules(Box::new(rules)))
    }

    /// Types, choices, numbers and texts.
    fn compile_value(&mut self, here: &KeywordAt<'a>, rules: &mut ValueRules) -> Result<bool, RefusedSchema> {
        match here.key {
            "type" => rules.types = here.types()?,
            "enum" => rules.choices.push(here.list("the values that it may have")?.clone()),
            "const" => rules.choices.push(vec![here.value.clone()]),
            "minimum" => rules.number.minimum = Some(Num::from_json(here.number()?)),
            "maximum" => rules.number.maximum = Some(Num::from_json(here.number()?)),
            "exclusiveMinimum" => rules.number.above = Some(Num::from_json(here.number()?)),
            "exclusiveMaximum" => rules.number.below = Some(Num::from_json(here.number()?)),
            "multipleOf" => {
                let number = here.number()?;
                if number.as_f64().is_none_or(|n| n <= 0.0) {
                    return Err(here.refuse("must be above 0"));
                }
                rules.number.multiple_of = Some(number.clone());
            }
            "minLength" => rules.text.min = Some(here.count()?),
            "maxLength" => rules.text.max = Some(here.count()?),
            "pattern" => {
                let text = here.text("a regular expression")?;
                rules.text.pattern = Some(self.pattern(here, text)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn compile_list(
        &mut self,
        here: &KeywordAt<'a>,
        list: &mut ListRules,
        fields: &Map<String, Value>,
    ) -> Result<bool, RefusedSchema> {
        let tuple = fields.get("items").is_some_and(Value::is_array);
        match here.key {
            "prefixItems" if tuple => {
                return Err(here.refuse(
                    "stands beside a list of items; write the first items here and one schema as items",
                ));
            }
            "prefixItems" | "items" if here.key == "prefixItems" || tuple => {
                for (n, item) in here.list("schemas")?.iter().enumerate() {
                    list.prefix.push(self.schema(here.id, here.step(&n.to_string()), item)?);
                }
            }
            "additionalItems" if !tuple => return Ok(false),
            "items" | "additionalItems" => list.rest = Some(self.compile_inner(here)?),
            "minItems" => list.min = Some(here.count()?),
            "maxItems" => list.max = Some(here.count()?),
            "uniqueItems" => {
                list.unique = here.value.as_bool().ok_or_else(|| here.refuse("must be true or false"))?;
            }
            "contains" => list.contains = Some(self.compile_inner(here)?),
            "minContains" => list.contains_min = Some(here.count()?),
            "maxContains" => list.contains_max = Some(here.count()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn compile_object(
        &mut self,
        here: &KeywordAt<'a>,
        object: &mut ObjectRules,
    ) -> Result<bool, RefusedSchema> {
        match here.key {
            "properties" => {
                for (name, value) in here.object("schemas by name")? {
                    let id = self.schema(here.id, here.step(name), value)?;
                    object.properties.insert(name.clone(), id);
                    object.named.push(name.clone());
                }
            }
            "patternProperties" => {
                for (text, value) in here.object("schemas by pattern")? {
                    let pattern = self.pattern(here, text)?;
                    let id = self.schema(here.id, here.step(text), value)?;
                    object.patterns.push((pattern, id));
                }
            }
            "additionalProperties" => object.additional = Some(self.compile_inner(here)?),
            "propertyNames" => object.names = Some(self.compile_inner(here)?),
            "required" => object.required = here.read_names(here.value)?,
            "minProperties" => object.min = Some(here.count()?),
            "maxProperties" => object.max = Some(here.count()?),
            "dependentRequired" => {
                for (name, value) in here.object("lists of names")? {
                    object.dependent.push((name.clone(), here.read_names(value)?));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn compile_parts(&mut self, here: &KeywordAt<'a>, parts: &mut ListItems) -> Result<bool, RefusedSchema> {
        match here.key {
            "allOf" | "anyOf" | "oneOf" => {
                let mut ids = Vec::new();
                for (n, value) in here.list("schemas")?.iter().enumerate() {
                    ids.push(self.schema(here.id, here.step(&n.to_string()), value)?);
                }
                if ids.is_empty() {
                    return Err(here.refuse("must be a list of schemas, at least one"));
                }
                match here.key {
                    "allOf" => parts.all = ids,
                    "anyOf" => parts.any = ids,
                    _ => parts.one = ids,
                }
            }
            "not" => parts.not = Some(self.compile_inner(here)?),
            "if" => parts.test = Some(self.compile_inner(here)?),
            "then" => parts.then = Some(self.compile_inner(here)?),
            "else" => parts.otherwise = Some(self.compile_inner(here)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// References, what they lead to, and what says nothing of a value.
    fn compile_references(&mut self, here: &KeywordAt<'a>) -> Result<bool, RefusedSchema> {
        match here.key {
            "$ref" => self.references.push((here.id, here.text("a place like #/$defs/NAME")?)),
            "$defs" | "definitions" => {
                for (name, value) in here.object("schemas by name")? {
                    self.schema(here.id, here.step(name), value)?;
                }
            }
            "$id" => return Ok(here.id == 0),
            key => return Ok(ANNOTATIONS.contains(&key)),
        }
        Ok(true)
    }

    fn compile_inner(&mut self, here: &KeywordAt<'a>) -> Result<NodeId, RefusedSchema> {
        self.schema(here.id, here.below(), here.value)
    }

    fn pattern(&mut self, here: &KeywordAt<'_>, text: &str) -> Result<Pattern, RefusedSchema> {
        let pattern = Pattern::new(text, self.tables).map_err(|why| here.refuse(&why))?;
        self.tables = self.tables.saturating_sub(pattern.bytes());
        Ok(pattern)
    }

    /// Leads every reference to its node.
    fn resolve(&mut self) -> Result<(), RefusedSchema> {
        for (id, text) in std::mem::take(&mut self.references) {
            // `%` is decoded by some readers of a reference and not by others.
            let place = text.strip_prefix('#').filter(|place| !place.contains('%'));
            let target = place.and_then(|place| self.root.pointer(place));
            let target = target.and_then(|target| self.by_address.get(&std::ptr::from_ref(target)));
            let target = *target.ok_or_else(|| {
                let said = "leads to no schema of this document; put the schema under $defs and write \
                            \"$ref\": \"#/$defs/NAME\"";
                RefusedSchema { id, below: "/$ref".into(), problem: said.into() }
            })?;
            if let SchemaNode::Rules(rules) = &mut self.nodes[id] {
                rules.parts.get_or_insert_default().reference = Some(target);
            }
        }
        Ok(())
    }
}

fn keep_if_used<T>(rules: T, says_something: impl FnOnce(&T) -> bool) -> Option<Box<T>> {
    says_something(&rules).then(|| Box::new(rules))
}

/// A short value that the author gives as one that fits.
fn example(fields: &Map<String, Value>) -> Option<Value> {
    let given = fields.get("examples").and_then(|examples| examples.get(0));
    let given = given.or_else(|| fields.get("example")).or_else(|| fields.get("default"))?;
    let plain = !matches!(given, Value::Null | Value::Array(_) | Value::Object(_));
    (plain && given.to_string().len() <= EXAMPLE_BYTES_MAX).then(|| given.clone())
}
