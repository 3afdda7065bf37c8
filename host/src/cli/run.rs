//! `cofferdam run`: carries a workflow out here, and prints one line of JSON.

use super::Exit;
use super::approving::RunApprovals;
use super::call::{print_line, this_user};
use super::serve::{self, cancelled_by_signals};
use super::workflow::{RunCommand, RunInput, RunSettings, descriptions, line, print};
use crate::config::Config;
use crate::gateway::{self, Gateway, ReadScope, Role};
use crate::workflows::{self, Catalog, Executor, Loaded, NO_MODEL, PreparedRun, RunLock};
use anyhow::{Context as _, bail};
use cofferdam_agent::llm::{self, ProviderKind};
use cofferdam_core::audit::WorkflowState;
use cofferdam_store::{DatabaseView, KeptRun, NewRun, RunOwner, RunState, Store};
use cofferdam_workflow::RunPlan;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Arguments {
    /// The workflow: a .yaml, .yml or .json file, or the id of one in [workflows] dir
    #[arg(value_name = "FILE|ID")]
    file: PathBuf,
    #[command(flatten)]
    given: RunInput,
    /// Approve each of its calls that its policy wants a person to; without it the terminal is
    /// asked, and without one such a call is refused
    #[arg(long)]
    approve: bool,
    #[command(flatten)]
    pub(super) settings: RunSettings,
}

const EXAMPLE: &str = "Each result is kept before the next task begins: a run that was cut off goes on with `cofferdam \
workflow resume RUN`. Every call is judged as in a turn. Exit codes: 0 done; 1 failed or interrupted; 2 the file, the input \
or the configuration is wrong, and nothing began; 4 it waits for a person, and `cofferdam serve` goes on with it.\nExample: cofferdam run publish.yaml --input path=/shared/draft.txt | jq .output";

pub(super) fn run(config: &Config, arguments: &Arguments) -> anyhow::Result<Exit> {
    let loaded = find_workflow(config, &arguments.file)?;
    let workflow = &loaded.workflow;
    let by = this_user("cli");
    let id = format!("{}-{}", workflow.id, crate::unique());
    let (context, plan) =
        arguments.given.plan(config, workflow, id, || Ok(descriptions(&gateway::look(config)?)))?;
    let new = workflows::new_run(&plan, &context, loaded.dir.clone(), &by);
    let (folder, file_sha256) = (Ok(loaded.folder), new.file_sha256.clone());
    let run = PreparedRun { id: context.run, plan, folder, by, session: None, file_sha256 };
    let host = RunHost::open(config, &provider(config, &run.plan)?, &loaded.dir)?;
    let Some(lock) = RunLock::take(&config.state_dir, &run.id).context("cannot lock the run")? else {
        bail!("another process carries out a run of this id; try again");
    };
    let kept = super::block_on(async {
        let approvals = RunApprovals::new(config, arguments.approve)?;
        let executor = host.executor(config, cancelled_by_signals()?, &approvals);
        begin(&executor, &run, new).await?;
        Ok(approvals.run_while_asking(executor.run_to_end(&run)).await??)
    })?;
    let exit = end(config, &run, lock, &kept);
    print_line(&line(&kept, false), exit)
}

/// The workflow of a file; or of this id, where no file is meant.
fn find_workflow(config: &Config, file: &Path) -> anyhow::Result<Loaded> {
    let id = file.to_str().filter(|id| file.extension().is_none() && !id.contains('/'));
    let Some(id) = id.filter(|_| !file.exists()) else { return Ok(workflows::load(file)?) };
    let Some(dir) = &config.workflows.dir else {
        bail!(
            "{id}: there is no such file, and no [workflows] dir whose workflows have ids; name a file such as {id}.yaml"
        );
    };
    let catalog = Catalog::load(Some(dir))?;
    let Some(offered) = catalog.by_id(id) else {
        let ids: Vec<&str> = catalog.offered.iter().map(|one| one.workflow.id.as_str()).collect();
        let there = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        bail!("{id}: there is no such workflow in {}; there is {there}", dir.display());
    };
    Ok(workflows::load(&offered.file)?)
}

