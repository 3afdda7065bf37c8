//! Agents and their actions.

use super::read::{AgentFiles, check_new_id, id, one_line, tool};
use super::text::TemplateText;
use super::{Action, Agent, attachments, input};
use crate::node::{Node, NodeFields};
use crate::problem::{FileFault, quote};
use serde_json::Value;

/// The keys of an agent, and of an action.
const AGENT_KEYS: [&str; 6] = ["id", "description", "instructions", "tools", "attachments", "actions"];
const ACTION_KEYS: [&str; 4] = ["id", "prompt", "attachments", "output"];

pub(super) fn read(node: &Node, files: &mut AgentFiles<'_>) -> Result<Vec<Agent>, FileFault> {
    let mut agents: Vec<Agent> = Vec::new();
    for node in node.list("`agents`")? {
        let agent = match node.map("an agent")? {
            [(key, file)] if key.name == "file" => {
                let (root, source) = files.open(file)?;
                agent(&root, source)?
            }
            _ => agent(node, node.mark.file)?,
        };
        check_new_id(node, "agents", &agent.id, agents.iter().map(|other| &other.id))?;
        agents.push(agent);
    }
    Ok(agents)
}

fn agent(node: &Node, source: u16) -> Result<Agent, FileFault> {
    let fields = NodeFields::new(node, "an agent", &AGENT_KEYS)?;
    let mut tools: Vec<String> = Vec::new();
    if let Some(list) = fields.get("tools") {
        for node in list.list("`tools`")? {
            let name = tool(node, "a name in `tools`")?;
            if tools.contains(&name) {
                return Err(FileFault::new(node.mark, format!("{} is in `tools` twice", quote(&name))));
            }
            tools.push(name);
        }
    }
    let mut actions: Vec<Action> = Vec::new();
    for node in fields.need("actions", "[{ id: ask, prompt: … }]")?.list("`actions`")? {
        let action = action(node)?;
        check_new_id(node, "actions", &action.id, actions.iter().map(|other| &other.id))?;
        actions.push(action);
    }
    Ok(Agent {
        id: id(fields.need("id", "reader")?, "`id` of an agent")?,
        description: fields.read("description", one_line)?,
        instructions: fields.read("instructions", TemplateText::read)?,
        tools,
        attachments: attachments::read(&fields)?,
        actions,
        source,
    })
}

fn action(node: &Node) -> Result<Action, FileFault> {
    let fields = NodeFields::new(node, "an action", &ACTION_KEYS)?;
    let read_output = |node: &Node| -> Result<_, FileFault> {
        let schema = Value::Object(input::read_schema(node, "output")?);
        input::compile(&schema, node.mark, "output")
    };
    let output = fields.get("output").map(read_output).transpose()?;
    let prompt = fields.need("prompt", "\"What do you see?\"")?;
    let text = TemplateText::read(prompt, "`prompt`")?;
    if text.written.trim().is_empty() {
        return Err(FileFault::new(prompt.mark, "`prompt` is empty; write what the agent is asked"));
    }
    Ok(Action {
        id: id(fields.need("id", "ask")?, "`id` of an action")?,
        prompt: text,
        attachments: attachments::read(&fields)?,
        output,
    })
}
