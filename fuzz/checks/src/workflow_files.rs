//! Workflow files: any text is read or refused with a plain problem at a place that is there; what
//! is read can be drawn, and a run of it begins or is refused, with outputs that look like
//! templates staying what they are.
//!
//! A first line `#json` makes the rest JSON.

use crate::assert_plain;
use cofferdam_workflow::{Context, FileProblem, PlannedWork, RunPlan, Workflow, mermaid};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Text that names what a template could, and is none.
const EVIL: &str = "{{ env.HOME }}{% raw %}{{ tasks.a.output }}";

/// Loads the file; holds the problem, or the workflow, to what it promises.
pub fn workflow_files(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (name, text) = match text.strip_prefix("#json\n") {
        Some(json) => ("w.json", json),
        None => ("w.yaml", text),
    };
    let agent = "id: from-file\nactions: [{ id: ask, prompt: \"{{ input.x }}\" }]\n";
    let mut read = |path: &cofferdam_workflow::attachment::FolderPath| match path.to_string().as_str() {
        "agent.yaml" => Ok(agent.to_owned()),
        _ => Err("it is not there".to_owned()),
    };
    match Workflow::load(name, text, &mut read) {
        Err(problem) => placed(&problem, name, text),
        Ok(workflow) => {
            let workflow = Arc::new(workflow);
            let chart = mermaid(&workflow);
            assert!(chart.lines().count() >= workflow.tasks.len() * 2, "{chart}");
            began(&workflow, text);
        }
    }
}

fn placed(problem: &FileProblem, name: &str, text: &str) {
    assert_plain(&problem.to_string());
    assert!(!problem.problem.is_empty());
    let lines = text.split('\n').count().max(text.lines().count()) + 1;
    let line = problem.line as usize;
    assert!(problem.file != name || (1..=lines).contains(&line), "{problem} of {lines} lines");
    assert!(problem.column >= 1, "{problem}");
}

fn began(workflow: &Arc<Workflow>, text: &str) {
    let mut input = json!({});
    if let Some(properties) = workflow.input.schema.get("properties").and_then(Value::as_object) {
        input = properties.keys().take(8).map(|key| (key.clone(), json!(EVIL))).collect();
    }
    let Ok(input) = workflow.input.complete(input) else { return };
    let names = workflow.variables();
    let context = Context {
        run: "w-1".into(),
        input,
        env: names.iter().map(|name| (name.clone(), json!(EVIL))).collect(),
        trigger: json!({ "kind": "cli", "text": EVIL, "sender": "1" }),
        tools: Map::new(),
    };
    let plan = match RunPlan::begin(workflow.clone(), &context) {
        Ok(plan) => plan,
        Err(problem) => return placed(&problem, "w.yaml", text),
    };
    assert_eq!(plan.tasks.len(), workflow.tasks.len());
    let outputs: Map<String, Value> = workflow
        .tasks
        .iter()
        .map(|task| (task.id.clone(), json!({ "text": EVIL, "path": "/shared/x" })))
        .collect();
    for work in &plan.tasks {
        match work {
            PlannedWork::Tool { with, .. } => {
                if let Ok(arguments) = plan.arguments(with, &outputs) {
                    assert!(arguments.is_object(), "{arguments}");
                }
            }
            PlannedWork::Agent(work) => drop(plan.ready(work, &outputs)),
            PlannedWork::Send(work) => drop(plan.message(work, &outputs)),
            PlannedWork::Wait(work) => drop(plan.wait(work, &outputs)),
            PlannedWork::Approve(work) => drop(plan.question(work, &outputs)),
        }
    }
    drop(plan.output(&outputs));
}