/// Goes on with a run that was cut off or failed.
pub(super) fn resume(config: &Config, one: &RunCommand, approve: bool) -> anyhow::Result<Exit> {
    let id = one.run.as_str();
    let Some(dir) = find_run_folder(config, id)? else { return Ok(report_no_run(id)) };
    // What it needs is read before the process is confined; the run itself is read from the store.
    let host = RunHost::open(config, &config.provider, &dir)?;
    let Some(lock) = RunLock::take(&config.state_dir, id).context("cannot lock the run")? else {
        super::tell(&format!("another process carries out {id} now"));
        return Ok(Exit::ToolFailed);
    };
    let (run, kept) = super::block_on(async {
        let kept = host.store.load_run(id).await?;
        let kept = kept.ok_or_else(|| anyhow::anyhow!("the run {id} is no longer kept"))?;
        let run = workflows::take_up(&kept)?;
        if run.plan.workflow().has_agent_tasks() && config.provider.kind == ProviderKind::Commands {
            bail!("{id}: {NO_MODEL}");
        }
        let is_serves = kept.state == RunState::Running && kept.new.owner == RunOwner::Serve;
        if is_serves || !matches!(kept.state, RunState::Running | RunState::Failed) {
            if kept.state == RunState::Cancelled {
                super::tell(&format!(
                    "{id} was cancelled and does not go on; `cofferdam run` begins another one"
                ));
            }
            return Ok((run, kept));
        }
        let approvals = RunApprovals::new(config, approve)?;
        let executor = host.executor(config, cancelled_by_signals()?, &approvals);
        if let Some(node) = executor.store.run_elsewhere(id).await? {
            bail!("node {node} has the files of {id}; resume it there");
        }
        if kept.state == RunState::Failed && kept.is_unnoted {
            // Its process was killed before it had written that down.
            executor.note(&run, WorkflowState::Failed, None)?;
            executor.store.end_noted(id).await?;
        }
        executor.note(&run, WorkflowState::Resumed, Some(&this_user("cli")))?;
        executor.store.reopen_run(id).await?;
        let kept = approvals.run_while_asking(executor.run_to_end(&run)).await??;
        Ok((run, kept))
    })?;
    let exit = end(config, &run, lock, &kept);
    print(config, &kept, one.output)?;
    Ok(exit)
}

/// The folder of a kept run's files; none where no such run is kept.
fn find_run_folder(config: &Config, id: &str) -> anyhow::Result<Option<PathBuf>> {
    let Some(look) = DatabaseView::open(&config.store.location)? else { return Ok(None) };
    let Some(began_with) = look.load_beginning(id)? else { return Ok(None) };
    let began: Value = serde_json::from_str(&began_with).context("what was kept of the run")?;
    if began["trigger"]["kind"] == "turn" {
        bail!(
            "{id} belongs to a request of a chat, which goes on by itself; `cofferdam workflow cancel` ends it"
        );
    }
    Ok(began["dir"].as_str().map(PathBuf::from))
}

/// To an id that nothing is kept of.
pub(super) fn report_no_run(id: &str) -> Exit {
    super::tell(&format!("there is no run {id}; `cofferdam workflow list` tells which there are"));
    Exit::ToolFailed
}

/// The audit first: of what began there is a record, however it ends.
async fn begin(executor: &Executor, run: &PreparedRun, new: NewRun) -> anyhow::Result<()> {
    executor.note(run, WorkflowState::Started, Some(&run.by))?;
    let max_open = executor.max_open;
    if executor.store.begin_run(new, max_open).await? {
        return Ok(());
    }
    executor.note(run, WorkflowState::Failed, None)?;
    bail!(
        "[workflows] max_open = {max_open}, and so many runs are open; resume or cancel some: `cofferdam workflow list`"
    )
}

/// What a run comes to here; its lock goes with it.
fn end(config: &Config, run: &PreparedRun, lock: RunLock, kept: &KeptRun) -> Exit {
    match kept.state {
        RunState::Running => drop(lock),
        RunState::Done | RunState::Failed | RunState::Cancelled => lock.end(&config.state_dir, &run.id),
    }
    match kept.state {
        RunState::Done => Exit::Done,
        RunState::Running if kept.new.owner == RunOwner::Serve => Exit::Waits,
        RunState::Failed | RunState::Cancelled | RunState::Running => Exit::ToolFailed,
    }
}

/// The model that a run asks.
fn provider(config: &Config, plan: &RunPlan) -> anyhow::Result<llm::Config> {
    match plan.workflow().has_agent_tasks() {
        true if config.provider.kind == ProviderKind::Commands => {
            bail!("{}: {NO_MODEL}", plan.workflow().sources[0].name)
        }
        true => Ok(config.provider.clone()),
        // Nobody is asked, so no key is needed.
        false => Ok(llm::Config::default()),
    }
}

/// What carries runs out in this process.
struct RunHost {
    gateway: Gateway,
    store: Store,
    answering: llm::Answering,
}

impl RunHost {
    fn open(config: &Config, provider: &llm::Config, dir: &Path) -> anyhow::Result<Self> {
        gateway::check_account(config)?;
        let answering = llm::open(provider).context("[provider]")?;
        gateway::confine(config, ReadScope::Listed(&[dir.to_owned()]))?;
        let gateway = Gateway::open(config, Role::Beside)?;
        Ok(Self { gateway, store: Store::open(&config.store.location)?, answering })
    }

    /// Called within the runtime.
    fn executor(&self, config: &Config, stop: CancellationToken, approvals: &RunApprovals) -> Executor {
        tokio::spawn(self.store.downgrade().stop_asking_at(stop.clone()));
        let (provider, kept) = (self.answering.provider.clone(), (&self.store, None));
        let executor = serve::workflows::executor(config, &self.gateway, provider, kept, &stop);
        Executor { approver: approvals.approver.clone(), ..executor }
    }
}
