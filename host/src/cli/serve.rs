//! `cofferdam serve`: the gateway with its channels, until SIGINT or SIGTERM, or until its terminal
//! is closed. `cofferdam reload` has it read its configuration anew.

pub(super) mod alone;
mod channels;
pub(super) mod prepare;
mod reload;
mod signals;
mod watchers;
pub(super) mod workflows;

use super::Exit;
use crate::config::Config;
use crate::gateway::attaching::{self, AttachServer};
use crate::gateway::heads::{self, HeadExchange};
use crate::gateway::{self, Gateway, PreparePurpose, ReadScope, Role};
use crate::saying::MessageSender;
use crate::workflows::{Catalog, WorkflowService};
use anyhow::bail;
use channels::Renewals;
use cofferdam_agent::llm::Answering;
use cofferdam_agent::server::UnusableKey;
use cofferdam_agent::tools::Registry;
use cofferdam_agent::turn::{History, Runner};
use cofferdam_agent::voice::{SpeechConfig, Voice};
use cofferdam_chat::handler::SettleAudit;
use cofferdam_chat::runs::Runs;
use cofferdam_chat::setup::{ChannelSettings, MenuEntry, MenuTool, Services, prune};
use cofferdam_core::capability::Interface;
use cofferdam_discord as discord;
use cofferdam_store::people::People;
use cofferdam_store::{Presence, Store, StoreError};
use cofferdam_telegram as telegram;
use cofferdam_warden::audit::AuditLog;
use cofferdam_warden::calls::{SETTLE_LOOK, Warden};
use prepare::OpenedOutside;
pub(super) use reload::Load;
use reload::Reloading;
use serde_json::json;
use signals::{Hangup, ReloadSignals};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use watchers::Watchers;

/// How long after a stop was asked for the database has to know that other nodes may take over.
const HAND_BACK_MAX: Duration = Duration::from_secs(8);
/// It has so long in any case.
const HAND_BACK_MIN: Duration = Duration::from_secs(2);
/// How long what is unfinished is waited for then, all of which the next start may find so.
const UNFINISHED_WAIT: Duration = Duration::from_secs(1);

pub(super) const EXAMPLE: &str = "Example: TELEGRAM_BOT_TOKEN=… cofferdam serve --config cofferdam.toml";

