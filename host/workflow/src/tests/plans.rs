//! What a run makes of a file: both phases, defaults, scopes, and that data stays data.

use super::{EXAMPLES, load, load_with};
use crate::attachment::AttachmentSource;
use crate::{Context, PlannedWork, RunPlan, Workflow, mermaid};
use cofferdam_core::tool::ToolError;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Arc;

fn context(workflow: &Workflow, input: Value) -> Context {
    Context {
        run: "w-1".into(),
        input: workflow.input.complete(input).expect("the input fits"),
        env: Map::from_iter([("HOME".to_owned(), json!("/h"))]),
        trigger: json!({ "kind": "cli", "sender": "1000" }),
        tools: Map::from_iter([("file_read".to_owned(), json!("Reads a file."))]),
    }
}

fn plan(text: &str, input: Value) -> Result<RunPlan, String> {
    let workflow = Arc::new(load(text).expect("a workflow"));
    let context = context(&workflow, input);
    RunPlan::begin(workflow, &context).map_err(|error| format!("{}: {error}", error.code))
}

fn outputs(of: &[(&str, Value)]) -> Map<String, Value> {
    of.iter().map(|(id, output)| ((*id).to_owned(), output.clone())).collect()
}

fn arguments(plan: &RunPlan, task: usize, done: &[(&str, Value)]) -> Result<Value, String> {
    let PlannedWork::Tool { with, .. } = &plan.tasks[task] else { panic!("a tool's task") };
    plan.arguments(with, &outputs(done)).map_err(|error| format!("{}: {error}", error.code))
}

#[test]
fn phase_one_refuses_before_anything_begins() {
    for (with, said) in [
        (
            "{ a: \"{{ input.none }}\" }",
            "template_failed: w.yaml:2:38: `{{ input.none }}`: input.none is missing",
        ),
        ("{ a: \"{{ env.OTHER }}\" }", "the variable OTHER is not listed"),
        ("{ a: [\"{{ tools.nope.description }}\"] }", "tools.nope.description is missing"),
        ("{ a: \"{{ trigger.text }}\" }", "trigger.text is missing"),
    ] {
        let text = format!("workflow: w\ntasks: [{{ id: a, tool: x, with: {with} }}]\n");
        let error = plan(&text, json!({})).map(|_| ()).expect_err(with);
        assert!(error.contains(said), "{with}: {error}");
    }
}

#[test]
fn what_names_tasks_waits_for_them_and_the_rest_does_not() {
    let text = "workflow: w\ntasks:\n  - { id: a, tool: x }\n  - id: b\n    tool: x\n    with:\n\
                \x20     whole: \"{{ tasks.a.output }}\"\n      text: \"{{ workflow.run }} {{ tasks.a.output.n }}\"\n\
                \x20     home: \"{{ env.HOME }}\"\n      tool: \"{{ tools.file_read.description | upper }}\"\n\
                \x20     plain: [1, \"{# text #}\"]\noutput: [\"{{ tasks.b.output }}\", \"{{ input.x | default(2) }}\"]\n";
    let plan = plan(text, json!({})).expect("phase one");
    let done = [("a", json!({ "n": 7, "evil": "{{ env.HOME }}" }))];
    let expected = json!({
        "whole": { "n": 7, "evil": "{{ env.HOME }}" }, "text": "w-1 7", "home": "/h", "tool": "READS A FILE.",
        "plain": [1, "{# text #}"],
    });
    assert_eq!(arguments(&plan, 1, &done), Ok(expected));
    let missing = arguments(&plan, 1, &[("a", json!({}))]).expect_err("missing");
    assert!(missing.starts_with("template_failed: w.yaml:8:13: `{{ tasks.a.output.n }}`: "), "{missing}");
    let output = plan.output(&outputs(&[("b", json!("done"))]));
    assert_eq!(output.map_err(|e| e.to_string()), Ok(json!(["done", 2])));
    // People are told what is wrong, and not which file of the machine it is in.
    let told = ToolError::from(plan.output(&outputs(&[])).expect_err("missing"));
    assert!(told.message.starts_with("`{{ tasks.b.output }}`: "), "{}", told.message);
}

#[test]
fn the_output_is_the_last_tasks_by_default() {
    let plan =
        plan("workflow: w\ntasks: [{ id: a, tool: x }, { id: b, tool: x }]\n", json!({})).expect("planned");
    let output = plan.output(&outputs(&[("a", json!(1)), ("b", json!({ "c": 2 }))]));
    assert_eq!(output.map_err(|e| e.to_string()), Ok(json!({ "c": 2 })));
}

