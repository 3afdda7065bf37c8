//! A workflow as a picture: Mermaid, for people who would rather look.

use crate::file::{TaskWork, Workflow};
use crate::template::ValueRoot;

/// The flow chart: tasks in order, and dotted arrows for outputs that are used further down.
pub fn mermaid(workflow: &Workflow) -> String {
    let mut chart = String::from("flowchart TD\n");
    let mut line = |text: String| {
        chart.push_str("    ");
        chart.push_str(&text);
        chart.push('\n');
    };
    for (at, task) in workflow.tasks.iter().enumerate() {
        let (open, what, close) = match &task.work {
            TaskWork::Agent { agent, action, .. } => {
                let agent = &workflow.agents[*agent];
                ("([", format!("agent {}: {}", agent.id, agent.actions[*action].id), "])")
            }
            TaskWork::Tool { name, .. } => ("[", format!("tool {name}"), "]"),
            TaskWork::Send(send) => ("[/", format!("send to {}", send.to.written), "/]"),
            TaskWork::Wait(wait) => {
                ("{{", format!("wait for the reply to {}", workflow.tasks[wait.reply_to].id), "}}")
            }
            TaskWork::Approve(ask) => {
                let from = ask.from.as_ref().map_or("who began it", |from| &from.written);
                ("{{", format!("approval of {from}"), "}}")
            }
        };
        line(format!("t{at}{open}\"{}<br/>{}\"{close}", task.id, escape(&what)));
    }
    for at in 1..workflow.tasks.len() {
        line(format!("t{} --> t{at}", at - 1));
    }
    for (at, task) in workflow.tasks.iter().enumerate() {
        for from in tasks_used(workflow, &task.work).into_iter().filter(|from| from + 1 != at) {
            line(format!("t{from} -.-> t{at}"));
        }
    }
    chart
}

/// The tasks whose outputs a task uses, in order.
fn tasks_used(workflow: &Workflow, work: &TaskWork) -> Vec<usize> {
    let texts = workflow.texts_of_task(work);
    let paths = texts.iter().flat_map(|text| text.template.expressions()).map(|expression| &expression.path);
    let names = paths.filter(|path| path.root == ValueRoot::Tasks).filter_map(|path| path.key(0));
    let mut found: Vec<usize> =
        names.filter_map(|name| workflow.tasks.iter().position(|task| task.id == name)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A text between quotes of a label.
fn escape(text: &str) -> String {
    let line = cofferdam_core::text::one_line(text, 120);
    line.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}
