//! A workflow's file, typed: every name in it is one that is there, every template parses, every
//! schema compiles.
//!
//! Nothing of it is rendered yet, and nothing outside of it was looked at.

mod agents;
mod attachments;
mod input;
mod read;
mod references;
mod tasks;
mod text;

pub(crate) use attachments::DeclaredAttachment;
pub use input::Input;
pub(crate) use read::person_problem;
pub(crate) use tasks::WORK_KEYS;
pub(crate) use text::{TemplateText, TemplateValue};

use crate::attachment::{FolderPath, Url};
use crate::problem::{FileFault, FileProblem};
use cofferdam_core::id::Caller;
use cofferdam_core::json::parse_strict;
use cofferdam_core::schema::Schema;
use serde_json::{Value, json};

/// Tasks of one workflow.
pub const TASKS_MAX: usize = 100;
/// Files of agents that one workflow names.
pub const AGENT_FILES_MAX: usize = 32;

/// A workflow as its file has it.
#[derive(Clone, Debug)]
pub struct Workflow {
    /// Its id.
    pub id: String,
    /// One line.
    pub description: Option<String>,
    /// What a run is given.
    pub input: Input,
    /// What begins a run besides the command line.
    pub on: WorkflowTrigger,
    /// Who can be asked.
    pub agents: Vec<Agent>,
    /// What is done, in order.
    pub tasks: Vec<Task>,
    pub(crate) output: Option<TemplateValue>,
    /// The files that it was read from; its own is the first.
    pub sources: Vec<SourceFile>,
}

/// A file that a workflow was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// As messages have it.
    pub name: String,
    /// Below the folder of the workflow's own file.
    pub path: FolderPath,
    /// What it says.
    pub text: String,
}

/// What begins a run in `serve`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowTrigger {
    /// `/NAME` in a chat.
    pub command: Option<String>,
    /// Times of UTC, and who is answered.
    pub schedule: Option<(String, Caller)>,
}

/// Who is asked by tasks.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// One line.
    pub description: Option<String>,
    pub(crate) instructions: Option<TemplateText>,
    /// Names that its model may call.
    pub tools: Vec<String>,
    pub(crate) attachments: Vec<DeclaredAttachment>,
    /// What it can be asked.
    pub actions: Vec<Action>,
    /// The number of its file among the sources.
    pub source: u16,
}

/// What an agent can be asked.
#[derive(Clone, Debug)]
pub struct Action {
    /// Its id.
    pub id: String,
    pub(crate) prompt: TemplateText,
    pub(crate) attachments: Vec<DeclaredAttachment>,
    /// What the answer must be; text where there is none.
    pub(crate) output: Option<Schema>,
}

/// One task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its id.
    pub id: String,
    pub(crate) work: TaskWork,
}

impl Workflow {
    /// Whether a run of it asks an agent.
    pub fn has_agent_tasks(&self) -> bool {
        self.tasks.iter().any(|task| matches!(task.work, TaskWork::Agent { .. }))
    }

    /// Why its schedule would begin nothing: nobody gives such a run an input.
    pub fn schedule_problem(&self) -> Option<String> {
        self.on.schedule.as_ref()?;
        let error = self.input.complete(json!({})).err()?;
        Some(format!(
            "its schedule begins nothing: {error}; the input of a scheduled run is the defaults, so give one to each \
             property that is required"
        ))
    }

    /// The addresses that its tasks download, of those that the file says in full.
    pub fn addresses(&self) -> Vec<Url> {
        let of_agents = self.agents.iter().flat_map(|agent| {
            agent.attachments.iter().chain(agent.actions.iter().flat_map(|action| &action.attachments))
        });
        let of_tasks = self.tasks.iter().flat_map(|task| match &task.work {
            TaskWork::Agent { attachments, .. } => &attachments[..],
            TaskWork::Tool { .. } | TaskWork::Send(_) | TaskWork::Wait(_) | TaskWork::Approve(_) => &[],
        });
        let mut found = Vec::new();
        of_agents.chain(of_tasks).for_each(|declared| declared.addresses(&mut found));
        found
    }
}

/// The problem with the name of its file.
pub(crate) fn locate(sources: &[SourceFile], fault: FileFault) -> FileProblem {
    let source = sources.get(usize::from(fault.mark.file));
    fault.in_file(source.map_or("", |source| &source.name))
}

/// What a fence of Markdown holds, where that is the whole.
fn strip_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = || text.strip_prefix("```")?.strip_suffix("```")?.split_once('\n').map(|(_, inner)| inner);
    inner().unwrap_or(text)
}

/// What a task does.
#[derive(Clone, Debug)]
pub(crate) enum TaskWork {
    /// Asks an agent.
    Agent {
        /// Which of the workflow's.
        agent: usize,
        /// Which of the agent's.
        action: usize,
        with: Option<TemplateValue>,
        attachments: Vec<DeclaredAttachment>,
    },
    /// Calls a tool.
    Tool {
        /// As it is written; dotted names are aliases.
        name: String,
        with: TemplateValue,
    },
    /// Sends a message of its own.
    Send(SendWork),
    /// Waits for the reply to a message.
    Wait(WaitWork),
    /// Asks a person.
    Approve(ApproveWork),
}