#[test]
fn the_input_is_completed_and_held_to_its_schema() {
    let text = "workflow: w\ninput:\n  type: object\n  properties:\n    a: { type: string, default: x }\n\
                \x20   deep: { type: object, properties: { b: { type: integer, default: 2 } } }\n    n: { type: integer }\n\
                tasks: [{ id: t, tool: x }]\n";
    let workflow = load(text).expect("a workflow");
    let complete = |input: Value| workflow.input.complete(input);
    assert_eq!(complete(json!({})), Ok(json!({ "a": "x" })));
    assert_eq!(complete(json!({ "deep": {}, "a": "y" })), Ok(json!({ "deep": { "b": 2 }, "a": "y" })));
    for (input, said) in [
        (json!({ "c": 1 }), "c is not"),
        (json!({ "n": "1" }), "n must be a whole number"),
        (json!([]), "the whole must be"),
    ] {
        let error = complete(input).expect_err(said);
        assert!(error.starts_with("the input does not fit: "), "{error}");
    }
    let open =
        load(&text.replace(
            "type: object\n  properties",
            "type: object\n  additionalProperties: true\n  properties",
        ));
    assert!(open.expect("a workflow").input.complete(json!({ "c": 1 })).is_ok());
    assert!(
        load("workflow: w\ntasks: [{ id: t, tool: x }]\n")
            .expect("one")
            .input
            .complete(json!({ "c": 1 }))
            .is_err()
    );
}

#[test]
fn an_agents_input_is_its_with() {
    let text = "workflow: w\ninput: { properties: { topic: { type: string } } }\nagents:\n  - id: a\n    description: An agent.\n\
                \x20   instructions: \"For {{ workflow.input.topic }}: {{ agents.a.description }}\"\n    actions:\n\
                \x20     - { id: x, prompt: \"{{ input.topic }} {{ input.more | default(\\\"-\\\") }}\" }\ntasks:\n\
                \x20 - { id: one, agent: a, action: x }\n  - { id: two, agent: a, action: x, with: { topic: mine, more: \"{{ tasks.one.output.text }}\" } }\n";
    let plan = plan(text, json!({ "topic": "theirs" })).expect("phase one");
    let ready = |task: usize, done: &[(&str, Value)]| {
        let PlannedWork::Agent(work) = &plan.tasks[task] else { panic!("an agent's task") };
        plan.ready(work, &outputs(done)).expect("ready")
    };
    let one = ready(0, &[]);
    assert_eq!((one.prompt.as_str(), one.instructions.as_str()), ("theirs -", "For theirs: An agent."));
    let two = ready(1, &[("one", json!({ "text": "{{ input.topic }}" }))]);
    assert_eq!(two.prompt, "mine {{ input.topic }}");
}

#[test]
fn attachments_expand_in_order_and_pass_the_same_checks_after_phase_two() {
    let text = "workflow: w\nagents:\n  - id: a\n    attachments: [{ type: pdf, path: ./h.pdf, name: H }]\n    actions:\n\
                \x20     - { id: x, prompt: p, attachments: [{ type: url, url: \"https://e.example/\" }] }\ntasks:\n\
                \x20 - { id: one, tool: t }\n  - id: two\n    agent: a\n    action: x\n    attachments:\n\
                \x20     - { type: image, paths: [\"{{ input.dir | default('d') }}/*.png\", \"{{ tasks.one.output.path }}\"], name: N, meta: { k: \"{{ input.n | default(1) }}\" } }\n";
    let plan = plan(text, json!({})).map_err(|error| panic!("{error}")).expect("phase one");
    let PlannedWork::Agent(work) = &plan.tasks[1] else { panic!("an agent's task") };
    let planned: Vec<_> = work
        .attachments
        .iter()
        .map(|one| {
            (
                one.scope.name(),
                one.display_kind().to_owned(),
                one.display_source().to_owned(),
                one.item.is_none(),
                one.group,
            )
        })
        .collect();
    let row = |scope, kind: &str, source: &str, waits, group| {
        (scope, kind.to_owned(), source.to_owned(), waits, group)
    };
    assert_eq!(
        planned,
        [
            row("task", "image", "d/*.png", false, 1),
            row("task", "image", "{{ tasks.one.output.path }}", true, 1),
            row("agent", "pdf", "./h.pdf", false, 2),
            row("action", "url", "https://e.example/", false, 3),
        ]
    );
    let ready = |path: &str| {
        let ready = plan.ready(work, &outputs(&[("one", json!({ "path": path }))]));
        ready.map_err(|error| format!("{}: {error}", error.code))
    };
    let items = ready("/shared/x.png").expect("a path of the workspace").attachments;
    assert!(
        matches!(&items[1].item.source, AttachmentSource::Workspace(path) if path.as_str() == "/shared/x.png")
    );
    assert_eq!(items[0].item.meta.as_ref().map(|meta| meta["k"].clone()), Some(json!("1")));
    for path in ["/etc/passwd", "../x.png", "a[", "/vault/key", ""] {
        assert!(ready(path).expect_err(path).starts_with("path_denied: w.yaml:13:"), "{path}");
    }
}

