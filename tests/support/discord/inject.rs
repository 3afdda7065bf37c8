//! What a test makes happen: messages, edits, deletions, faults and gates.

use anyhow::{Context, ensure};
use serde_json::{Map, Value, json};

use super::clock::{id_at, timestamp};
use super::gateway::Intent;
use super::incoming::{Incoming, Where};
use super::media::Media;
use super::message::{View, blank, mentioned, render};
use super::messages::{remove, remove_all};
use super::route::is_route;
use super::server::DiscordServer;
use super::state::Inner;
use super::tell::tell;
use super::world::{ChannelKind, GUILD_ID};
use crate::exchange::Target;

/// What became of a pushed message.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// Where it is.
    pub channel_id: u64,
    /// Its id.
    pub message_id: u64,
    /// The ids of its files, those of a forward included.
    pub attachments: Vec<u64>,
    /// The Message object as an event has it, with the Message Content intent.
    pub message: Value,
}

impl DiscordServer {
    /// Sends a message: it is in its channel, and every session that wants it gets an event.
    pub fn push(&self, incoming: Incoming) -> Pushed {
        self.state.change(|inner| push(inner, &incoming))
    }

    /// Sends several messages in this order, in one step.
    pub fn push_all(&self, incoming: impl IntoIterator<Item = Incoming>) -> Vec<Pushed> {
        let incoming: Vec<_> = incoming.into_iter().collect();
        self.state.change(|inner| incoming.iter().map(|one| push(inner, one)).collect())
    }

    /// Tells every session of an event as it stands, whatever it asked for; nothing is stored.
    pub fn push_event(&self, name: &str, data: &Value) {
        self.state.change(|inner| inner.gateway.dispatch(name, Intent::None, data));
    }

    /// Tells of a message once more: the same event under another number.
    ///
    /// # Errors
    /// If there is no such message.
    pub fn redeliver(&self, pushed: &Pushed) -> anyhow::Result<()> {
        self.state.change(|inner| {
            let known = inner.world.message(pushed.channel_id, pushed.message_id).is_ok();
            ensure!(known, "message {} is not there", pushed.message_id);
            tell(inner, "MESSAGE_CREATE", pushed.channel_id, pushed.message_id, None);
            Ok(())
        })
    }

    /// A person edits a message.
    ///
    /// # Errors
    /// If there is no such message.
    pub fn edit(&self, channel: u64, message: u64, text: &str) -> anyhow::Result<()> {
        self.update(channel, message, |fields, now| {
            fields.insert("content".to_owned(), text.into());
            fields.insert("edited_timestamp".to_owned(), now.into());
        })
    }

    /// Discord resolves a link of a message: an update that no person caused.
    ///
    /// # Errors
    /// If there is no such message.
    pub fn resolve_embed(&self, channel: u64, message: u64, url: &str) -> anyhow::Result<()> {
        let embeds = json!([{ "type": "link", "url": url, "title": "A page" }]);
        self.update(channel, message, |fields, _| drop(fields.insert("embeds".to_owned(), embeds)))
    }

    fn update(
        &self,
        channel: u64,
        message: u64,
        change: impl FnOnce(&mut Map<String, Value>, String),
    ) -> anyhow::Result<()> {
        self.state.change(|inner| {
            let now = timestamp(inner.clock.now_ms());
            let of = inner.world.channels.get(&channel).context("there is such a channel")?;
            let mut stored = of.messages.get(&message).context("there is such a message")?.clone();
            change(stored.as_object_mut().context("messages are objects")?, now);
            let ids = mentioned(stored["content"].as_str().unwrap_or_default());
            stored["mentions"] = ids.into_iter().map(|id| inner.world.user(id)).collect();
            inner.world.store(channel, message, stored);
            tell(inner, "MESSAGE_UPDATE", channel, message, None);
            Ok(())
        })
    }

    /// Somebody deletes a message, whosever it is; its files stay.
    ///
    /// # Errors
    /// If there is no such message.
    pub fn delete(&self, channel: u64, message: u64) -> anyhow::Result<()> {
        let deleted = self.state.change(|inner| remove(inner, channel, message));
        ensure!(deleted, "message {message} is not there");
        Ok(())
    }

    /// A moderator deletes many messages at once: one event names them all.
    pub fn delete_all(&self, channel: u64, messages: &[u64]) {
        self.state.change(|inner| remove_all(inner, channel, messages));
    }
}

/// A target of a route that exists.
pub(super) fn checked(target: impl Into<Target>) -> Target {
    let target = target.into();
    assert!(
        target.method_name().is_none_or(is_route),
        "no route of Discord is named {:?}",
        target.method_name()
    );
    target
}

/// The channel of a message or a command.
pub(super) fn channel_of(inner: &mut Inner, at: Where, user: u64) -> u64 {
    match at {
        Where::Private => {
            let id = inner.clock.next_id();
            inner.world.private_channel(user, id)
        }
        Where::Channel(id) => {
            inner.open_channel(id, ChannelKind::Text, GUILD_ID);
            id
        }
    }
}

fn push(inner: &mut Inner, incoming: &Incoming) -> Pushed {
    let channel = channel_of(inner, incoming.at, incoming.user);
    let id = incoming.id.unwrap_or_else(|| {
        let (id, now) = (inner.clock.next_id(), inner.clock.now_ms());
        id - (id_at(now) - id_at(now - ms(incoming.ago)))
    });
    let mut author = inner.world.user(incoming.user);
    for (name, value) in &incoming.author {
        author[name] = value.clone();
    }
    let mut message = blank(id, channel, author);
    let content = incoming.content();
    let people: Value = mentioned(&content).into_iter().map(|id| inner.world.user(id)).collect();
    message["content"] = content.into();
    message["mentions"] = people;
    for (name, value) in &incoming.fields {
        message[name] = value.clone();
    }
    let mut ids = Vec::new();
    let mut store = |inner: &mut Inner, files: &[Media]| -> Value {
        let one = |media: &Media| {
            let id = media.wanted_id().unwrap_or_else(|| inner.clock.next_id());
            ids.push(id);
            media.store(&mut inner.cdn, "attachments", channel, id)
        };
        files.iter().map(one).collect()
    };
    let files = store(inner, &incoming.attachments);
    if files.as_array().is_some_and(|files| !files.is_empty()) {
        message["attachments"] = files;
    }
    if !incoming.forwarded.is_empty() {
        message["message_snapshots"][0]["message"]["attachments"] = store(inner, &incoming.forwarded);
    }
    if let Some(fields) = message.as_object_mut() {
        fields.retain(|name, _| !incoming.without.contains(name));
    }
    inner.world.store(channel, id, message.clone());
    let told = incoming.told.then(|| tell(inner, "MESSAGE_CREATE", channel, id, None)).flatten();
    let message = told.unwrap_or_else(|| render(inner, &message, View::Event, true));
    Pushed { channel_id: channel, message_id: id, attachments: ids, message }
}

fn ms(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or_default()
}
