//! A run on paper: phase one renders what needs no tasks, phase two the rest of one task just
//! before it begins.

mod agents;
mod attachments;
mod people;

pub use attachments::{PlannedAttachment, ReadyAttachment};
pub use people::{ReadyApprove, ReadySend, ReadyWait};

use crate::attachment::{DeclaringScope as DeclaredIn, FolderPath};
use crate::file::{
    ApproveWork, DeclaredAttachment, SendWork, TaskWork, TemplateText, TemplateValue, WaitWork, Workflow,
    locate,
};
use crate::problem::{FileFault, FileProblem};
use crate::template::{Expression, RenderScope, Template, ValuePath, ValueRoot};
use agents::{depends_on_outputs, known_value};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a run begins with. It is kept with the run: what is rendered of it later is the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The run's id.
    pub run: String,
    /// The input, complete.
    pub input: Value,
    /// Each variable that the operator lists; null where it is not set.
    pub env: Map<String, Value>,
    /// Who or what began it.
    pub trigger: Value,
    /// Each tool that is there, with its description.
    pub tools: Map<String, Value>,
}

/// A run after phase one.
#[derive(Clone, Debug)]
pub struct RunPlan {
    workflow: Arc<Workflow>,
    scope: RenderScope,
    /// What each task of the workflow does, in order.
    pub tasks: Vec<PlannedWork>,
    output: Option<TemplateValue>,
}

/// What a task does, after phase one.
#[derive(Clone, Debug)]
pub enum PlannedWork {
    /// Asks an agent.
    Agent(Box<AgentWork>),
    /// Calls a tool.
    Tool {
        /// As it is written.
        name: String,
        /// Its arguments.
        with: PlannedArguments,
    },
    /// Sends a message of its own.
    Send(SendWork),
    /// Waits for the reply to a message.
    Wait(WaitWork),
    /// Asks a person.
    Approve(ApproveWork),
}

impl PlannedWork {
    /// Whether only a gateway that serves can do it: it reaches people.
    pub fn needs_people(&self) -> bool {
        matches!(self, Self::Send(_) | Self::Wait(_) | Self::Approve(_))
    }
}

/// Arguments of a tool after phase one.
#[derive(Clone, Debug)]
pub struct PlannedArguments(TemplateValue);

/// An agent's task after phase one.
#[derive(Clone, Debug)]
pub struct AgentWork {
    /// Which of the workflow's agents.
    pub agent: usize,
    /// Which of its actions.
    pub action: usize,
    with: Option<TemplateValue>,
    instructions: Option<TemplateText>,
    prompt: TemplateText,
    /// What it is shown, in order: the task's, the agent's, the action's; one for each address or
    /// path.
    pub attachments: Vec<PlannedAttachment>,
}

/// What an agent is asked, with everything put in.
#[derive(Clone, Debug)]
pub struct ReadyAgent {
    /// What the operator tells it.
    pub instructions: String,
    /// What it is asked.
    pub prompt: String,
    /// What it is shown, in order.
    pub attachments: Vec<ReadyAttachment>,
}

impl RunPlan {
    /// Phase one.
    ///
    /// # Errors
    /// [`FileProblem`]; then nothing began.
    pub fn begin(workflow: Arc<Workflow>, context: &Context) -> Result<Self, FileProblem> {
        let scope = base(&workflow, context);
        let (tasks, output) = workflow.plan(&scope).map_err(|fault| locate(&workflow.sources, fault))?;
        Ok(Self { workflow, scope, tasks, output })
    }

    /// The workflow.
    pub fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }

    /// The id of a task, by its place.
    pub fn task_id(&self, n: usize) -> &str {
        &self.workflow.tasks[n].id
    }

    /// The arguments of a tool's task. `outputs` has those of the tasks that are done, by their
    /// ids.
    ///
    /// # Errors
    /// [`FileProblem`].
    pub fn arguments(
        &self,
        with: &PlannedArguments,
        outputs: &Map<String, Value>,
    ) -> Result<Value, FileProblem> {
        self.finish(outputs, |scope| with.0.finish(&scope, TemplateText::render_value))
    }

    /// What the run answers, once all its tasks are done.
    ///
    /// # Errors
    /// [`FileProblem`].
    pub fn output(&self, outputs: &Map<String, Value>) -> Result<Value, FileProblem> {
        match &self.output {
            Some(tree) => self.finish(outputs, |scope| tree.finish(&scope, TemplateText::render_value)),
            None => {
                let last = self.workflow.tasks.last().and_then(|task| outputs.get(&task.id));
                Ok(last.cloned().unwrap_or_default())
            }
        }
    }

    /// Phase two of something, after the tasks with these outputs.
    fn finish<T>(
        &self,
        outputs: &Map<String, Value>,
        finish: impl FnOnce(RenderScope) -> Result<T, FileFault>,
    ) -> Result<T, FileProblem> {
        let tasks = outputs.iter().map(|(id, output)| (id.clone(), json!({ "output": output })));
        let scope = self.scope.clone().with(ValueRoot::Tasks, Value::Object(tasks.collect()));
        finish(scope).map_err(|fault| locate(&self.workflow.sources, fault))
    }
}

