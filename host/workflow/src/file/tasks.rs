//! Tasks: exactly one thing each.

use super::attachments;
use super::read::{check_new_id, id, person_problem, tool};
use super::text::{TemplateText, TemplateValue};
use super::{Agent, ApproveWork, SendWork, Task, TaskWork, WaitWork};
use crate::node::{Node, NodeFields};
use crate::problem::{FileFault, list_names, quote};
use cofferdam_core::id::Caller;
use cofferdam_core::limits::TimeSpan;
use serde_json::json;

/// The keys that say what a task does.
pub(crate) const WORK_KEYS: [&str; 5] = ["agent", "tool", "send", "wait", "approve"];
const KEYS: [&str; 9] = ["id", "agent", "tool", "send", "wait", "approve", "action", "with", "attachments"];

pub(super) fn read(list: &[Node], agents: &[Agent]) -> Result<Vec<Task>, FileFault> {
    let mut tasks: Vec<Task> = Vec::new();
    for node in list {
        let task = task(node, agents, &tasks)?;
        check_new_id(node, "tasks", &task.id, tasks.iter().map(|other| &other.id))?;
        tasks.push(task);
    }
    Ok(tasks)
}

fn task(node: &Node, agents: &[Agent], before: &[Task]) -> Result<Task, FileFault> {
    let fields = NodeFields::new(node, "a task", &KEYS)?;
    let id = id(fields.need("id", "first")?, "`id` of a task")?;
    let (key, value) = fields.take_one_of(&WORK_KEYS)?;
    if key != "agent" {
        fields.refuse_keys(&["action", "attachments"], "is for tasks that ask an agent")?;
    }
    if !matches!(key, "agent" | "tool") {
        fields.refuse_keys(&["with"], "is for tasks that ask an agent or call a tool")?;
    }
    let with = fields.read("with", TemplateValue::read_map)?;
    let work = match key {
        "agent" => ask(&fields, value, agents, with)?,
        "tool" => TaskWork::Tool {
            name: tool(value, "`tool`")?,
            with: with.unwrap_or_else(|| TemplateValue::Value(json!({}))),
        },
        "send" => TaskWork::Send(send(value)?),
        "wait" => TaskWork::Wait(wait(value, before)?),
        _ => TaskWork::Approve(approve(value)?),
    };
    Ok(Task { id, work })
}

fn ask(
    fields: &NodeFields<'_>,
    value: &Node,
    agents: &[Agent],
    with: Option<TemplateValue>,
) -> Result<TaskWork, FileFault> {
    let name = value.text("`agent`")?;
    let found = agents.iter().position(|agent| agent.id == name);
    let Some(agent) = found else {
        let ids: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
        let said = format!("there is no agent {}; there is {}", quote(name), list_names(&ids));
        return Err(FileFault::new(value.mark, said));
    };
    let actions = &agents[agent].actions;
    let node = fields.need("action", "ask")?;
    let name = node.text("`action`")?;
    let Some(action) = actions.iter().position(|action| action.id == name) else {
        let ids: Vec<&str> = actions.iter().map(|action| action.id.as_str()).collect();
        let said = format!("the agent has no action {}; there is {}", quote(name), list_names(&ids));
        return Err(FileFault::new(node.mark, said));
    };
    Ok(TaskWork::Agent { agent, action, with, attachments: attachments::read(fields)? })
}

fn send(node: &Node) -> Result<SendWork, FileFault> {
    let fields = NodeFields::new(node, "`send`", &["to", "text", "files"])?;
    let read = |node: &Node| TemplateText::read(node, "a path in `files`");
    let files = fields.read("files", |node, what| node.list(what)?.iter().map(read).collect())?;
    Ok(SendWork {
        to: person(fields.need("to", "\"telegram:1002\"")?, "`to`")?,
        text: TemplateText::read(fields.need("text", "\"Hello\"")?, "`text`")?,
        files: files.unwrap_or_default(),
    })
}

fn wait(node: &Node, before: &[Task]) -> Result<WaitWork, FileFault> {
    let fields = NodeFields::new(node, "`wait`", &["reply_to", "timeout", "otherwise"])?;
    let target = fields.need("reply_to", "ask")?;
    let name = target.text("`reply_to`")?;
    let found = before.iter().position(|task| task.id == name && matches!(task.work, TaskWork::Send(_)));
    let Some(reply_to) = found else {
        let said = format!("{} is no earlier task that sends; write the id of one", quote(name));
        return Err(FileFault::new(target.mark, said));
    };
    Ok(WaitWork {
        reply_to,
        timeout: span(fields.need("timeout", "24h")?)?,
        otherwise: fields.read("otherwise", TemplateText::read)?,
    })
}

fn approve(node: &Node) -> Result<ApproveWork, FileFault> {
    let fields = NodeFields::new(node, "`approve`", &["from", "text", "timeout"])?;
    Ok(ApproveWork {
        from: fields.read("from", person)?,
        text: TemplateText::read(fields.need("text", "\"Publish it?\"")?, "`text`")?,
        timeout: span(fields.need("timeout", "1h")?)?,
    })
}

fn person(node: &Node, what: &str) -> Result<TemplateText, FileFault> {
    let text = TemplateText::read(node, what)?;
    match text.template.literal() {
        Some(plain) if Caller::parse(plain).is_none() => Err(text.refuse(person_problem(plain))),
        _ => Ok(text),
    }
}

fn span(node: &Node) -> Result<TemplateText, FileFault> {
    let text = TemplateText::read(node, "`timeout`")?;
    match text.template.literal().map(TimeSpan::parse) {
        Some(Err(problem)) => Err(text.refuse(format!("`timeout`: {problem}"))),
        _ => Ok(text),
    }
}
