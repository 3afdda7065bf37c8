//! `cofferdam workflow list`, `show` and `cancel`: runs that are kept, also beside a gateway that
//! runs.

use crate::cli::call::this_user;
use crate::cli::run::report_no_run;
use crate::cli::{Exit, Output, allow, runtime};
use crate::config::Config;
use crate::gateway;
use crate::workflows::{RunLock, describe_end, end_of, trigger_of};
use anyhow::bail;
use cofferdam_core::audit::AuditEvent;
use cofferdam_core::text::{escape_deceptive_json, one_line};
use cofferdam_store::{DatabaseView, KeptRun, KeptTask, ListedRun, RunOwner, RunState, Store};
use cofferdam_warden::audit::Durability;
use serde_json::{Value, json};
use std::io::Write;

/// One run.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunCommand {
    /// The run's id; `cofferdam workflow list` tells them
    pub(in crate::cli) run: String,
    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

/// The store, where there is one. A gateway of the release before may be at its tables, so they
/// stay as they are.
fn open_as_it_is(config: &Config) -> anyhow::Result<Option<Store>> {
    let look = DatabaseView::open(&config.store.location)?;
    let known = config.store.location.version_known();
    match look.map(|look| look.version()) {
        None | Some(0) => Ok(None),
        Some(found) if found < known => bail!(
            "the database has version {found}, of an older release, and this command leaves its tables as they are; stop \
             what runs of that release, then run `cofferdam store migrate`, which brings it to version {known}"
        ),
        Some(_) => Ok(Some(Store::open(&config.store.location)?)),
    }
}

pub(super) fn list(config: &Config, output: Output) -> anyhow::Result<Exit> {
    let runs = match open_as_it_is(config)? {
        Some(store) => runtime()?.block_on(store.list_runs())?,
        None => Vec::new(),
    };
    let state = |run: &ListedRun| {
        let is_held = run.state == RunState::Running && RunLock::is_held(&config.state_dir, &run.run);
        state_word(run.state, (run.owner, run.waits), is_held)
    };
    let mut out = crate::cli::stdout();
    if output.json {
        let runs: Vec<Value> = runs
            .iter()
            .map(|run| json!({ "run": run.run, "workflow": run.workflow, "state": state(run) }))
            .collect();
        writeln!(out, "{}", escape_deceptive_json(&json!({ "runs": runs }).to_string()))?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        crate::cli::tell("no run is kept");
    }
    for run in &runs {
        writeln!(out, "{}  {}", one_line(&run.run, 200), state(run))?;
    }
    Ok(Exit::Done)
}

pub(super) fn show(config: &Config, one: &RunCommand) -> anyhow::Result<Exit> {
    let kept = match open_as_it_is(config)? {
        Some(store) => runtime()?.block_on(store.load_run(&one.run))?,
        None => None,
    };
    let Some(kept) = kept else { return Ok(report_no_run(&one.run)) };
    print(config, &kept, one.output)?;
    Ok(Exit::Done)
}

pub(super) fn cancel(config: &Config, one: &RunCommand) -> anyhow::Result<Exit> {
    gateway::check_account(config)?;
    let Some(store) = open_as_it_is(config)? else { return Ok(report_no_run(&one.run)) };
    let audit = gateway::open_audit(config)?;
    let runtime = runtime()?;
    let (cancelled, kept) = runtime.block_on(async {
        let cancelled = store.cancel_run(&one.run, Some(&this_user("cli"))).await?;
        Ok::<_, anyhow::Error>((cancelled, store.load_run(&one.run).await?))
    })?;
    let Some(kept) = kept else { return Ok(report_no_run(&one.run)) };
    // Also where the one who cancelled it before was killed here.
    let ended = end_of(&kept).filter(|_| kept.state == RunState::Cancelled && kept.is_unnoted);
    if let Some(ended) = ended {
        audit.append(AuditEvent::Workflow(ended), Durability::Synced)?;
        // It is cancelled, and the audit has it: `serve` writes it down once more, at worst.
        if let Err(error) = runtime.block_on(store.end_noted(&one.run)) {
            tracing::warn!(%error, "the end of a run comes to be in the audit twice");
        }
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
    let mut out = crate::cli::stdout();
    if output.json {
        let mut line = line(kept, is_held);
        let by = &kept.new.by;
        line["by"] = by.to_string().into();
        line["channel"] = by.channel.clone().into();
        line["file_sha256"] = kept.new.file_sha256.clone().into();
        let trigger = trigger_of(kept);
        for key in ["session", "request"] {
            if let Some(text) = trigger[key].as_str() {
                line[key] = text.into();
            }
        }
        let waiting = kept.tasks.iter().find_map(|task| Some((task, task.waits.as_ref()?)));
        if let Some((task, waits)) = waiting {
            let (from, until) = (&waits.from, allow::time(waits.until));
            line["waiting"] = json!({ "task": task.id, "from": from, "until": until });
        }
        writeln!(out, "{}", escape_deceptive_json(&line.to_string()))?;
        return Ok(());
    }
    writeln!(out, "{}  {}", one_line(&kept.new.run, 200), state_of(kept, is_held))?;
    for task in &kept.tasks {
        let waits = task.waits.as_ref().map_or_else(String::new, |waits| {
            format!(" for {} until {}", one_line(&waits.from, 80), allow::time(waits.until))
        });
        writeln!(out, "  {}  {}{waits}", one_line(&task.id, 80), task_word(task))?;
    }
    let told = match kept.state {
        RunState::Failed => Some(describe_end(kept)),
        _ => kept.error.as_ref().or(kept.output.as_ref()).cloned(),
    };
    told.map_or(Ok(()), |told| writeln!(out, "  {}", one_line(&told, 2000)))?;
    Ok(())
}

/// A run of a command that nobody carries out is interrupted until somebody resumes it; one of
/// `serve` waits for people, or for `serve`.
fn state_word(state: RunState, (owner, waits): (RunOwner, bool), is_held: bool) -> &'static str {
    match (state, owner) {
        (RunState::Running, RunOwner::Serve) if waits || !is_held => "waiting",
        // The turn that it belongs to goes on, or somebody is waited for.
        (RunState::Running, RunOwner::Turn) if waits => "waiting",
        (RunState::Running, RunOwner::Command) if !is_held => "interrupted",
        (state, _) => state.as_str(),
    }
}

/// The same of a run with its tasks.
fn state_of(kept: &KeptRun, is_held: bool) -> &'static str {
    let waits = kept.tasks.iter().any(|task| task.waits.is_some());
    state_word(kept.state, (kept.new.owner, waits), is_held)
}

/// `waiting` while it waits for somebody.
fn task_word(task: &KeptTask) -> &'static str {
    if task.waits.is_some() { "waiting" } else { task.state.as_str() }
}

/// The one line of a run; `is_held` says whether somebody carries it out now.
pub(in crate::cli) fn line(kept: &KeptRun, is_held: bool) -> Value {
    let add_end = |line: &mut Value, output: &Option<String>, error: &Option<String>| {
        for (key, text) in [("output", output), ("error", error)] {
            if let Some(text) = text {
                line[key] = serde_json::from_str(text).unwrap_or_default();
            }
        }
    };
    let task = |task: &KeptTask| {
        let mut line = json!({ "id": task.id, "state": task_word(task) });
        add_end(&mut line, &task.output, &task.error);
        line
    };
    let mut line = json!({
        "run": kept.new.run, "workflow": kept.new.workflow, "state": state_of(kept, is_held),
    });
    add_end(&mut line, &kept.output, &kept.error);
    line["tasks"] = kept.tasks.iter().map(task).collect();
    line
}