fn base(workflow: &Workflow, context: &Context) -> RenderScope {
    let described = |description: Value| json!({ "description": description });
    let agents = workflow.agents.iter().map(|agent| (agent.id.clone(), described(json!(agent.description))));
    let tools = context.tools.iter().map(|(name, text)| (name.clone(), described(text.clone())));
    let own = json!({ "id": workflow.id, "run": context.run, "input": context.input });
    RenderScope::default()
        .with(ValueRoot::Workflow, own)
        .with(ValueRoot::Input, context.input.clone())
        .with(ValueRoot::Env, Value::Object(context.env.clone()))
        .with(ValueRoot::Trigger, context.trigger.clone())
        .with(ValueRoot::Agents, Value::Object(agents.collect()))
        .with(ValueRoot::Tools, Value::Object(tools.collect()))
}

/// Phase one.
impl Workflow {
    /// All tasks and the output.
    fn plan(&self, scope: &RenderScope) -> Result<(Vec<PlannedWork>, Option<TemplateValue>), FileFault> {
        let line = |text: &TemplateText| text.settle(scope, &Template::names_tasks);
        let person = |text: &TemplateText| text.settle_checked(scope, TemplateText::recipient);
        let span = |text: &TemplateText| text.settle_checked(scope, TemplateText::timeout);
        let value =
            |tree: &TemplateValue| tree.settle(scope, &Template::names_tasks, TemplateText::render_value);
        let mut tasks = Vec::new();
        for task in &self.tasks {
            tasks.push(match &task.work {
                TaskWork::Agent { agent, action, with, attachments } => {
                    let with = with.as_ref().map(value).transpose()?;
                    let planned = self.plan_agent(scope, (*agent, *action), with, attachments)?;
                    PlannedWork::Agent(Box::new(planned))
                }
                TaskWork::Tool { name, with } => {
                    PlannedWork::Tool { name: name.clone(), with: PlannedArguments(value(with)?) }
                }
                TaskWork::Send(SendWork { to, text, files }) => PlannedWork::Send(SendWork {
                    to: person(to)?,
                    text: line(text)?,
                    files: files.iter().map(line).collect::<Result<_, _>>()?,
                }),
                TaskWork::Wait(WaitWork { reply_to, timeout, otherwise }) => PlannedWork::Wait(WaitWork {
                    reply_to: *reply_to,
                    timeout: span(timeout)?,
                    otherwise: otherwise.as_ref().map(line).transpose()?,
                }),
                TaskWork::Approve(ApproveWork { from, text, timeout }) => PlannedWork::Approve(ApproveWork {
                    from: from.as_ref().map(person).transpose()?,
                    text: line(text)?,
                    timeout: span(timeout)?,
                }),
            });
        }
        Ok((tasks, self.output.as_ref().map(value).transpose()?))
    }

    /// A task of an agent, whose `with` is planned.
    fn plan_agent(
        &self,
        scope: &RenderScope,
        (agent_at, action_at): (usize, usize),
        with: Option<TemplateValue>,
        of_task: &[DeclaredAttachment],
    ) -> Result<AgentWork, FileFault> {
        let agent = &self.agents[agent_at];
        let action = &agent.actions[action_at];
        let mut scope = scope.clone();
        if let Some(with) = &with {
            scope = scope.with(ValueRoot::Input, known_value(with));
        }
        let depends =
            |expression: &Expression| with.as_ref().is_some_and(|with| depends_on_outputs(with, expression));
        let waits = |template: &Template| template.names_tasks() || template.expressions().any(depends);
        let text = |text: &TemplateText| text.settle(&scope, &waits);
        let (own, theirs) = (FolderPath::default(), self.folder(agent.source));
        let scopes = [
            (DeclaredIn::Task, own, of_task),
            (DeclaredIn::Agent, theirs.clone(), &agent.attachments[..]),
            (DeclaredIn::Action, theirs, &action.attachments[..]),
        ];
        let mut attachments = Vec::new();
        let mut group = 0;
        for (declared_in, folder, declared) in scopes {
            for one in declared {
                group += 1;
                for source in &one.sources {
                    let declared = one.settle(source, &scope, &waits)?;
                    let item = if declared.is_ready() { Some(declared.item(&scope)?) } else { None };
                    let (folder, origin) = (folder.clone(), one.origin);
                    let scope = declared_in;
                    attachments.push(PlannedAttachment { scope, folder, group, origin, item, declared });
                }
            }
        }
        Ok(AgentWork {
            agent: agent_at,
            action: action_at,
            instructions: agent.instructions.as_ref().map(text).transpose()?,
            prompt: text(&action.prompt)?,
            with,
            attachments,
        })
    }
}

impl Workflow {
    /// Whether a template names tools, whose descriptions are then needed.
    pub fn names_tools(&self) -> bool {
        self.paths().iter().any(|path| path.root == ValueRoot::Tools)
    }

    /// The variables that its templates name.
    pub fn variables(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .paths()
            .into_iter()
            .filter(|path| path.root == ValueRoot::Env)
            .filter_map(|path| path.key(0).map(str::to_owned))
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// What its templates name.
    fn paths(&self) -> Vec<&ValuePath> {
        let mut texts = Vec::new();
        self.texts(&mut texts);
        texts.into_iter().flat_map(|text| text.template.expressions()).map(|e| &e.path).collect()
    }
}