/// Each text that may be a template, by the input in phase one and by a task's output in phase two.
#[test]
fn each_text_of_a_file_is_rendered_in_either_phase() {
    let text = r#"workflow: w
input: { additionalProperties: true }
agents:
  - id: g
    instructions: "i {{ ROOT.v }}"
    attachments:
      - { type: "{{ ROOT.kind }}", url: "https://e.example/{{ ROOT.v }}", name: "n {{ ROOT.v }}", mime: "image/{{ ROOT.v }}", meta: { deep: ["{{ ROOT.v }}"] } }
      - { type: pdf, urls: ["https://e.example/{{ ROOT.v }}.pdf"] }
    actions:
      - { id: x, prompt: "p {{ ROOT.v }}", attachments: [{ type: file, path: "{{ ROOT.v }}.txt" }, { type: image, paths: ["{{ ROOT.v }}/*.png"] }] }
tasks:
  - { id: a, tool: t }
  - { id: b, agent: g, action: x }
  - { id: c, send: { to: "telegram:{{ ROOT.n }}", text: "s {{ ROOT.v }}", files: ["/shared/{{ ROOT.v }}"] } }
  - { id: d, wait: { reply_to: c, timeout: "{{ ROOT.n }}h", otherwise: "o {{ ROOT.v }}" } }
  - { id: e, approve: { from: "discord:{{ ROOT.n }}", text: "q {{ ROOT.v }}", timeout: "{{ ROOT.n }}m" } }
"#;
    let values = json!({ "v": "x", "n": "7", "kind": "image" });
    for root in ["input", "tasks.a.output"] {
        let plan = plan(&text.replace("ROOT", root), values.clone()).expect(root);
        let done = outputs(&[("a", values.clone())]);
        let work = |n: usize| &plan.tasks[n];
        let (PlannedWork::Agent(asked), PlannedWork::Send(send)) = (work(1), work(2)) else {
            panic!("{root}")
        };
        let (PlannedWork::Wait(wait), PlannedWork::Approve(approve)) = (work(3), work(4)) else {
            panic!("{root}")
        };
        let ready = plan.ready(asked, &done).expect(root);
        assert_eq!((ready.instructions.as_str(), ready.prompt.as_str()), ("i x", "p x"), "{root}");
        let shown = ready.attachments.iter().map(|one| match &one.item.source {
            AttachmentSource::Url(url) => format!("{} {}", one.item.kind.name(), url.as_written()),
            AttachmentSource::File(path) => format!("{} {path}", one.item.kind.name()),
            AttachmentSource::Pattern(pattern) => format!("{} {pattern}", one.item.kind.name()),
            AttachmentSource::Workspace(path) => panic!("{path}"),
        });
        let expected =
            ["image https://e.example/x", "pdf https://e.example/x.pdf", "file x.txt", "image x/*.png"];
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{root}");
        let first = &ready.attachments[0].item;
        assert_eq!((first.name.as_deref(), first.mime.as_deref()), (Some("n x"), Some("image/x")), "{root}");
        assert_eq!(first.meta.clone().map(Value::Object), Some(json!({ "deep": ["x"] })), "{root}");
        let message = plan.message(send, &done).expect(root);
        assert_eq!((message.to.channel.as_str(), message.to.sender.as_str()), ("telegram", "7"), "{root}");
        assert_eq!((message.text.as_str(), message.files), ("s x", vec!["/shared/x".to_owned()]), "{root}");
        let waits = plan.wait(wait, &done).expect(root);
        assert_eq!((waits.timeout.to_string(), waits.otherwise), ("7h".to_owned(), Some("o x".to_owned())));
        let asks = plan.question(approve, &done).expect(root);
        assert_eq!(asks.from.map(|from| from.sender).as_deref(), Some("7"), "{root}");
        assert_eq!((asks.text.as_str(), asks.timeout.to_string().as_str()), ("q x", "7m"), "{root}");
    }
}

