//! Whole files: what is refused and where, what is read, and what a run makes of it.

mod plans;
mod refusals;
mod schemas;

use crate::Workflow;
use std::collections::BTreeMap;

/// The three files of the contract.
pub(crate) const EXAMPLES: [(&str, &str); 3] = [
    (
        "ask-colleague.yaml",
        r#"workflow: ask-colleague
on: { command: ask }
input: { type: object, properties: { question: { type: string } }, required: [question] }
tasks:
  - { id: ask, send: { to: "telegram:1002", text: "{{ trigger.sender }} asks: {{ input.question }}" } }
  - { id: answer, wait: { reply_to: ask, timeout: 24h, otherwise: "(no answer in a day)" } }
output: "They say: {{ tasks.answer.output.text }}"
"#,
    ),
    (
        "analyze.yaml",
        r#"workflow: analyze
input: { type: object, properties: { dir: { type: string, default: assets } } }
agents:
  - id: reader
    instructions: You are a careful reader.
    attachments: [{ type: pdf, path: ./handbook.pdf, name: Handbook }]
    actions:
      - id: compare
        prompt: "Compare the pictures with the handbook. Topic: {{ input.topic }}"
        attachments: [{ type: image, url: "https://example.com/reference.png" }]
        output: { type: object, properties: { verdict: { type: string } }, required: [verdict] }
tasks:
  - id: look
    agent: reader
    action: compare
    with: { topic: harbours }
    attachments: [{ type: image, paths: ["{{ workflow.input.dir }}/**/*.png", ./cover.jpg], meta: { source: local } }]
  - { id: keep, tool: file_write, with: { path: /shared/verdict.txt, content: "{{ tasks.look.output.verdict }}" } }
"#,
    ),
    (
        "publish.yaml",
        r#"workflow: publish
on: { command: publish }
input: { type: object, properties: { path: { type: string } }, required: [path] }
tasks:
  - { id: text, tool: file_read, with: { path: "{{ input.path }}" } }
  - { id: ok, approve: { from: "telegram:1001", text: "Publish {{ input.path }}?", timeout: 1h } }
  - { id: out, tool: file_copy, with: { from: "{{ input.path }}", to: /shared/public/latest.txt, overwrite: true } }
output: "published by {{ tasks.ok.output.by }}"
"#,
    ),
];

/// The workflow of a text, with files beside it.
fn load_with(name: &str, text: &str, files: &[(&str, &str)]) -> Result<Workflow, String> {
    let files: BTreeMap<_, _> = files.iter().copied().collect();
    let mut read = |path: &crate::attachment::FolderPath| {
        files
            .get(path.to_string().as_str())
            .map(|text| (*text).to_owned())
            .ok_or_else(|| "it is not there".to_owned())
    };
    Workflow::load(name, text, &mut read).map_err(|problem| problem.to_string())
}

fn load(text: &str) -> Result<Workflow, String> {
    load_with("w.yaml", text, &[])
}

/// One task that calls a tool, after these lines.
fn with_task(lines: &str) -> String {
    format!("workflow: w\n{lines}tasks:\n  - {{ id: t, tool: file_list }}\n")
}
