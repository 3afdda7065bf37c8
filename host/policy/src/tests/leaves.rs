//! Schemas against random ones: each string that a valid call can carry lies at a place that the
//! policy must classify, so no path goes by unjudged.

use super::{READING, TOOL, policies};
use crate::schema::{Leaf, leaves};
use crate::{JudgedCall, PolicySet, Verdict, judge};
use cofferdam_core::id::TurnId;
use cofferdam_core::tool::ToolName;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A schema by construction, so that a valid instance can be made from it.
#[derive(Clone, Debug)]
enum Node {
    /// A schema without inner ones, and values that it lets in.
    Plain(Value, Vec<Value>),
    AnyOf(&'static str, Vec<Node>),
    Ref(Box<Node>),
    Array(Box<Node>),
    Tuple(Box<Node>, Box<Node>),
    Object(Vec<(&'static str, Node)>),
}

/// What stands for a path that some rule must catch.
const OUTSIDE: &str = "/etc/passwd";

fn plain() -> impl Strategy<Value = Node> {
    let node = |schema: Value, values: Value| {
        let Value::Array(values) = values else { panic!("values are a list") };
        Just(Node::Plain(schema, values))
    };
    prop_oneof![
        3 => node(json!({ "type": "string" }), json!([OUTSIDE])),
        1 => node(json!({ "type": ["string", "null"] }), json!([OUTSIDE, null])),
        1 => node(json!({ "type": ["integer", "string", "boolean"] }), json!([1, OUTSIDE, true])),
        1 => node(json!({ "type": "integer" }), json!([1])),
        1 => node(json!({ "type": "boolean" }), json!([true])),
        1 => node(json!({ "enum": [1, OUTSIDE, null] }), json!([1, OUTSIDE, null])),
        1 => node(json!({ "enum": [1, null, false] }), json!([1, null, false])),
        1 => node(json!({ "enum": [[OUTSIDE], 1] }), json!([[OUTSIDE], 1])),
        1 => node(json!({ "const": OUTSIDE }), json!([OUTSIDE])),
        1 => node(json!({ "const": 3 }), json!([3])),
        1 => node(json!(true), json!([OUTSIDE, [OUTSIDE], { "x": { "y": OUTSIDE } }, 1])),
        1 => node(json!({}), json!([OUTSIDE, [1, OUTSIDE], {}])),
        1 => node(json!({ "minLength": 1 }), json!([OUTSIDE, { "x": OUTSIDE }])),
        1 => node(json!({ "type": "array" }), json!([[OUTSIDE, 1], []])),
        1 => node(json!({ "type": "array", "items": true }), json!([[{ "x": OUTSIDE }]])),
        1 => node(json!({ "description": "an addition without a type", "title": "t" }), json!([OUTSIDE])),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    plain().prop_recursive(4, 24, 4, |inner| {
        let names = prop::sample::subsequence(vec!["path", "a", "b c", "q\"uote", "ü", "a.b", "x[]"], 0..4);
        let object = names.prop_flat_map({
            let inner = inner.clone();
            move |names| {
                prop::collection::vec(inner.clone(), names.len())
                    .prop_map(move |nodes| Node::Object(names.iter().copied().zip(nodes).collect()))
            }
        });
        prop_oneof![
            3 => object,
            2 => inner.clone().prop_map(|n| Node::Array(Box::new(n))),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| Node::Tuple(Box::new(a), Box::new(b))),
            1 => (prop::sample::select(vec!["anyOf", "oneOf"]), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(keyword, nodes)| Node::AnyOf(keyword, nodes)),
            1 => inner.clone().prop_map(|n| Node::AnyOf("allOf", vec![n])),
            1 => inner.prop_map(|n| Node::Ref(Box::new(n))),
        ]
    })
}

/// The root is an object with one property of each node.
fn root() -> impl Strategy<Value = (Node, u64)> {
    let properties = prop::collection::vec(node(), 1..4)
        .prop_map(|nodes| Node::Object(["p", "q", "r", "s"].into_iter().zip(nodes).collect()));
    (properties, any::<u64>())
}

impl Node {
    fn schema(&self) -> Value {
        let mut defs = Map::new();
        let mut schema = self.render(&mut defs);
        schema["$defs"] = Value::Object(defs);
        schema
    }

    fn render(&self, defs: &mut Map<String, Value>) -> Value {
        match self {
            Self::Plain(schema, _) => schema.clone(),
            Self::AnyOf(keyword, nodes) => {
                let branches: Vec<_> = nodes.iter().map(|n| n.render(defs)).collect();
                json!({ *keyword: branches })
            }
            Self::Ref(node) => {
                let target = node.render(defs);
                let name = format!("d{}", defs.len());
                defs.insert(name.clone(), target);
                json!({ "$ref": format!("#/$defs/{name}") })
            }
            Self::Array(node) => json!({ "type": "array", "items": node.render(defs) }),
            Self::Tuple(first, rest) => {
                let first = first.render(defs);
                json!({ "type": "array", "prefixItems": [first], "items": rest.render(defs) })
            }
            Self::Object(properties) => {
                let properties: Map<_, _> =
                    properties.iter().map(|(name, n)| ((*name).to_owned(), n.render(defs))).collect();
                json!({ "type": "object", "additionalProperties": false, "properties": properties })
            }
        }
    }

    /// A valid instance; `choices` decides where there are several.
    fn instance(&self, choices: &mut u64) -> Value {
        match self {
            Self::Plain(_, values) => values[choose(choices, values.len())].clone(),
            Self::AnyOf(_, nodes) => nodes[choose(choices, nodes.len())].instance(choices),
            Self::Ref(node) => node.instance(choices),
            Self::Array(node) => (0..choose(choices, 3)).map(|_| node.instance(choices)).collect(),
            Self::Tuple(first, rest) => json!([first.instance(choices), rest.instance(choices)]),
            Self::Object(properties) => {
                let mut object = Map::new();
                for (name, node) in properties {
                    if choose(choices, 4) > 0 {
                        object.insert((*name).to_owned(), node.instance(choices));
                    }
                }
                Value::Object(object)
            }
        }
    }
}

fn choose(choices: &mut u64, count: usize) -> usize {
    // A small generator: the same choices again from the same seed.
    *choices = choices.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*choices >> 33).expect("31 bits") % count
}

fn has_text(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(items) => items.iter().any(has_text),
        Value::Object(fields) => fields.values().any(has_text),
        _ => false,
    }
}

/// A policy that gives every place which may hold text this class.
fn classified(found: &BTreeMap<String, Leaf>, class: &str) -> PolicySet {
    let text = found.iter().filter(|(_, leaf)| **leaf == Leaf::MayBeText);
    let lines: Vec<_> = text.map(|(at, _)| format!("{} = {class}", Value::String(at.clone()))).collect();
    policies(READING, &lines.join("\n"))
}

fn judged(set: &PolicySet, arguments: &Value) -> Verdict {
    let tool = ToolName::parse("t").expect("a name");
    let call = JudgedCall { id: TurnId::new("turn").call(0), tool, arguments: arguments.clone() };
    judge(call, set.get("t").expect("there"))
}

proptest! {
    #[test]
    fn no_text_of_a_valid_call_goes_by_unjudged((node, mut choices) in root()) {
        let schema = node.schema();
        let found = leaves(&schema).expect("every property is named");
        let arguments = node.instance(&mut choices);

        // Classified as values, every valid call passes: the places are all there.
        let values = classified(&found, "\"value\"");
        prop_assert!(matches!(judged(&values, &arguments), Verdict::Permit(_)), "{} for {}", arguments, schema);
        prop_assert_eq!(values.get("t").expect("there").check_schema(&schema), Ok(()));

        // Classified as paths, no text passes: the mount is not granted, or something hides a path.
        let paths = classified(&found, "{ path = \"read\" }");
        let denied = matches!(judged(&paths, &arguments), Verdict::Deny(_));
        prop_assert!(denied || !has_text(&arguments), "{} for {}", arguments, schema);
    }

    #[test]
    fn a_place_left_out_is_named((node, _) in root(), pick in any::<prop::sample::Index>()) {
        let schema = node.schema();
        let mut found = leaves(&schema).expect("every property is named");
        let text: Vec<_> = found.iter().filter(|(_, l)| **l == Leaf::MayBeText).map(|(at, _)| at.clone()).collect();
        prop_assume!(!text.is_empty());
        let left_out = &text[pick.index(text.len())];
        found.remove(left_out);
        let set = classified(&found, "\"value\"");
        let problems = set.get("t").expect("there").check_schema(&schema).expect_err("one place is not classified");
        prop_assert_eq!(problems.len(), 1);
        prop_assert!(problems[0].problem.contains(&format!("argument {left_out:?} can hold text")), "{}", problems[0]);
    }

    #[test]
    fn any_json_is_read_without_a_panic(schema in any_json()) {
        let _ = leaves(&schema);
        let mut rooted = json!({ "type": "object", "additionalProperties": false, "properties": { "a": schema } });
        let _ = leaves(&rooted);
        rooted["$defs"] = json!({ "a": { "$ref": "#/properties/a" } });
        let _ = leaves(&rooted);
    }
}

/// JSON made of the words that schemas are made of.
fn any_json() -> impl Strategy<Value = Value> {
    let words = vec![
        "type",
        "object",
        "array",
        "string",
        "integer",
        "properties",
        "items",
        "prefixItems",
        "$ref",
        "#",
        "#/$defs/a",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "additionalProperties",
        "not",
        "if",
        "contains",
    ];
    let word = prop::sample::select(words);
    let leaf = prop_oneof![
        word.clone().prop_map(|w| json!(w)),
        any::<bool>().prop_map(Value::from),
        Just(json!(null)),
        Just(json!(1))
    ];
    leaf.prop_recursive(5, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..4).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
            )),
        ]
    })
}

