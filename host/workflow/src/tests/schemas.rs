//! The schema for editors against the loader: both take the examples, and what the schema refuses
//! the loader does too.

use super::{EXAMPLES, load_with};
use crate::node::Node;
use crate::schema;

fn takes(text: &str) -> bool {
    let validator = jsonschema::draft202012::new(&schema()).expect("a schema");
    let node = Node::parse("w.yaml", text, 0).expect("YAML");
    validator.is_valid(&node.to_value())
}

#[test]
fn schema_and_loader_take_the_same_examples() {
    for (name, text) in EXAMPLES {
        assert!(takes(text) && load_with(name, text, &[]).is_ok(), "{name}");
    }
}

/// Of what is wrong in shape, both say so. Names that must be there, templates and paths are the
/// loader's alone.
#[test]
fn schema_and_loader_refuse_the_same_shapes() {
    let agent = |attachment: &str| {
        format!(
            "workflow: w\nagents: [{{ id: a, attachments: [{attachment}], actions: [] }}]\ntasks: [{{ id: t, tool: x }}]\n"
        )
    };
    let task = |task: &str| {
        format!(
            "workflow: w\nagents: [{{ id: a, actions: [{{ id: b, prompt: c }}] }}]\ntasks: [{{ id: s, send: {{ to: \"t:1\", text: x }} }}, {task}]\n"
        )
    };
    let top = |lines: &str| format!("workflow: w\n{lines}\ntasks: [{{ id: t, tool: x }}]\n");
    let cases = [
        (top(""), true),
        ("workflow: w\n".to_owned(), false),
        ("workflow: w\ntasks: []\n".to_owned(), false),
        (top("steps: []"), false),
        (top("description: 1"), false),
        (top("input: { type: array }"), false),
        (top("input: {}"), true),
        (top("on: { command: x }"), true),
        (top("on: {}"), false),
        (top("on: { schedule: \"0 7 * * *\" }"), false),
        (top("on: { command: x, to: \"t:1\" }"), false),
        (top("on: { schedule: \"0 7 * * *\", to: \"telegram:1\" }"), true),
        (top("agents: [{ id: a }]"), false),
        (top("agents: [{ id: a, actions: [{ id: b }] }]"), false),
        (top("agents: [{ id: a, actions: [{ id: b, prompt: \" \" }] }]"), false),
        (top("agents: [{ id: a, tools: [x, x], actions: [] }]"), false),
        (top("agents: [{ id: a, tools: [file.read], actions: [] }]"), true),
        (agent("{ type: image, path: a }"), true),
        (agent("{ type: document, paths: [a] }"), true),
        (agent("{ type: \"{{ input.t }}\", paths: [a] }"), true),
        (agent("{ type: movie, path: a }"), false),
        (agent("{ type: image }"), false),
        (agent("{ type: image, path: a, url: \"https://e/\" }"), false),
        (agent("{ type: file, path: a }"), true),
        (agent("{ type: file, paths: [a] }"), false),
        (agent("{ type: file, url: \"https://e/\" }"), false),
        (agent("{ type: url, url: \"https://e/\" }"), true),
        (agent("{ type: url, urls: [\"https://e/\"] }"), false),
        (agent("{ type: image, url: \"https://e/\", fetch: true }"), true),
        (agent("{ type: image, path: a, fetch: true }"), false),
        (agent("{ type: pdf, url: \"https://e/\", fetch: true }"), false),
        (agent("{ type: image, path: a, meta: x }"), false),
        (agent("{ type: image, paths: [] }"), false),
        (agent("{ type: image, path: a, x: 1 }"), false),
        (task("{ id: a, tool: x }"), true),
        (task("{ id: A, tool: x }"), false),
        (task("{ id: a }"), false),
        (task("{ id: a, tool: x, agent: a, action: b }"), false),
        (task("{ id: a, agent: a, action: b, with: { k: v }, attachments: [] }"), true),
        (task("{ id: a, agent: a }"), false),
        (task("{ id: a, tool: x, action: b }"), false),
        (task("{ id: a, tool: x, attachments: [] }"), false),
        (task("{ id: a, tool: x, with: [] }"), false),
        (task("{ id: a, wait: { reply_to: s, timeout: 1h } }"), true),
        (task("{ id: a, wait: { reply_to: s } }"), false),
        (task("{ id: a, wait: { reply_to: s, timeout: 1h }, with: {} }"), false),
        (task("{ id: a, approve: { text: x, timeout: 1h } }"), true),
        (task("{ id: a, approve: { text: x } }"), false),
        (task("{ id: a, send: { to: \"t:1\" } }"), false),
    ];
    for (text, sound) in cases {
        let loaded = load_with("w.yaml", &text, &[]);
        assert_eq!(takes(&text), sound, "schema: {text}");
        assert_eq!(loaded.is_ok(), sound, "loader: {text}{:?}", loaded.err());
    }
}