/// Serves under a configuration; `load` reads it anew.
pub(super) fn run(config: &Config, load: Load) -> anyhow::Result<Exit> {
    let outside = prepare::open_outside(config, PreparePurpose::Serve).map_err(|(_, error)| error)?;
    let OpenedOutside { channels, answering, voice, lock: _lock, monitor, catalog } = outside;
    let watched = gateway::channels(config);
    let attaching = attaching::listen(config).inspect_err(|error| {
        tracing::warn!(%error, "`cofferdam attach` will not reach this gateway");
    });
    // Confined, it reaches nobody new.
    let mut watchers = Watchers::open(config, monitor);
    for missing in gateway::confine(config, ReadScope::Renewable)? {
        tracing::warn!("the gateway is less isolated than it can be: {missing}");
    }
    let runtime = super::runtime()?;
    let hangup = Hangup::register();
    // What asks for a reload before everything is up is followed then.
    let asked = {
        let _within = runtime.enter();
        ReloadSignals::listen(hangup)?
    };
    let mut beside = JoinSet::new();
    watchers.begin(&mut beside, runtime.handle(), watched.clone())?;
    let gateway = Gateway::open(config, Role::Serve)?;
    for (name, tool) in gateway.toolbox.registry().iter() {
        if let Err(why) = tool {
            tracing::error!(tool = name, "unavailable: {why}");
        }
    }
    let store = prepare::open_inside(&gateway, config, &catalog).map_err(|(_, error)| error)?;
    let provider = answering.provider.clone();
    let served_store = store.clone();
    let settings = channel_settings(config, &gateway, &store, answering, &catalog);
    let services = channel_services(config, &gateway, &store, (settings, voice, watchers.presence.clone()));
    let audit = gateway.warden.audit().clone();
    if let Ok(listener) = attaching {
        let parts = (gateway.warden.outgoing().clone(), audit.clone());
        let sender = MessageSender::new(services.runs.clone(), &store, parts, runtime.handle().clone());
        let files = AttachServer {
            requests: gateway.toolbox.requests().clone(),
            outgoing: gateway.warden.outgoing().clone(),
            audit: audit.clone(),
            store: store.downgrade(),
            dir: config.state_dir.join("blobs"),
            bytes_max: config.replies.max_call_bytes.0,
            runtime: runtime.handle().clone(),
            speak: move |message, answer| sender.speak(message, answer),
        };
        files.serve(listener)?;
    }
    watchers.watching.set_running(gateway.watch(store.clone(), watched));
    let manager = watchers.manager.clone();
    let stopped = Arc::new(OnceLock::new());
    let served = runtime.block_on(async {
        let stop = cancelled_by_signals()?;
        if hangup == Hangup::Ends {
            cancel_on_signal(SignalKind::hangup(), &stop)?;
        }
        let template = workflows::executor(config, &gateway, provider, (&store, Some(&services.runs)), &stop);
        let (executors, following) = watch::channel(template);
        let given = (workflows::prepare_context(config, &gateway, &catalog), watchers.presence.clone());
        let (state_dir, offered) = (config.state_dir.clone(), (catalog.clone(), services.runs.clone()));
        let runs = WorkflowService::new(following, offered, given, state_dir);
        let found = services.runs.clone();
        found.begin_with(Arc::new(runs.clone()));
        let (renewals, of_telegram, of_discord) = Renewals::new();
        let mut beside = beside;
        let reloading = Reloading {
            load,
            started: config.clone(),
            in_force: config.clone(),
            gateway,
            store,
            manager: manager.clone(),
            presence: watchers.presence.clone(),
            executors,
            catalog,
        };
        beside.spawn(reloading.run(asked, renewals));
        let (stopping, asking, stopped) = (stop.clone(), services.store.downgrade(), stopped.clone());
        beside.spawn(async move {
            stopping.cancelled().await;
            let _ = stopped.set(Instant::now());
            manager.note_stopping();
            asking.stop_asking_at(stopping).await;
        });
        beside.spawn(prune(services.store.clone()));
        if services.store.is_shared() {
            beside.spawn(HeadExchange::new(audit.clone(), services.store.clone()).run());
            let (ends, taken_over) = (stop.clone(), services.store.taken_over());
            beside.spawn(async move {
                taken_over.await;
                ends.cancel();
            });
        }
        services.presence.note_begin();
        // Polled with the channels, and not after them: what it is at gets a moment to end.
        let (served, ()) =
            tokio::join!(channels.serve(services, of_telegram, of_discord, stop.clone()), runs.run());
        found.close();
        served
    });
    // Those beside may have ended before they were told to stop.
    served_store.stop_asking();
    watchers.end(&served);
    let ended = served.and_then(|()| {
        let stopped = stopped.get().copied().unwrap_or_else(Instant::now);
        runtime.block_on(end_serving(&audit, &served_store, stopped))?;
        if let Err(error) = audit.sign_head() {
            tracing::error!(error = &error as &dyn std::error::Error, "the head of the audit was not signed");
        }
        Ok(())
    });
    drop(served_store);
    runtime.shutdown_timeout(UNFINISHED_WAIT);
    ended?;
    Ok(Exit::Done)
}

/// What a configuration says of every channel.
fn channel_settings(
    config: &Config,
    gateway: &Gateway,
    store: &Store,
    answering: Answering,
    catalog: &Catalog,
) -> ChannelSettings {
    let runner = Arc::new(gateway.runner(config, answering, History::durable(store.clone())));
    ChannelSettings {
        menu: [menu(gateway, &runner, &config.speech), workflows::menu(catalog)].concat(),
        runner,
        outgoing: gateway.warden.outgoing().clone(),
        attachments: config.attachments.clone(),
        approvals: config.approvals,
    }
}

/// What channels are given.
fn channel_services(
    config: &Config,
    gateway: &Gateway,
    store: &Store,
    (settings, voice, presence): (ChannelSettings, Voice, Arc<Presence>),
) -> Services {
    Services {
        people: People::new(&config.state_dir),
        store: store.clone(),
        presence,
        turns_at_once: config.turns.at_once,
        blobs: gateway.blobs.clone(),
        settle: settle(gateway.warden.clone()),
        runs: Runs::with_channels(workflows::channels(config)),
        voice,
        settings,
    }
}

/// Settles what a node that is gone has left open in its chain of the audit.
fn settle(warden: Warden) -> SettleAudit {
    Arc::new(move |gone| {
        let is_gone = |node: &str| node == gone;
        warden.settle(&is_gone, SETTLE_LOOK).map_err(|error| error.to_string())
    })
}

/// Has other nodes take over at once. A store that does not answer is not waited for: they do it
/// when the lease is over.
async fn end_serving(audit: &Arc<AuditLog>, store: &Store, stopped: Instant) -> anyhow::Result<()> {
    if !store.is_shared() {
        return Ok(());
    }
    let handing_back = async {
        heads::tell_last(audit, store).await;
        let leaving = store.clone();
        spawn_blocking(move || leaving.leave()).await
    };
    match timeout_at(hand_back_end(stopped, Instant::now()), handing_back).await {
        Ok(Ok(Err(error @ StoreError::TakenOver))) => return Err(error.into()),
        Ok(Ok(Ok(()))) => {}
        // It may have it in a moment.
        Ok(Ok(Err(error))) => tracing::warn!(%error, "the store was not handed back"),
        Ok(Err(error)) => tracing::error!(%error, "the store was not handed back"),
        Err(_) => tracing::warn!("the store was not handed back: it does not answer"),
    }
    Ok(())
}

