//! One message without a running `serve`: the channel of the one who gets it is opened, sends what
//! it is handed, and hears nothing.

use super::super::errors::describe_error;
use super::channels::Channels;
use super::{channel_services, channel_settings};
use crate::config::Config;
use crate::gateway::attaching::{AttachAnswer, OperatorMessage};
use crate::gateway::{self, Gateway, ReadScope, Role, ServeLock};
use crate::saying::MessageSender;
use crate::workflows::Catalog;
use anyhow::Context as _;
use cofferdam_agent::llm;
use cofferdam_agent::voice::Voice;
use cofferdam_core::id::Caller;
use cofferdam_core::message::SentMessage;
use cofferdam_core::tool::ToolError;
use cofferdam_store::{Presence, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Sends it and waits until it is out; the state is this process's own meanwhile.
///
/// # Errors
/// What ends a `serve` before it is known what became of the message: a token that is refused, a
/// state that is unusable.
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
    // No menu is shown, and nothing is heard or spoken.
    let settings = channel_settings(config, &gateway, &store, answering, &Catalog::default());
    let presence = Presence::new(&gateway::note_file(config));
    let services = channel_services(config, &gateway, &store, (settings, Voice::default(), presence));
    let parts = (gateway.warden.outgoing().clone(), gateway.warden.audit().clone());
    let saying = MessageSender::new(services.runs.clone(), &store, parts, runtime.handle().clone());
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
                anyhow::bail!(
                    "the channel ended before it was known whether the message is out; send it again under the same \
                     --key alone"
                );
            }
        };
        stop.cancel();
        runs.close();
        let spoken = speaking.await;
        let left = super::end_serving(gateway.warden.audit(), &store, Instant::now()).await;
        Ok(tell_said(said, [spoken, left]))
    });
    // A store that does not answer is not waited for.
    runtime.shutdown_background();
    answer
}

/// What is answered. An end that fails changes nothing about the message, and is told beside it.
fn tell_said(said: Result<SentMessage, ToolError>, ends: [anyhow::Result<()>; 2]) -> AttachAnswer {
    for error in ends.into_iter().filter_map(Result::err) {
        let error = describe_error(&error);
        tracing::error!(error, "the command did not end as it should; what became of the message is told");
    }
    match said {
        Ok(said) => AttachAnswer::Said(said),
        Err(error) => AttachAnswer::Refused { error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::tool::ErrorCode;
    use cofferdam_store::StoreError;

    #[test]
    fn what_became_of_the_message_is_told_however_the_command_ends() {
        let ends = || [Ok(()), Err(StoreError::TakenOver.into())];
        let sent = SentMessage { message_id: "7".into(), ..SentMessage::default() };
        let told = tell_said(Ok(sent), ends());
        assert!(matches!(&told, AttachAnswer::Said(said) if said.message_id == "7"), "{told:?}");
        let kept = ToolError::new(ErrorCode::TimedOut, "it is kept");
        let told = tell_said(Err(kept), ends());
        let is_kept = |error: &ToolError| error.code == ErrorCode::TimedOut;
        assert!(matches!(&told, AttachAnswer::Refused { error } if is_kept(error)), "{told:?}");
    }
}
