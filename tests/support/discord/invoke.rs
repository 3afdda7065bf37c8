//! Commands that people give, and buttons that they press.

use anyhow::Context;
use serde_json::{Value, json};

use super::bot::BOT_ID;
use super::cdn::sign;
use super::gateway::Intent;
use super::incoming::{Command, Press, Where};
use super::inject::channel_of;
use super::interactions::Interaction;
use super::message::{View, render};
use super::params::id_of;
use super::server::DiscordServer;
use super::state::Inner;
use super::world::member;

impl DiscordServer {
    /// A person gives a command.
    pub fn invoke(&self, command: Command) -> Interaction {
        self.state.change(|inner| invoke(inner, &command))
    }

    /// A person presses a button.
    ///
    /// # Errors
    /// If there is no such channel.
    pub fn press(&self, press: Press) -> anyhow::Result<Interaction> {
        self.state.change(|inner| {
            let guild = inner.world.channels.get(&press.channel).context("there is such a channel")?.guild;
            let message = inner.world.message(press.channel, press.message).ok().cloned();
            let message = message.unwrap_or_else(|| json!({ "id": press.message.to_string() }));
            let mut event = interaction(inner, 3, press.user, press.channel, guild);
            event["data"] = json!({ "component_type": 2, "custom_id": press.custom_id, "id": 2 });
            event["message"] = render(inner, &message, View::Rest, true);
            Ok(begin(inner, event, press.user, press.channel, Some(press.message)))
        })
    }
}

fn invoke(inner: &mut Inner, command: &Command) -> Interaction {
    let at = command.channel.map_or(Where::Private, Where::Channel);
    let channel = channel_of(inner, at, command.user);
    let guild = inner.world.channels.get(&channel).and_then(|channel| channel.guild);
    let mut event = interaction(inner, 2, command.user, channel, guild);
    let known = inner.bot.commands.iter().find(|known| known["name"] == *command.name);
    let id = known.map_or_else(|| inner.clock.next_id().to_string().into(), |known| known["id"].clone());
    let mut options = command.options.clone();
    let mut data = json!({ "id": id, "name": command.name, "type": 1 });
    for (name, media) in &command.files {
        let id = media.wanted_id().unwrap_or_else(|| inner.clock.next_id());
        let mut attachment = media.store(&mut inner.cdn, "ephemeral-attachments", BOT_ID, id);
        attachment["ephemeral"] = true.into();
        data["resolved"]["attachments"][id.to_string()] = attachment;
        options.push(json!({ "name": name, "type": 11, "value": id.to_string() }));
    }
    if !options.is_empty() {
        data["options"] = options.into();
    }
    event["data"] = data;
    for (name, value) in &command.fields {
        event[name] = value.clone();
    }
    begin(inner, event, command.user, channel, None)
}

/// An interaction without data.
fn interaction(inner: &mut Inner, kind: u64, user: u64, channel: u64, guild: Option<u64>) -> Value {
    let id = inner.clock.next_id();
    let user = inner.world.user(user);
    let of = inner.world.channels.get(&channel).map(|channel| channel.to_json());
    let mut event = json!({
        "id": id.to_string(),
        "application_id": BOT_ID.to_string(),
        "type": kind,
        "channel_id": channel.to_string(),
        "channel": of,
        "token": format!("aW50ZXJhY3Rpb246{:x}", u128::from(id) * 0x9E37_79B9_7F4A_7C15),
        "version": 1,
        "app_permissions": "2222085186637376",
        "locale": "en-US",
        "entitlements": [],
        "entitlement_sku_ids": [],
        "attachment_size_limit": 10_485_760,
    });
    match guild {
        Some(guild) => {
            event["guild_id"] = guild.to_string().into();
            event["guild"] = json!({ "id": guild.to_string(), "locale": "en-US", "features": [] });
            event["guild_locale"] = "en-US".into();
            let mut member = member(&user);
            member["permissions"] = "2222085186637376".into();
            event["member"] = member;
            event["context"] = 0.into();
            event["authorizing_integration_owners"] = json!({ "0": guild.to_string() });
        }
        None => {
            event["user"] = user;
            event["context"] = 1.into();
            event["authorizing_integration_owners"] = json!({ "0": "0" });
        }
    }
    event
}

/// Tells of an interaction, whose answers are awaited from now on.
fn begin(inner: &mut Inner, mut event: Value, user: u64, channel: u64, pressed: Option<u64>) -> Interaction {
    sign(&mut event, inner.clock.now_ms());
    inner.gateway.dispatch("INTERACTION_CREATE", Intent::None, &event);
    let interaction = Interaction {
        id: id_of(&event["id"]).unwrap_or_default(),
        token: event["token"].as_str().unwrap_or_default().to_owned(),
        channel_id: channel,
        user_id: user,
        event,
        acknowledged: None,
        acknowledged_after_ms: None,
        original: None,
        followups: Vec::new(),
        created_ms: inner.clock.now_ms(),
        pressed,
    };
    inner.interactions.by_id.insert(interaction.id, interaction.clone());
    interaction
}
