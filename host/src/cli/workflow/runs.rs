//! `cofferdam workflow list`, `show` and `cancel`: runs that are kept, also beside a gateway that runs.

use crate::cli::call::this_user;
use crate::cli::run::no_such_run;
use crate::cli::{Exit, Output, runtime};
use crate::config::Config;
use crate::gateway;
use crate::workflows::RunLock;
use anyhow::Context as _;
use cofferdam_core::audit::{Event, Workflow, WorkflowState};
use cofferdam_core::text::{one_line, spelled_out_json};
use cofferdam_store::{self as store, KeptRun, RunState, Store};
use cofferdam_warden::audit::{AuditLog, Durability};
use serde_json::{Value, json};
use std::io::Write;

/// One run.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct One {
    /// The run's id; `cofferdam workflow list` tells them
    #[arg(value_name = "RUN")]
    pub(in crate::cli) run: String,
    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

/// A run that goes on.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Resumed {
    #[command(flatten)]
    pub(in crate::cli) one: One,
    /// Approve each of its calls that its policy wants a person to; without it the terminal is asked, and without one
    /// such a call is refused
    #[arg(long)]
    pub(in crate::cli) approve: bool,
}

/// The store, where there is one.
fn opened(config: &Config) -> anyhow::Result<Option<Store>> {
    let file = config.state_dir.join(store::FILE_NAME);
    if !file.try_exists().with_context(|| file.display().to_string())? {
        return Ok(None);
    }
    Ok(Some(store::open(&config.state_dir)?))
}

pub(super) fn list(config: &Config, output: Output) -> anyhow::Result<Exit> {
    let runs = match opened(config)? {
        Some(store) => runtime()?.block_on(store.listed_runs())?,
        None => Vec::new(),
    };
    let state = |run: &store::ListedRun| word(config, &run.run, run.state);
    let mut out = std::io::stdout().lock();
    if output.json {
        let runs: Vec<Value> = runs
            .iter()
            .map(|run| json!({ "run": run.run, "workflow": run.workflow, "state": state(run) }))
            .collect();
        writeln!(out, "{}", spelled_out_json(&json!({ "runs": runs }).to_string()))?;
        return Ok(Exit::Done);
    }
    for run in &runs {
        writeln!(out, "{}  {}", one_line(&run.run, 200), state(run))?;
    }
    Ok(Exit::Done)
}

pub(super) fn show(config: &Config, one: &One) -> anyhow::Result<Exit> {
    let kept = match opened(config)? {
        Some(store) => runtime()?.block_on(store.kept_run(&one.run))?,
        None => None,
    };
    let Some(kept) = kept else { return Ok(no_such_run(&one.run)) };
    print(config, &kept, one.output)?;
    Ok(Exit::Done)
}

pub(super) fn cancel(config: &Config, one: &One) -> anyhow::Result<Exit> {
    let Some(store) = opened(config)? else { return Ok(no_such_run(&one.run)) };
    let audit = AuditLog::open_with(&gateway::audit_file(config), &config.audit)?;
    let (cancelled, kept) = runtime()?.block_on(async {
        let cancelled = store.cancel_run(&one.run).await?;
        Ok::<_, anyhow::Error>((cancelled, store.kept_run(&one.run).await?))
    })?;
    let Some(kept) = kept else { return Ok(no_such_run(&one.run)) };
    if cancelled {
        let by = this_user("cli");
        let event = Workflow {
            run: kept.new.run.clone(),
            workflow: kept.new.workflow.clone(),
            file_sha256: kept.new.file_sha256.clone(),
            state: Some(WorkflowState::Cancelled),
            by: Some(format!("{}:{}", by.channel, by.sender)),
            task: None,
            attachments: None,
        };
        audit.append(Event::Workflow(event), Durability::Synced)?;
        // Nobody carries it out any more, unless its process is about to notice.
        if let Ok(Some(lock)) = RunLock::take(&config.state_dir, &one.run) {
            lock.end(&config.state_dir, &one.run);
        }
    }
    print(config, &kept, one.output)?;
    if !cancelled {
        crate::cli::tell(&format!("{} has ended already", one.run));
    }
    Ok(if cancelled { Exit::Done } else { Exit::ToolFailed })
}

/// A run, for people or programs.
pub(in crate::cli) fn print(config: &Config, kept: &KeptRun, output: Output) -> anyhow::Result<()> {
    let is_held = RunLock::is_held(&config.state_dir, &kept.new.run);
    let mut out = std::io::stdout().lock();
    if output.json {
        let mut line = line(kept, is_held);
        let by = &kept.new.by;
        line["by"] = format!("{}:{}", by.channel, by.sender).into();
        line["channel"] = by.channel.clone().into();
        line["file_sha256"] = kept.new.file_sha256.clone().into();
        writeln!(out, "{}", spelled_out_json(&line.to_string()))?;
        return Ok(());
    }
    writeln!(out, "{}  {}", one_line(&kept.new.run, 200), state_word(kept.state, is_held))?;
    for task in &kept.tasks {
        writeln!(out, "  {}  {}", one_line(&task.id, 80), task.state.as_str())?;
    }
    let told = kept.error.as_ref().or(kept.output.as_ref());
    told.map_or(Ok(()), |told| writeln!(out, "  {}", one_line(told, 2000)))?;
    Ok(())
}

fn word(config: &Config, run: &str, state: RunState) -> &'static str {
    state_word(state, state == RunState::Running && RunLock::is_held(&config.state_dir, run))
}

/// A run that nobody carries out is interrupted until somebody resumes it.
fn state_word(state: RunState, is_held: bool) -> &'static str {
    match state {
        RunState::Running if !is_held => "interrupted",
        state => state.as_str(),
    }
}

/// The one line of a run; `is_held` says whether somebody carries it out now.
pub(in crate::cli) fn line(kept: &KeptRun, is_held: bool) -> Value {
    let read = |text: &String| serde_json::from_str::<Value>(text).unwrap_or_default();
    let task = |task: &store::KeptTask| {
        let mut line = json!({ "id": task.id, "state": task.state.as_str() });
        if let Some(output) = &task.output {
            line["output"] = read(output);
        }
        if let Some(error) = &task.error {
            line["error"] = read(error);
        }
        line
    };
    let mut line = json!({
        "run": kept.new.run, "workflow": kept.new.workflow, "state": state_word(kept.state, is_held),
    });
    if let Some(output) = &kept.output {
        line["output"] = read(output);
    }
    if let Some(error) = &kept.error {
        line["error"] = read(error);
    }
    line["tasks"] = kept.tasks.iter().map(task).collect();
    line
}