/// By when the store has to be handed back, if that begins `now`.
fn hand_back_end(stopped: Instant, now: Instant) -> Instant {
    (stopped + HAND_BACK_MAX).max(now + HAND_BACK_MIN)
}

/// Refuses profiles of groups that no tool has: they would be a wrong word, and allow less than was
/// meant.
fn check_groups(config: &Config, registry: &Registry) -> anyhow::Result<()> {
    let tools = registry.iter().filter_map(|(_, tool)| tool.as_ref().ok());
    let known: BTreeSet<&str> = tools.map(|tool| tool.policy.profile.as_str()).collect();
    let groups = config.telegram.iter().flat_map(|telegram| &telegram.groups);
    let guilds = config.discord.iter().flat_map(|discord| &discord.guilds);
    let named = groups.map(|named| (telegram::PLATFORM.section, "groups", named));
    for (section, table, (id, group)) in
        named.chain(guilds.map(|named| (discord::PLATFORM.section, "guilds", named)))
    {
        let unknown = group.profiles.iter().flatten().find(|profile| !known.contains(profile.as_str()));
        if let Some(profile) = unknown {
            let known: Vec<&str> = known.into_iter().collect();
            let said = format!(
                "[{section}] {table}.\"{id}\": no tool has the profile {profile:?}; there is {}",
                known.join(", ")
            );
            bail!(UnusableKey::new(section, &format!("{table}.{id}.profiles"), said));
        }
    }
    Ok(())
}

/// What a channel's command menu shows: where a model answers, the words to the gateway; and the
/// tools.
fn menu(gateway: &Gateway, runner: &Runner, speech: &SpeechConfig) -> Vec<MenuEntry> {
    let words: &[(&str, &str)] = match runner.has_memory() {
        false => &[],
        true => &[
            ("new", "Start the conversation anew"),
            ("retry", "Run the last message again if it failed"),
            ("steer", "Add to what is running: /steer TEXT"),
            ("cancel", "Stop what is running"),
        ],
    };
    let word = |(name, summary): &(&str, &str)| MenuEntry {
        name: (*name).to_owned(),
        summary: (*summary).to_owned(),
        tool: None,
    };
    let tools = gateway.toolbox.registry().iter().filter_map(|(name, tool)| {
        let tool = tool.as_ref().ok()?;
        let shown = MenuTool {
            profile: tool.policy.profile.clone(),
            arguments: tool.description.arguments.clone(),
            takes_files: tool.component.imports_interface(Interface::TurnAttachments),
        };
        Some(MenuEntry {
            name: name.to_owned(),
            summary: tool.description.summary.clone(),
            tool: Some(shown),
        })
    });
    words.iter().map(word).chain(speech.table().is_on.then(voice_entry)).chain(tools).collect()
}

/// The switch of spoken replies.
fn voice_entry() -> MenuEntry {
    let state = json!({ "type": "string", "description": "on or off; without it you are told which it is" });
    // No profile is called so: where only some may be called, it can still be typed.
    let tool = MenuTool {
        profile: "/".to_owned(),
        arguments: json!({ "type": "object", "properties": { "state": state } }),
        takes_files: false,
    };
    let summary = "Have replies to your voice messages spoken: on or off".to_owned();
    MenuEntry { name: "voice".to_owned(), summary, tool: Some(tool) }
}

/// Cancelled by the first SIGINT or SIGTERM.
pub(super) fn cancelled_by_signals() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        cancel_on_signal(kind, &token)?;
    }
    Ok(token)
}

/// Has the first signal of a kind cancel the token.
pub(super) fn cancel_on_signal(kind: SignalKind, token: &CancellationToken) -> anyhow::Result<()> {
    let (mut signal, token) = (signal(kind)?, token.clone());
    tokio::spawn(async move {
        signal.recv().await;
        token.cancel();
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_has_time_to_hand_the_store_back_however_long_it_waited_for_turns() {
        let stopped = Instant::now();
        let left = |waited: Duration| {
            let now = stopped + waited;
            hand_back_end(stopped, now) - now
        };
        assert_eq!(left(Duration::ZERO), HAND_BACK_MAX);
        assert_eq!(left(HAND_BACK_MAX / 2), HAND_BACK_MAX / 2, "it counts from the stop on");
        for waited in [HAND_BACK_MAX - HAND_BACK_MIN / 2, HAND_BACK_MAX, 10 * HAND_BACK_MAX] {
            assert_eq!(left(waited), HAND_BACK_MIN, "{waited:?}");
        }
    }
}
