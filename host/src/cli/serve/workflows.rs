//! Runs of workflows beside the channels: what carries them out, and what the files of
//! `[workflows] dir` offer.

use super::super::workflow::{descriptions, redact_variables};
use crate::config::Config;
use crate::gateway::{self, Gateway};
use crate::workflows::{Catalog, Executor};
use cofferdam_agent::turn::Provider;
use cofferdam_chat::runs::Runs;
use cofferdam_chat::setup::{MenuEntry, MenuTool};
use cofferdam_store::Store;
use cofferdam_workflow::Context;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Carries runs out as this configuration has it; without `runs` no people are reached.
pub(in crate::cli) fn executor(
    config: &Config,
    gateway: &Gateway,
    provider: Arc<dyn Provider>,
    (store, runs): (&Store, Option<&Runs>),
    stop: &CancellationToken,
) -> Executor {
    Executor {
        toolbox: gateway.toolbox.clone(),
        warden: gateway.warden.clone(),
        blobs: gateway.blobs.clone(),
        provider,
        accepts: config.provider.accepted_types(),
        turns: config.turns,
        limits: config.workflow_attachments.clone(),
        deadline: config.workflows.run_deadline,
        max_open: config.workflows.max_open,
        store: store.clone(),
        approver: None,
        people: runs.cloned(),
        stop: stop.clone(),
        replaced: CancellationToken::new(),
    }
}

pub(super) fn channels(config: &Config) -> Vec<&'static str> {
    gateway::channels(config).iter().map(|channel| channel.name).collect()
}

/// What every run begins with, but for what is its own.
pub(super) fn prepare_context(config: &Config, gateway: &Gateway, catalog: &Catalog) -> Context {
    let names_tools = catalog.offered.iter().any(|one| one.workflow.names_tools());
    let tools = if names_tools { descriptions(gateway.toolbox.registry()) } else { Default::default() };
    Context { env: redact_variables(&config.workflows.env), tools, ..Context::default() }
}

/// The commands that begin runs, as menus show them.
pub(super) fn menu(catalog: &Catalog) -> Vec<MenuEntry> {
    let entry = |one: &crate::workflows::OfferedWorkflow| {
        let name = one.workflow.on.command.clone()?;
        let summary =
            one.workflow.description.clone().unwrap_or_else(|| format!("Begin {}", one.workflow.id));
        // No profile is called so: where only some may be called, no workflow is begun.
        let tool = MenuTool {
            profile: "/".to_owned(),
            arguments: one.workflow.input.schema.clone(),
            takes_files: false,
        };
        Some(MenuEntry { name, summary, tool: Some(tool) })
    };
    catalog.offered.iter().filter_map(entry).collect()
}