/// What `check_schema` says of a tool with these `[arguments]`, each problem with its line.
fn problems(arguments: &str, schema: &Value) -> Vec<String> {
    let profile = format!("schema = 1\nprofile = \"p\"\nwhy = \"w\"\nmounts = [{READING}]\n");
    let tool = format!("{TOOL}[arguments]\n{arguments}\n");
    let set =
        PolicySet::parse([("profiles/p.toml", &*profile), ("tools/t.toml", &*tool)]).expect("sound policies");
    let problems = set.get("t").expect("there").check_schema(schema).expect_err("refused");
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn schema_and_policy_that_disagree_are_told_with_the_line_to_write() {
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
        "path": { "type": "string" }, "n": { "type": "integer" },
        "edits": { "type": "array", "items": { "type": "string" } } } });
    assert_eq!(
        problems("\"edits[]\" = \"content\"", &schema),
        [
            r#"tools/t.toml:7: t: argument "path" can hold text and is not classified; add to [arguments]: path = "value", path = "content" or path = { path = "read" }"#
        ]
    );
    assert_eq!(
        problems("path = \"value\"", &schema),
        [
            r#"tools/t.toml:7: t: argument "edits[]" can hold text and is not classified; add to [arguments]: "edits[]" = "value", "edits[]" = "content" or "edits[]" = { path = "read" }"#
        ]
    );
    assert_eq!(
        problems("path = \"value\"\n\"edits[]\" = \"value\"\nedits = \"value\"\nold = \"content\"", &schema),
        [
            r#"tools/t.toml:10: t has no argument "edits"; remove the line"#,
            r#"tools/t.toml:11: t has no argument "old"; remove the line"#
        ]
    );
    assert_eq!(
        problems("path = \"value\"\n\"edits[]\" = \"value\"\nn = { path = \"read\" }", &schema),
        [r#"tools/t.toml:10: t: argument "n" can never be a path; write n = "value" or remove the line"#]
    );
    assert_eq!(
        problems("", &json!({ "type": "object" })),
        [
            r#"tools/t.toml:7: t: the schema of its arguments cannot be judged: its root lets unnamed properties in; it must say "additionalProperties": false"#
        ]
    );
}

