//! What `serve` needs before its first poll, in its order: `serve` goes on with it, and `doctor`
//! only looks. Both pass through the same steps, so that the two cannot disagree.

use super::channels::Channels;
use super::check_groups;
use crate::config::{Config, FILE_NAME};
use crate::gateway::{self, Gateway, PreparePurpose, ServeLock};
use crate::monitor::Monitor;
use crate::workflows::Catalog;
use anyhow::{Context, anyhow};
use cofferdam_agent::llm::{self, Answering};
use cofferdam_agent::server::UnusableKey;
use cofferdam_agent::tools::Registry;
use cofferdam_agent::voice::Voice;
use cofferdam_store::{DatabaseView, Store};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum PrepareStep {
    /// There is something to serve.
    Channel,
    Token,
    /// The model, its key and its instructions.
    Provider,
    /// The state is this process's own.
    State,
    /// Where anyone who watches may ask.
    Monitor,
    /// Policies, workspace, audit, sandbox.
    Gateway,
    /// The files of `[workflows] dir`.
    Workflows,
    /// What groups may do.
    Groups,
    Database,
}

/// Tells of an error in which step it came.
fn failed<E: Into<anyhow::Error>>(step: PrepareStep) -> impl FnOnce(E) -> (PrepareStep, anyhow::Error) {
    move |error| (step, error.into())
}

/// What is taken before the process is confined.
pub(in crate::cli) struct OpenedOutside {
    pub(super) channels: Channels,
    pub(super) answering: Answering,
    pub(super) voice: Voice,
    /// None for those who only look.
    pub(super) lock: Option<ServeLock>,
    pub(super) monitor: Option<Monitor>,
    pub(super) catalog: Arc<Catalog>,
}

/// Takes what a confined process no longer reaches.
pub(in crate::cli) fn open_outside(
    config: &Config,
    purpose: PreparePurpose,
) -> Result<OpenedOutside, (PrepareStep, anyhow::Error)> {
    if config.telegram.is_none() && config.discord.is_none() {
        return Err(failed(PrepareStep::Channel)(anyhow!(
            "no channel is configured; run `cofferdam init` and fill in [channels.telegram] or [channels.discord] of {FILE_NAME}"
        )));
    }
    let channels = Channels::open(config, |_| true).map_err(failed(PrepareStep::Token))?;
    let answering =
        llm::open(&config.provider).context("[provider]").map_err(failed(PrepareStep::Provider))?;
    let voice = Voice::open(&config.transcription, &config.speech);
    let voice = voice.map_err(|error| {
        let section = format!("[{}]", error.section);
        failed(PrepareStep::Provider)(anyhow::Error::new(error).context(section))
    })?;
    let lock = match purpose {
        PreparePurpose::Serve => ServeLock::take(config).map(Some),
        PreparePurpose::Look => ServeLock::check_free(config).map(|()| None),
    };
    let lock = lock.map_err(failed(PrepareStep::State))?;
    let unusable = |said: String| UnusableKey::new("metrics", "listen", format!("[metrics] {said}"));
    let monitor = match purpose {
        PreparePurpose::Serve => Monitor::bind(&config.metrics),
        PreparePurpose::Look => {
            let is_ours = |address| {
                gateway::find_serving_process(config).is_some_and(|pid| gateway::is_listening(pid, address))
            };
            Monitor::check_bind(&config.metrics, is_ours).map(|()| None)
        }
    };
    let monitor = monitor.map_err(unusable).map_err(failed(PrepareStep::Monitor))?;
    let catalog = Catalog::load(config.workflows.dir.as_deref()).map_err(failed(PrepareStep::Workflows))?;
    Ok(OpenedOutside { channels, answering, voice, lock, monitor, catalog: Arc::new(catalog) })
}

/// Checks what depends on the tools, and opens the database as the node that this is.
pub(super) fn open_inside(
    gateway: &Gateway,
    config: &Config,
    catalog: &Catalog,
) -> Result<Store, (PrepareStep, anyhow::Error)> {
    let registry = gateway.toolbox.registry();
    check_groups(config, registry).map_err(failed(PrepareStep::Groups))?;
    check_workflows(config, registry, catalog).map_err(failed(PrepareStep::Workflows))?;
    let open = || {
        let store = Store::open(&config.store.location).context("cannot open the database")?;
        store.join(&gateway::cluster_node(config)?)?;
        if store.has_homes() {
            let people =
                gateway.warden.workspaces().people().context("whose files are here cannot be read")?;
            store.note_homes(&people)?;
        }
        anyhow::Ok(store)
    };
    open().map_err(failed(PrepareStep::Database))
}

fn check_workflows(config: &Config, registry: &Registry, catalog: &Catalog) -> anyhow::Result<()> {
    let tools = registry.iter().map(|(name, _)| name);
    catalog.check_addresses(&config.workflow_attachments)?;
    Ok(catalog.check_beside(tools, &super::workflows::channels(config), config.provider.kind)?)
}

/// Looks whether `serve` would come to its first poll; `registry` has the tools as it would load
/// them, if it could.
pub(in crate::cli) fn look(
    config: &Config,
    registry: Option<&Registry>,
) -> Result<(), (PrepareStep, anyhow::Error)> {
    let OpenedOutside { catalog, .. } = open_outside(config, PreparePurpose::Look)?;
    Gateway::check_open(config).map_err(failed(PrepareStep::Gateway))?;
    if let Some(registry) = registry {
        check_groups(config, registry).map_err(failed(PrepareStep::Groups))?;
        check_workflows(config, registry, &catalog).map_err(failed(PrepareStep::Workflows))?;
    }
    let opened = DatabaseView::check_open(&config.store.location).context("cannot open the database");
    opened.map_err(failed(PrepareStep::Database))
}
