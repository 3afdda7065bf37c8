//! `cofferdam serve`: the gateway with its channels, until SIGINT or SIGTERM.

use super::Exit;
use crate::channels::telegram;
use crate::config::{Config, FILE_NAME};
use crate::gateway::{self, Gateway, Readable, Role, ServeLock};
use crate::store::Store;
use anyhow::{Context, bail};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub(super) fn run(config: &Config) -> anyhow::Result<Exit> {
    let Some(telegram) = &config.telegram else {
        bail!(
            "no channel is configured; run `cofferdam init` and fill in [channels.telegram] of {FILE_NAME}"
        );
    };
    let token = telegram.token()?;
    let _lock = ServeLock::take(config)?;
    for missing in gateway::confine(config, Readable::Listed(&[]))? {
        tracing::warn!("the gateway is less isolated than it can be: {missing}");
    }
    let gateway = Gateway::open(config, Role::Serve)?;
    for (name, tool) in gateway.toolbox.registry().iter() {
        if let Err(why) = tool {
            tracing::error!(tool = name, "unavailable: {why}");
        }
    }
    let store = Store::open(&config.state_dir).context("cannot open the database")?;
    let runner = Arc::new(gateway.runner(config, Some(Arc::new(store.clone()))));
    let service = telegram::Service {
        config: telegram.clone(),
        token,
        store,
        runner,
        blobs: gateway.blobs.clone(),
        attachments: config.attachments.clone(),
        approvals: config.approvals,
        menu: menu(&gateway),
    };
    // The one line that says the gateway is up.
    let announce = |line: &str| super::tell(line);
    super::runtime()?
        .block_on(async { anyhow::Ok(telegram::serve(service, announce, cancelled_by_signals()?).await?) })?;
    if let Err(error) = gateway.audit.sign_head() {
        tracing::error!(error = &error as &dyn std::error::Error, "the head of the audit was not signed");
    }
    Ok(Exit::Done)
}

/// The tools as a channel's command menu shows them.
fn menu(gateway: &Gateway) -> Vec<telegram::MenuEntry> {
    let tools = gateway.toolbox.registry().iter();
    tools
        .filter_map(|(name, tool)| {
            let summary = &tool.as_ref().ok()?.description.summary;
            Some(telegram::MenuEntry { name: name.to_owned(), summary: summary.clone() })
        })
        .collect()
}

/// Cancelled by the first SIGINT or SIGTERM.
pub(super) fn cancelled_by_signals() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let cancelled = token.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        cancelled.cancel();
    });
    Ok(token)
}