/// What is said of a schema with one property `a`, and these definitions.
fn refused(property: Value, defs: Value) -> String {
    let schema = json!({ "type": "object", "additionalProperties": false,
        "properties": { "a": property }, "$defs": defs });
    leaves(&schema).expect_err("refused")
}

#[test]
fn a_composition_of_nothing_is_refused() {
    // `allOf: []` says nothing, so it forbids nothing; what is no list says nothing either.
    for empty in
        [json!({ "allOf": [] }), json!({ "anyOf": [] }), json!({ "allOf": "x" }), json!({ "oneOf": {} })]
    {
        let said = refused(empty, json!({}));
        assert!(said.ends_with("without a schema in it"), "{said}");
    }
}

#[test]
fn a_reference_means_the_same_to_judge_and_validator() {
    // A validator decodes `%20`; a pointer that does not would look at another definition.
    let both = json!({ "a%20b": { "type": "integer" }, "a b": { "type": "string" } });
    assert_eq!(
        refused(json!({ "$ref": "#/$defs/a%20b" }), both),
        "\"a\" has a $ref that is no plain place in the document"
    );
    // An inner `$id` moves what `#` stands for.
    let inner = json!({ "$id": "urn:inner", "$ref": "#/$defs/x", "$defs": { "x": { "type": "string" } } });
    assert_eq!(
        refused(inner, json!({ "x": { "type": "integer" } })),
        "\"a\" has an $id, which moves what its references mean"
    );
    for leaving in ["urn:other", "other.json", "#anchor", "#/$defs/nope", "", "/$defs/x"] {
        refused(json!({ "$ref": leaving }), json!({ "x": { "type": "integer" } }));
    }
}

