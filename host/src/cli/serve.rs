//! `cofferdam serve`: the gateway with its channels, until SIGINT or SIGTERM, or until its terminal is closed.
//! `cofferdam reload` has it read its configuration anew.

pub(super) mod prepare;
mod reload;
mod signals;
mod watchers;

use super::Exit;
use super::told::Unusable;
use crate::config::Config;
use crate::gateway::{self, Gateway, Purpose, Readable, Role};
use anyhow::bail;
use cofferdam_agent::tools::Registry;
use cofferdam_agent::turn::Memory;
use cofferdam_store::people::People;
use cofferdam_telegram as telegram;
use prepare::Outside;
pub(super) use reload::Load;
use reload::Reloading;
use signals::{Asked, Hangup};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchers::Watchers;

/// Serves under a configuration; `load` reads it anew.
pub(super) fn run(config: &Config, load: Load) -> anyhow::Result<Exit> {
    let outside = prepare::outside(config, Purpose::Serve)?;
    let Outside { telegram, token, answering, lock: _lock, monitor } = outside;
    // Confined, it reaches nobody new.
    let mut watchers = Watchers::open(config, monitor);
    for missing in gateway::confine(config, Readable::Renewable)? {
        tracing::warn!("the gateway is less isolated than it can be: {missing}");
    }
    let runtime = super::runtime()?;
    let hangup = Hangup::of_this_process();
    // What asks for a reload before everything is up is followed then.
    let asked = {
        let _within = runtime.enter();
        Asked::listen(hangup)?
    };
    let mut beside = JoinSet::new();
    watchers.begin(&mut beside, runtime.handle())?;
    let gateway = Gateway::open(config, Role::Serve)?;
    for (name, tool) in gateway.toolbox.registry().iter() {
        if let Err(why) = tool {
            tracing::error!(tool = name, "unavailable: {why}");
        }
    }
    let store = prepare::inside(telegram, &gateway, config)?;
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
        outgoing: gateway.warden.outgoing().clone(),
        attachments: config.attachments.clone(),
        approvals: config.approvals,
    };
    // The one line that says the gateway is up.
    let announce = |line: &str| super::tell(line);
    let audit = gateway.warden.audit().clone();
    watchers.watching.runs(gateway.watch(store.clone()));
    let manager = watchers.manager.clone();
    let served = runtime.block_on(async {
        let stop = cancelled_by_signals()?;
        if hangup == Hangup::Ends {
            cancelled_by(SignalKind::hangup(), &stop)?;
        }
        let (renewals, renewing) = mpsc::channel(1);
        let mut beside = beside;
        let reloading = Reloading {
            load,
            started: config.clone(),
            in_force: config.clone(),
            gateway,
            store,
            manager: manager.clone(),
            presence: watchers.presence.clone(),
        };
        beside.spawn(reloading.run(asked, renewals));
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
fn check_groups(telegram: &telegram::Config, registry: &Registry) -> anyhow::Result<()> {
    let tools = registry.iter().filter_map(|(_, tool)| tool.as_ref().ok());
    let known: BTreeSet<&str> = tools.map(|tool| tool.policy.profile.as_str()).collect();
    for (id, group) in &telegram.groups {
        let unknown = group.profiles.iter().flatten().find(|profile| !known.contains(profile.as_str()));
        if let Some(profile) = unknown {
            let known: Vec<&str> = known.into_iter().collect();
            let said = format!(
                "[channels.telegram] groups.\"{id}\": no tool has the profile {profile:?}; there is {}",
                known.join(", ")
            );
            bail!(Unusable { key: format!("channels.telegram.groups.{id}.profiles"), said });
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
