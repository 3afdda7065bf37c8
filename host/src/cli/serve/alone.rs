//! One message without a running `serve`: the channel of the one who gets it is opened, sends what
//! it is handed, and hears nothing.

use super::channels::Channels;
use super::mute_services;
use super::workflows::channels;
use crate::config::Config;
use crate::gateway::attaching::{AttachAnswer, OperatorMessage};
use crate::gateway::{self, Gateway, ReadScope, Role, ServeLock};
use crate::saying::MessageSender;
use crate::workflows::ChannelPeople;
use anyhow::Context as _;
use cofferdam_agent::llm;
use cofferdam_agent::turn::History;
use cofferdam_core::id::Caller;
use cofferdam_store::{Presence, Store};
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Sends it and waits until it is out; the state is this process's own meanwhile.
///
/// # Errors
/// What ends a `serve`: a token that is refused, a state that is unusable.
pub(in crate::cli) fn say(
    config: &Config,
    _lock: ServeLock,
    message: OperatorMessage,
) -> anyhow::Result<AttachAnswer> {
    let named = Caller::parse(&message.say.to).map(|to| to.channel).unwrap_or_default();
    let opened = Channels::open(config, |channel| channel == named)?;
    let is_there = opened.telegram.is_some() || opened.discord.is_some();
    gateway::confine(config, ReadScope::Listed(&[]))?;
    // Nobody is asked, so no key is needed.
    let answering = llm::open(&llm::Config::default()).context("[provider]")?;
    let runtime = super::super::runtime()?;
    let gateway = Gateway::open(config, Role::Serve)?;
    let store = Store::open(&config.store.location).context("cannot open the database")?;
    store.join(&gateway::cluster_node(config)?)?;
    let runner = Arc::new(gateway.runner(config, answering, History::durable(store.clone())));
    let services =
        mute_services(config, &gateway, &store, (runner, Presence::new(&gateway::note_file(config))));
    let people = ChannelPeople { runs: services.runs.clone(), channels: channels(config) };
    let parts = (gateway.warden.outgoing().clone(), gateway.warden.audit().clone());
    let saying = MessageSender::new(people, &store, parts, runtime.handle().clone());
    let answer = runtime.block_on(async {
        let stop = CancellationToken::new();
        let runs = services.runs.clone();
        let speaking = opened.speak(services, stop.clone());
        tokio::pin!(speaking);
        let said = tokio::select! {
            said = saying.say(message) => said,
            // Of a channel that is not configured nobody waits for the end.
            ended = &mut speaking, if is_there => {
                ended?;
                anyhow::bail!("the channel ended before the message was out; send it again");
            }
        };
        stop.cancel();
        runs.close();
        speaking.await?;
        super::end_serving(gateway.warden.audit(), &store, Instant::now()).await?;
        Ok(match said {
            Ok(said) => AttachAnswer::Said(said),
            Err(error) => AttachAnswer::Refused { error },
        })
    });
    // A store that does not answer is not waited for.
    runtime.shutdown_background();
    answer
}