#[test]
fn a_schema_that_fans_out_is_refused_at_once() {
    // Seven levels of a hundred references each would be 10^14 visits of a few kilobytes.
    let level = |n: usize| json!({ "allOf": vec![json!({ "$ref": format!("#/$defs/d{}", n + 1) }); 100] });
    let mut defs: Map<_, _> = (0..7).map(|n| (format!("d{n}"), level(n))).collect();
    defs.insert("d7".into(), json!({ "type": "string" }));
    let said = refused(json!({ "$ref": "#/$defs/d0" }), Value::Object(defs));
    assert_eq!(said, "it has more than 10000 schemas, references counted each time");
}

#[test]
fn long_lists_in_a_schema_that_fans_out_are_counted() {
    // 4 000 references, each to a list of thousands: many millions of looks, of a few kilobytes.
    let many = vec![json!({ "$ref": "#/$defs/long" }); 4_000];
    for long in [
        json!({ "type": vec!["integer"; 5_000] }),
        json!({ "enum": vec![1; 5_000] }),
        json!({ "type": "integer", "$ref": format!("#/$defs/{}", "n".repeat(5_000)) }),
    ] {
        let defs = json!({ "long": long, "n".repeat(5_000): { "type": "integer" } });
        let said = refused(json!({ "anyOf": many }), defs);
        assert_eq!(said, "it has more than 10000 schemas, references counted each time");
    }
}

#[test]
fn tuples_of_both_drafts_are_read() {
    let row = json!({ "type": "object", "additionalProperties": false, "properties": { "path": { "type": "string" } } });
    for (first, rest) in [("prefixItems", "items"), ("items", "additionalItems")] {
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
            "closed": { "type": "array", first: [row, { "type": "integer" }], rest: false },
            "numbers": { "type": "array", first: [{ "type": "integer" }], rest: { "type": "integer" } },
            "open": { "type": "array", first: [{ "type": "integer" }] } } });
        let text = |found: &BTreeMap<String, Leaf>| -> Vec<String> {
            found.iter().filter(|(_, leaf)| **leaf == Leaf::MayBeText).map(|(at, _)| at.clone()).collect()
        };
        assert_eq!(text(&leaves(&schema).expect("readable")), ["closed[0].path", "open[]"], "{first}");
    }
}

#[test]
fn nesting_and_names_are_bounded() {
    let deep =
        (0..20).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }));
    assert!(refused(deep, json!({})).contains("nests deeper than 16"));
    let object = |name: &str| json!({ "type": "object", "additionalProperties": false, "properties": { name: { "type": "string" } } });
    assert!(refused(object(&"n".repeat(1100)), json!({})).contains("longer than 1024 bytes"));
}

#[test]
fn a_tuple_is_classified_by_its_fields_or_as_a_list() {
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
        "pairs": { "type": "array", "items": { "type": "array", "items": false,
            "prefixItems": [{ "type": "string" }, { "type": "integer" }, { "type": "string" }] } } } });
    let ruled = |lines: &str, arguments: Value| {
        let set = policies(READING, lines);
        assert_eq!(set.get("t").expect("there").check_schema(&schema), Ok(()), "{lines}");
        match judged(&set, &arguments) {
            Verdict::Permit(_) => "permit".to_owned(),
            Verdict::Deny(denial) => denial.reason,
            Verdict::Ask(_) => "ask".to_owned(),
        }
    };
    let each = "\"pairs[][0]\" = { path = \"read\" }\n\"pairs[][2]\" = \"value\"";
    assert_eq!(
        ruled(each, json!({ "pairs": [["/shared/a", 1, "/etc/b"], ["/shared/c", 2, "d"]] })),
        "permit"
    );
    let outside = ruled(each, json!({ "pairs": [["/shared/a", 1, "b"], ["/etc/passwd", 2, "d"]] }));
    assert!(outside.contains("/etc/passwd is not in a mount"), "{outside}");
    assert_eq!(ruled("\"pairs[][]\" = \"value\"", json!({ "pairs": [["/etc/a", 1, "b"]] })), "permit");
    let said = problems("\"pairs[][0]\" = \"value\"", &schema);
    assert!(said[0].contains("argument \"pairs[][2]\" can hold text and is not classified"), "{said:?}");
    let said = problems("\"pairs[][]\" = \"value\"\n\"pairs[][3]\" = \"value\"", &schema);
    assert!(said[0].contains("has no argument \"pairs[][3]\""), "{said:?}");
}
