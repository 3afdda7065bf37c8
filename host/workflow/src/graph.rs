//! A workflow as a picture: Mermaid, for people who would rather look.

use crate::file::{Work, Workflow};
use crate::template::Root;

/// The flow chart: tasks in order, and dotted arrows for outputs that are used further down.
pub fn mermaid(workflow: &Workflow) -> String {
    let mut chart = String::from("flowchart TD\n");
    let mut line = |text: String| {
        chart.push_str("    ");
        chart.push_str(&text);
        chart.push('\n');
    };
    for (at, task) in workflow.tasks.iter().enumerate() {
        let what = match &task.work {
            Work::Agent { agent, action, .. } => {
                let agent = &workflow.agents[*agent];
                format!("agent {}: {}", agent.id, agent.actions[*action].id)
            }
            Work::Tool { name, .. } => format!("tool {name}"),
            Work::Send { to, .. } => format!("send to {}", to.written),
            Work::Wait { reply_to, .. } => format!("wait for the reply to {}", workflow.tasks[*reply_to].id),
            Work::Approve { from, .. } => {
                let from = from.as_ref().map_or("who began it", |from| &from.written);
                format!("approval of {from}")
            }
        };
        let (open, close) = match &task.work {
            Work::Agent { .. } => ("([", "])"),
            Work::Tool { .. } => ("[", "]"),
            Work::Send { .. } => ("[/", "/]"),
            Work::Wait { .. } | Work::Approve { .. } => ("{{", "}}"),
        };
        line(format!("t{at}{open}\"{}<br/>{}\"{close}", task.id, escaped(&what)));
    }
    for at in 1..workflow.tasks.len() {
        line(format!("t{} --> t{at}", at - 1));
    }
    for (at, task) in workflow.tasks.iter().enumerate() {
        for from in used_by(workflow, &task.work).into_iter().filter(|from| from + 1 != at) {
            line(format!("t{from} -.-> t{at}"));
        }
    }
    chart
}

/// The tasks whose outputs a task uses, in order.
fn used_by(workflow: &Workflow, work: &Work) -> Vec<usize> {
    let mut texts = Vec::new();
    work.texts(&mut texts);
    if let Work::Agent { agent, action, .. } = work {
        workflow.agents[*agent].texts(&mut texts);
        workflow.agents[*agent].actions[*action].texts(&mut texts);
    }
    let paths = texts.iter().flat_map(|text| text.template.expressions()).map(|expression| &expression.path);
    let names = paths.filter(|path| path.root == Root::Tasks).filter_map(|path| path.key(0));
    let mut found: Vec<usize> =
        names.filter_map(|name| workflow.tasks.iter().position(|task| task.id == name)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A text between quotes of a label.
fn escaped(text: &str) -> String {
    let line = cofferdam_core::text::one_line(text, 120);
    line.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}
