//! Events about messages, for every session that asked for them.

use serde_json::Value;

use super::gateway::Intent;
use super::message::{View, render};
use super::state::Inner;
use super::world::Channel;

/// Sends an event about a message to every session that wants it, and returns what those get who
/// see its content.
pub(super) fn tell(
    inner: &mut Inner,
    event: &str,
    channel: u64,
    id: u64,
    nonce: Option<&Value>,
) -> Option<Value> {
    let of = inner.world.channels.get(&channel)?;
    let (stored, intent) = (of.messages.get(&id)?, Intent::of_messages(of));
    let view = |sees: bool| {
        let mut message = render(inner, stored, View::Event, sees);
        if let Some(nonce) = nonce {
            message["nonce"] = nonce.clone();
        }
        message
    };
    let (full, hidden) = (view(true), view(false));
    inner.gateway.dispatch_message(event, intent, &full, &hidden);
    Some(full)
}

/// Tells that messages are gone.
pub(super) fn tell_of_deletion(inner: &mut Inner, name: &str, channel: u64, mut event: Value) {
    let Some(of) = inner.world.channels.get(&channel) else { return };
    event["channel_id"] = channel.to_string().into();
    if let Some(guild) = of.guild {
        event["guild_id"] = guild.to_string().into();
    }
    let intent = Intent::of_messages(of);
    inner.gateway.dispatch(name, intent, &event);
}

impl Intent {
    /// What a session must have asked for to hear of messages in this channel.
    pub(super) fn of_messages(channel: &Channel) -> Self {
        if channel.guild.is_some() { Self::GuildMessages } else { Self::DirectMessages }
    }
}
