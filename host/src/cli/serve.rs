//! `cofferdam serve`: the gateway with its channels, until SIGINT or SIGTERM. SIGHUP has it read its configuration
//! anew.

mod reload;
mod watchers;

use super::Exit;
use crate::channels::telegram;
use crate::config::{Config, FILE_NAME};
use crate::gateway::{self, Gateway, Readable, Role, ServeLock};
use crate::llm;
use crate::store;
use crate::store::people::People;
use crate::turn::Memory;
use anyhow::{Context, bail};
use reload::{Load, Reloading};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchers::Watchers;

/// Serves under a configuration; `load` reads it anew.
pub(super) fn run(config: Config, load: Load) -> anyhow::Result<Exit> {
    let config = &config;
    let Some(telegram) = &config.telegram else {
        bail!(
            "no channel is configured; run `cofferdam init` and fill in [channels.telegram] of {FILE_NAME}"
        );
    };
    let token = telegram.token()?;
    let answering = llm::open(&config.provider).context("[provider]")?;
    let _lock = ServeLock::take(config)?;
    // Confined, it takes no place any more, and reaches nobody new.
    let mut watchers = Watchers::open(config)?;
    for missing in gateway::confine(config, Readable::Renewable)? {
        tracing::warn!("the gateway is less isolated than it can be: {missing}");
    }
    let runtime = super::runtime()?;
    // From here on SIGHUP ends nothing, and one that comes before everything is up is followed then.
    let hangups = {
        let _within = runtime.enter();
        signal(SignalKind::hangup())?
    };
    let mut beside = JoinSet::new();
    watchers.begin(&mut beside, runtime.handle())?;
    let gateway = Gateway::open(config, Role::Serve)?;
    for (name, tool) in gateway.toolbox.registry().iter() {
        if let Err(why) = tool {
            tracing::error!(tool = name, "unavailable: {why}");
        }
    }
    check_groups(telegram, &gateway)?;
    let store = store::open(&config.state_dir).context("cannot open the database")?;
    let runner = Arc::new(gateway.runner(config, answering, Arc::new(store.clone())));
    let service = telegram::Service {
        config: telegram.clone(),
        token,
        people: People::of(&config.state_dir),
        store: store.clone(),
        presence: watchers.presence.clone(),
        menu: menu(&gateway, runner.memory()),
        runner,
        blobs: gateway.blobs.clone(),
        outgoing: gateway.outgoing.clone(),
        attachments: config.attachments.clone(),
        approvals: config.approvals,
    };
    // The one line that says the gateway is up.
    let announce = |line: &str| super::tell(line);
    let audit = gateway.audit.clone();
    watchers.watching.runs(gateway.watch(store.clone()));
    let manager = watchers.manager.clone();
    let served = runtime.block_on(async {
        let stop = cancelled_by_signals()?;
        let (renewals, renewing) = mpsc::channel(1);
        let mut beside = beside;
        let reloading = Reloading { load, started: config.clone(), gateway, store, manager: manager.clone() };
        beside.spawn(reloading.run(hangups, renewals));
        let stopping = stop.clone();
        beside.spawn(async move {
            stopping.cancelled().await;
            manager.stopping();
        });
        anyhow::Ok(telegram::serve(service, announce, renewing, stop).await?)
    });
    watchers.end(&served);
    served?;
    if let Err(error) = audit.sign_head() {
        tracing::error!(error = &error as &dyn std::error::Error, "the head of the audit was not signed");
    }
    Ok(Exit::Done)
}

/// Refuses profiles of groups that no tool has: they would be a wrong word, and allow less than was meant.
fn check_groups(telegram: &telegram::Config, gateway: &Gateway) -> anyhow::Result<()> {
    let tools = gateway.toolbox.registry().iter().filter_map(|(_, tool)| tool.as_ref().ok());
    let known: BTreeSet<&str> = tools.map(|tool| tool.policy.profile.as_str()).collect();
    for (id, group) in &telegram.groups {
        let unknown = group.profiles.iter().flatten().find(|profile| !known.contains(profile.as_str()));
        if let Some(profile) = unknown {
            let known: Vec<&str> = known.into_iter().collect();
            bail!(
                "[channels.telegram] groups.\"{id}\": no tool has the profile {profile:?}; there is {}",
                known.join(", ")
            );
        }
    }
    Ok(())
}

/// What a channel's command menu shows: where a model answers, the words to the gateway; and the tools.
fn menu(gateway: &Gateway, memory: Memory) -> Vec<telegram::MenuEntry> {
    let words: &[(&str, &str)] = match memory {
        Memory::None => &[],
        Memory::Conversation => &[
            ("new", "Start the conversation anew"),
            ("retry", "Run the last message again if it failed"),
            ("steer", "Add to what is running: /steer TEXT"),
            ("cancel", "Stop what is running"),
        ],
    };
    let word = |(name, summary): &(&str, &str)| telegram::MenuEntry {
        name: (*name).to_owned(),
        summary: (*summary).to_owned(),
        profile: None,
    };
    let tools = gateway.toolbox.registry().iter().filter_map(|(name, tool)| {
        let tool = tool.as_ref().ok()?;
        let (summary, profile) = (tool.description.summary.clone(), Some(tool.policy.profile.clone()));
        Some(telegram::MenuEntry { name: name.to_owned(), summary, profile })
    });
    words.iter().map(word).chain(tools).collect()
}

/// Cancelled by the first SIGINT or SIGTERM.
pub(super) fn cancelled_by_signals() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        cancelled_by(kind, &token)?;
    }
    Ok(token)
}

/// Has the first signal of a kind cancel the token.
pub(super) fn cancelled_by(kind: SignalKind, token: &CancellationToken) -> anyhow::Result<()> {
    let (mut signal, token) = (signal(kind)?, token.clone());
    tokio::spawn(async move {
        signal.recv().await;
        token.cancel();
    });
    Ok(())
}
