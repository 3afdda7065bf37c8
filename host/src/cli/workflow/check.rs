//! `cofferdam workflow check`: what a run would begin with, and what is wrong with its files;
//! contacts nothing.

use super::given::{RunInput, RunSettings};
use crate::cli::{Exit, errors};
use crate::config::Config;
use crate::gateway;
use crate::log;
use crate::workflows::{self, AttachableFolder, ByteSource, Gather, GatheredAttachment, Loaded, NO_MODEL};
use cofferdam_agent::llm::ProviderKind;
use cofferdam_agent::tools::{Registry, reason_off};
use cofferdam_core::path::GuestPath;
use cofferdam_core::text::escape_deceptive_json;
use cofferdam_core::tool::{ErrorCode, ToolError, wire_name};
use cofferdam_policy::{PolicySet, ToolPolicy};
use cofferdam_workflow::{PlannedWork, ReadyAttachment};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::PathBuf;
use tracing::Level;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(in crate::cli) struct Arguments {
    /// Workflow files: .yaml, .yml or .json
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    given: RunInput,
    #[command(flatten)]
    pub(in crate::cli) settings: RunSettings,
}

const EXAMPLE: &str = "One line of JSON for each file: its tasks, and what each agent would be shown. What needs the result of \
a task is shown as it is written, with \"deferred\": true. Exit codes: 0 sound; 2 a file or its input is wrong on paper, \
and stdout is empty; 3 problems, such as a missing file or tool.\nExample: cofferdam workflow check analyze.yaml --input dir=assets | jq .tasks";

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    let policies = gateway::load_policies(config.policies_dir.as_deref())
        .map_err(|problems| anyhow::Error::new(gateway::GatewayError::Policies(problems)))?;
    let mut checker = Checker { config, policies: &policies, tools: None };
    let mut checked = Vec::new();
    let mut refused = false;
    for file in &arguments.files {
        let loaded = workflows::load(file).map_err(anyhow::Error::new);
        match loaded.and_then(|loaded| checker.check(&loaded, &arguments.given)) {
            Ok(line) => checked.push(line),
            Err(error) => {
                refused = true;
                log::say(Level::ERROR, &errors::describe_error(&error));
            }
        }
    }
    if refused {
        return Ok(Exit::Usage);
    }
    let mut out = crate::cli::stdout();
    for line in &checked {
        writeln!(out, "{}", escape_deceptive_json(&line.to_string()))?;
    }
    let is_sound = checked.iter().all(|line| line.get("problems").is_none());
    Ok(if is_sound { Exit::Done } else { Exit::ProblemFound })
}

struct Checker<'a> {
    config: &'a Config,
    policies: &'a PolicySet,
    /// Descriptions of tools, once a file asks for them: they are the components' own words.
    tools: Option<Map<String, Value>>,
}