/// A message of a task.
#[derive(Clone, Debug)]
pub struct SendWork {
    pub(crate) to: TemplateText,
    pub(crate) text: TemplateText,
    pub(crate) files: Vec<TemplateText>,
}

/// A wait for the reply to a message.
#[derive(Clone, Debug)]
pub struct WaitWork {
    /// The number of the task that sends the message.
    pub reply_to: usize,
    pub(crate) timeout: TemplateText,
    pub(crate) otherwise: Option<TemplateText>,
}

/// A question to a person.
#[derive(Clone, Debug)]
pub struct ApproveWork {
    pub(crate) from: Option<TemplateText>,
    pub(crate) text: TemplateText,
    pub(crate) timeout: TemplateText,
}

impl TaskWork {
    /// The templates that it has itself.
    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<&'a TemplateText>) {
        match self {
            Self::Agent { with, attachments, .. } => {
                if let Some(with) = with {
                    with.texts(found);
                }
                attachments.iter().for_each(|declared| declared.texts(found));
            }
            Self::Tool { with, .. } => with.texts(found),
            Self::Send(SendWork { to, text, files }) => {
                found.extend([to, text]);
                found.extend(files);
            }
            Self::Wait(WaitWork { timeout, otherwise, .. }) => {
                found.push(timeout);
                found.extend(otherwise);
            }
            Self::Approve(ApproveWork { from, text, timeout }) => {
                found.extend(from);
                found.extend([text, timeout]);
            }
        }
    }
}

impl Agent {
    /// Templates that every task has which asks it.
    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<&'a TemplateText>) {
        found.extend(&self.instructions);
        self.attachments.iter().for_each(|declared| declared.texts(found));
    }
}

impl Action {
    /// The output that an answer of a model is: the JSON that the action wants, also within a fence
    /// of Markdown, else its text.
    ///
    /// # Errors
    /// What is wrong with it, for the model to mend.
    pub fn read_answer(&self, text: &str) -> Result<Value, String> {
        let Some(schema) = &self.output else { return Ok(json!({ "text": text })) };
        let value = parse_strict(strip_fence(text)).map_err(|error| format!("it is no JSON: {error}"))?;
        input::check(schema, &value)?;
        Ok(value)
    }

    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<&'a TemplateText>) {
        found.push(&self.prompt);
        self.attachments.iter().for_each(|declared| declared.texts(found));
    }
}

impl Task {
    /// The key that says what it does: `agent`, `tool`, `send`, `wait` or `approve`.
    pub fn key(&self) -> &'static str {
        match self.work {
            TaskWork::Agent { .. } => "agent",
            TaskWork::Tool { .. } => "tool",
            TaskWork::Send(_) => "send",
            TaskWork::Wait(_) => "wait",
            TaskWork::Approve(_) => "approve",
        }
    }
}

impl Workflow {
    /// The workflow of a file. `name` is the file's in messages; `read` brings the text of a file
    /// below its folder.
    ///
    /// # Errors
    /// The first problem, with file, line and what to write instead.
    pub fn load(
        name: &str,
        text: &str,
        read: &mut dyn FnMut(&FolderPath) -> Result<String, String>,
    ) -> Result<Self, FileProblem> {
        let own = SourceFile { name: name.to_owned(), path: FolderPath::default(), text: text.to_owned() };
        let mut files = read::AgentFiles { sources: vec![own], read };
        read::workflow(&mut files).map_err(|fault| locate(&files.sources, fault))
    }

    /// All its templates.
    pub(crate) fn texts<'a>(&'a self, found: &mut Vec<&'a TemplateText>) {
        self.tasks.iter().for_each(|task| task.work.texts(found));
        self.texts_of_agents(found);
        if let Some(output) = &self.output {
            output.texts(found);
        }
    }

    /// The templates that a task is rendered from, those of its agent and action included.
    pub(crate) fn texts_of_task<'a>(&'a self, work: &'a TaskWork) -> Vec<&'a TemplateText> {
        let mut found = Vec::new();
        work.texts(&mut found);
        if let TaskWork::Agent { agent, action, .. } = work {
            self.agents[*agent].texts(&mut found);
            self.agents[*agent].actions[*action].texts(&mut found);
        }
        found
    }

    fn texts_of_agents<'a>(&'a self, found: &mut Vec<&'a TemplateText>) {
        for agent in &self.agents {
            agent.texts(found);
            agent.actions.iter().for_each(|action| action.texts(found));
        }
    }

    /// The folder of the file that an agent was read from, below that of the workflow's own.
    pub(crate) fn folder(&self, source: u16) -> FolderPath {
        self.sources.get(usize::from(source)).map_or_else(FolderPath::default, |file| file.path.parent())
    }
}