#[test]
fn agents_of_files_have_their_own_folder() {
    let text = "workflow: w\nagents: [{ file: team/a.yaml }]\ntasks: [{ id: t, agent: a, action: x, attachments: [{ type: file, path: own.txt }] }]\n";
    let agent = "id: a\nattachments: [{ type: file, path: a.txt }]\nactions: [{ id: x, prompt: p, attachments: [{ type: file, path: sub/b.txt }] }]\n";
    let workflow = Arc::new(load_with("w.yaml", text, &[("team/a.yaml", agent)]).expect("a workflow"));
    let context = context(&workflow, json!({}));
    let plan = RunPlan::begin(workflow, &context).expect("phase one");
    let PlannedWork::Agent(work) = &plan.tasks[0] else { panic!("an agent's task") };
    let folders: Vec<String> = work.attachments.iter().map(|one| one.folder.to_string()).collect();
    assert_eq!(folders, ["", "team", "team"]);
}

#[test]
fn answers_are_held_to_the_schema_of_their_action() {
    let (name, text) = EXAMPLES[1];
    let workflow = load_with(name, text, &[]).expect("an example");
    let action = &workflow.agents[0].actions[0];
    for text in ["{\"verdict\":\"ok\"}", "```json\n{\"verdict\":\"ok\"}\n```", " {\"verdict\": \"ok\"}\n"] {
        assert_eq!(action.read_answer(text), Ok(json!({ "verdict": "ok" })));
    }
    for (text, said) in
        [("ok", "it is no JSON"), ("{}", "verdict is missing"), ("{\"verdict\":1}", "verdict must be")]
    {
        let error = action.read_answer(text).expect_err(text);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_examples_are_read_and_drawn() {
    for (name, text) in EXAMPLES {
        let workflow = load_with(name, text, &[]).unwrap_or_else(|problem| panic!("{problem}"));
        let chart = mermaid(&workflow);
        assert_eq!(chart.matches(" --> ").count(), workflow.tasks.len() - 1, "{chart}");
        assert!(chart.starts_with("flowchart TD\n    t0"), "{chart}");
    }
    let (name, text) = EXAMPLES[2];
    let chart = mermaid(&load_with(name, text, &[]).expect("an example"));
    assert!(chart.contains("t1{{\"ok<br/>approval of telegram:1001\"}}"), "{chart}");
    assert_eq!(
        load("workflow: w\ntasks: [{ id: t, tool: x, with: { a: \"{{ env.B }}{{ env.A }}\" } }]")
            .expect("one")
            .variables(),
        ["A", "B"]
    );
}

proptest! {
    /// Text that came from data is never a template, in either phase, wherever it is put.
    #[test]
    fn data_is_never_a_template_in_either_phase(data in ".{0,40}|.{0,9}\\{\\{ ?(env\\.HOME|input\\.x|tasks\\.a\\.output\\.x) ?\\}\\}.{0,9}|\\{%.{0,9}%\\}") {
        let text = "workflow: w\ninput: { properties: { x: { type: string } } }\nagents:\n  - { id: g, instructions: \"{{ input.one }}\", actions: [{ id: x, prompt: \"{{ input.two }}|{{ input.one }}\" }] }\n\
                    tasks:\n  - { id: a, tool: t, with: { v: \"{{ input.x }}\" } }\n  - { id: b, tool: t, with: { v: \"{{ tasks.a.output.x }}\", w: \"<{{ tasks.a.output.x }}>\", y: \"{{ workflow.input.x }}\" } }\n\
                    \x20 - { id: c, agent: g, action: x, with: { one: \"{{ input.x }}\", two: \"{{ tasks.b.output.x }}\" } }\noutput: { o: \"{{ tasks.a.output.x }}{{ input.x }}\" }\n";
        let plan = plan(text, json!({ "x": data })).expect("phase one takes any input");
        let done = [("a", json!({ "x": data })), ("b", json!({ "x": data })), ("c", json!({}))];
        prop_assert_eq!(arguments(&plan, 0, &[]), Ok(json!({ "v": data })));
        prop_assert_eq!(arguments(&plan, 1, &done), Ok(json!({ "v": data, "w": format!("<{data}>"), "y": data })));
        let PlannedWork::Agent(work) = &plan.tasks[2] else { panic!("an agent's task") };
        let ready = plan.ready(work, &outputs(&done)).expect("phase two takes any output");
        prop_assert_eq!(ready.prompt, format!("{data}|{data}"));
        prop_assert_eq!(ready.instructions, data.clone());
        prop_assert_eq!(plan.output(&outputs(&done)).expect("an output"), json!({ "o": format!("{data}{data}") }));
    }
}