impl Checker<'_> {
    /// The line of a file, with its problems if it has any.
    fn check(&mut self, loaded: &Loaded, given: &RunInput) -> anyhow::Result<Value> {
        let workflow = &loaded.workflow;
        let run = format!("{}-check", workflow.id);
        let (_, plan) = given.plan(self.config, workflow, run, || self.describe_tools())?;
        let mut problems = Vec::new();
        if let Some(name) = workflow.on.command.as_ref().filter(|name| self.policy(name).is_some()) {
            let message = format!("/{name} is a tool; choose another name for the command of `on`");
            problems.push(json!({ "code": ErrorCode::AlreadyExists, "message": message, "task": null }));
        }
        if let Some(message) = workflow.schedule_problem() {
            problems.push(json!({ "code": ErrorCode::InvalidArguments, "message": message, "task": null }));
        }
        let mut tasks = Vec::new();
        for (task, planned) in workflow.tasks.iter().zip(&plan.tasks) {
            let (attachments, found) = self.task(loaded, planned);
            problems.extend(found.into_iter().map(
                |ToolError { code, message }| json!({ "code": code, "message": message, "task": task.id }),
            ));
            let attachments: Vec<_> = attachments.iter().map(attachment_json).collect();
            tasks.push(json!({ "id": task.id, "attachments": attachments }));
        }
        // No problem of the file, which is as sound under a configuration that has a model.
        if workflow.has_agent_tasks() && self.config.provider.kind == ProviderKind::Commands {
            log::say(Level::WARN, &format!("{}: {NO_MODEL}", workflow.sources[0].name));
        }
        let mut line = json!({ "workflow": workflow.id, "tasks": tasks });
        if !problems.is_empty() {
            line["problems"] = problems.into();
        }
        Ok(line)
    }

    fn task(&self, loaded: &Loaded, planned: &PlannedWork) -> (Vec<GatheredAttachment>, Vec<ToolError>) {
        match planned {
            PlannedWork::Tool { name, .. } => (Vec::new(), self.unusable(name).into_iter().collect()),
            PlannedWork::Send(_) | PlannedWork::Wait(_) | PlannedWork::Approve(_) => (Vec::new(), Vec::new()),
            PlannedWork::Agent(work) => {
                let agent = &loaded.workflow.agents[work.agent];
                let workspace = |path: &GuestPath| self.workspace(path);
                let limits = &self.config.workflow_attachments;
                let mut gather = Gather::new(&loaded.folder, limits, &workspace);
                for one in &work.attachments {
                    match one.item.clone() {
                        Some(item) => gather.gather(&ReadyAttachment {
                            scope: one.scope,
                            folder: one.folder.clone(),
                            group: one.group,
                            item,
                        }),
                        None => gather.defer(one),
                    }
                }
                let (gathered, mut problems) = gather.into_gathered();
                problems.extend(agent.tools.iter().filter_map(|name| self.unusable(name)));
                (gathered, problems)
            }
        }
    }

    /// A file of the workspace that is there already; an earlier task may make what is not.
    fn workspace(&self, path: &GuestPath) -> Option<Result<workflows::LocalFile, ToolError>> {
        if self.config.workspace.per_user {
            return None;
        }
        let mount = self.config.workspace.root.join(path.mount().trim_start_matches('/'));
        let opened = AttachableFolder::open(&mount).ok()?.file_of_mount(path);
        match opened {
            Err(workflows::LocalError::NotFound(_)) => None,
            opened => Some(opened.map_err(ToolError::from)),
        }
    }

    fn policy(&self, name: &str) -> Option<&ToolPolicy> {
        self.policies.get(&wire_name(name)).or_else(|| self.policies.get(name))
    }

    /// Why a call of the tool would be refused before anything of it runs.
    fn unusable(&self, name: &str) -> Option<ToolError> {
        let Some(policy) = self.policy(name) else {
            let message = format!("there is no tool {name}; `cofferdam tools` lists them");
            return Some(ToolError { code: ErrorCode::UnknownTool, message });
        };
        let why = reason_off(policy)?;
        Some(ToolError { code: ErrorCode::ToolUnavailable, message: format!("{name} is off: {why}") })
    }

    fn describe_tools(&mut self) -> anyhow::Result<Map<String, Value>> {
        if self.tools.is_none() {
            let registry = gateway::look(self.config)?;
            self.tools = Some(descriptions(&registry));
        }
        Ok(self.tools.clone().unwrap_or_default())
    }
}

/// What each tool that is there says of itself.
pub(in crate::cli) fn descriptions(registry: &Registry) -> Map<String, Value> {
    let of = |(name, tool): (&str, &cofferdam_agent::tools::Loaded)| {
        let tool = tool.as_ref().ok()?;
        Some((name.to_owned(), tool.description.summary.clone().into()))
    };
    registry.iter().filter_map(of).collect()
}

fn attachment_json(one: &GatheredAttachment) -> Value {
    let is_url = match &one.bytes {
        ByteSource::Unknown { is_path, .. } => !is_path,
        known => known.url().is_some(),
    };
    let mut line = json!({ "type": one.kind });
    line[if is_url { "url" } else { "path" }] = one.shown.clone().into();
    if let Some(name) = &one.name {
        line["name"] = name.clone().into();
    }
    if let Some(meta) = &one.meta {
        line["meta"] = Value::Object(meta.clone());
    }
    if let Some(mime_type) = &one.mime_type {
        line["mime_type"] = mime_type.clone().into();
    }
    line["deferred"] = matches!(one.bytes, ByteSource::Unknown { deferred: true, .. }).into();
    line["scopes"] = one.scopes.iter().map(|scope| scope.name()).collect();
    line
}
