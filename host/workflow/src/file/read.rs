//! The file as a whole, key by key.

use super::{AGENT_FILES_MAX, Input, SourceFile, TASKS_MAX, TemplateValue, Workflow, WorkflowTrigger};
use super::{agents, references, tasks};
use crate::attachment::FolderPath;
use crate::node::{Node, NodeFields};
use crate::problem::{FileFault, quote};
use crate::schedule;
use cofferdam_core::id::Caller;
use cofferdam_core::tool::{ToolName, wire_name};

/// The keys of a workflow.
const KEYS: [&str; 7] = ["workflow", "description", "input", "on", "agents", "tasks", "output"];

pub(super) fn workflow(files: &mut AgentFiles<'_>) -> Result<Workflow, FileFault> {
    let own = files.sources[0].clone();
    let root = Node::parse(&own.name, &own.text, 0)?;
    let fields = NodeFields::new(&root, "a workflow", &KEYS)?;
    let workflow_id = id(fields.need("workflow", "my-workflow")?, "`workflow`")?;
    let description = fields.read("description", one_line)?;
    let input = Input::read(fields.get("input"), root.mark)?;
    let on = fields.get("on").map(read_trigger).transpose()?.unwrap_or_default();
    let agents = fields.get("agents").map(|node| agents::read(node, files)).transpose()?;
    let agents = agents.unwrap_or_default();
    let tasks = fields.need("tasks", "[{ id: …, tool: …, with: { … } }]")?;
    let list = tasks.list("`tasks`")?;
    if list.is_empty() || list.len() > TASKS_MAX {
        let said = format!("`tasks` has {} tasks; write 1 to {TASKS_MAX}", list.len());
        return Err(FileFault::new(tasks.mark, said));
    }
    let tasks = tasks::read(list, &agents)?;
    let output = fields.read("output", TemplateValue::read)?;
    let sources = files.sources.clone();
    let workflow = Workflow { id: workflow_id, description, input, on, agents, tasks, output, sources };
    references::check(&workflow)?;
    Ok(workflow)
}

/// The file of a workflow and those of its agents, as they are read.
pub(super) struct AgentFiles<'a> {
    pub(super) sources: Vec<SourceFile>,
    /// Brings the text of a file below the folder of the workflow's own.
    pub(super) read: &'a mut dyn FnMut(&FolderPath) -> Result<String, String>,
}

impl AgentFiles<'_> {
    /// The tree of the file that `node` names, and its number.
    pub(super) fn open(&mut self, node: &Node) -> Result<(Node, u16), FileFault> {
        let refuse = |said: String| FileFault::new(node.mark, said);
        let written = node.text("`file` of an agent")?;
        let path = FolderPath::parse(written).map_err(|error| refuse(error.to_string()))?;
        let own = &self.sources[0].name;
        let name = match own.rfind('/') {
            Some(slash) => format!("{}/{path}", &own[..slash]),
            None => path.to_string(),
        };
        if self.sources.len() > AGENT_FILES_MAX {
            let said = format!("more than {AGENT_FILES_MAX} files of agents; write some of them here");
            return Err(refuse(said));
        }
        let text = (self.read)(&path)
            .map_err(|cause| refuse(format!("cannot read the agent's file {}: {cause}", quote(&name))))?;
        let number = u16::try_from(self.sources.len()).unwrap_or(u16::MAX);
        self.sources.push(SourceFile { name: name.clone(), path, text });
        let text = &self.sources[usize::from(number)].text;
        Ok((Node::parse(&name, text, number)?, number))
    }
}

/// `[a-z][a-z0-9_-]{0,63}`
pub(super) fn id(node: &Node, what: &str) -> Result<String, FileFault> {
    let text = node.text(what)?;
    let mut bytes = text.bytes();
    let is_id = bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-'))
        && text.len() <= 64;
    if is_id {
        return Ok(text.to_owned());
    }
    let said = format!(
        "{what} is {}, and must be an id: a small letter, then small letters, digits, `_` and `-`, at most 64",
        quote(text)
    );
    Err(FileFault::new(node.mark, said))
}

/// Refuses the id of one of `things` that another one has.
pub(super) fn check_new_id<'a>(
    node: &Node,
    things: &str,
    id: &str,
    mut others: impl Iterator<Item = &'a String>,
) -> Result<(), FileFault> {
    if others.any(|other| other == id) {
        let said = format!("there are two {things} {}; give each an id of its own", quote(id));
        return Err(FileFault::new(node.mark, said));
    }
    Ok(())
}

/// The name of a tool, dotted names included.
pub(super) fn tool(node: &Node, what: &str) -> Result<String, FileFault> {
    let text = node.text(what)?;
    match ToolName::parse(&wire_name(text)) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(FileFault::new(node.mark, format!("{what}: {error}"))),
    }
}

pub(super) fn one_line(node: &Node, what: &str) -> Result<String, FileFault> {
    let text = node.text(what)?;
    if text.trim().is_empty() || text.chars().any(cofferdam_core::text::is_deceptive) {
        let said = format!("{what} must be one line of plain text");
        return Err(FileFault::new(node.mark, said));
    }
    Ok(text.to_owned())
}

pub(crate) fn person_problem(text: &str) -> String {
    format!("{} is no person; write CHANNEL:USER, e.g. \"telegram:1002\"", quote(text))
}

fn read_trigger(node: &Node) -> Result<WorkflowTrigger, FileFault> {
    let fields = NodeFields::new(node, "`on`", &["command", "schedule", "to"])?;
    if fields.get("command").is_none() && fields.get("schedule").is_none() {
        let said = "`on` needs `command` or `schedule`; write e.g. `on: { command: publish }`";
        return Err(FileFault::new(node.mark, said));
    }
    let command = fields.get("command").map(command).transpose()?;
    let Some(schedule) = fields.get("schedule") else {
        fields.refuse_keys(&["to"], "is who a schedule answers")?;
        return Ok(WorkflowTrigger { command, schedule: None });
    };
    let times = schedule.text("`schedule`")?;
    schedule::check(times)
        .map_err(|problem| FileFault::new(schedule.mark, format!("`schedule`: {problem}")))?;
    let to = fields.need("to", "\"telegram:1002\"")?;
    let text = to.text("`to`")?;
    let person = Caller::parse(text).ok_or_else(|| FileFault::new(to.mark, person_problem(text)))?;
    Ok(WorkflowTrigger { command, schedule: Some((times.to_owned(), person)) })
}

fn command(node: &Node) -> Result<String, FileFault> {
    let name = id(node, "`command`")?;
    if cofferdam_core::command::is_word(&name) {
        let said = format!("/{name} is a word to the gateway itself; choose another name for `command`");
        return Err(FileFault::new(node.mark, said));
    }
    Ok(name)
}
