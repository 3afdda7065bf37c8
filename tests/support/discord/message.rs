//! The Message object: how one is made, and how it looks to the bot, in events and over REST.

use serde_json::{Value, json};

use super::bot::BOT_ID;
use super::cdn::sign;
use super::clock::time_of;
use super::params::id_of;
use super::state::Inner;
use super::world::member_without_user;

/// A message in which nothing is said yet.
pub(super) fn blank(id: u64, channel: u64, author: Value) -> Value {
    json!({
        "type": 0,
        "content": "",
        "mentions": [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "timestamp": time_of(id),
        "edited_timestamp": null,
        "flags": 0,
        "components": [],
        "id": id.to_string(),
        "channel_id": channel.to_string(),
        "author": author,
        "pinned": false,
        "mention_everyone": false,
        "tts": false,
    })
}

/// The people whom `<@id>` and `<@!id>` name, in order and once each.
pub(super) fn mentioned(content: &str) -> Vec<u64> {
    let mut found = Vec::new();
    for rest in content.split("<@").skip(1) {
        let Some((digits, _)) = rest.split_once('>') else { continue };
        if let Ok(id) = digits.strip_prefix('!').unwrap_or(digits).parse()
            && !found.contains(&id)
        {
            found.push(id);
        }
    }
    found
}

/// For whom a message is made ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// For REST: no member, no guild.
    Rest,
    /// For events.
    Event,
}

/// A stored message as the bot sees it: with fresh links, what it replies to, and no content that
/// it may not see.
pub(super) fn render(inner: &Inner, stored: &Value, view: View, sees_content: bool) -> Value {
    let mut message = stored.clone();
    let channel = id_of(&stored["channel_id"]).unwrap_or_default();
    let guild = inner.world.channels.get(&channel).and_then(|channel| channel.guild);
    let hides = guild.is_some() && !sees_content;
    // `null` tells that it is deleted; absent, that it was not looked up.
    let reference = &stored["message_reference"];
    if stored["type"] == 19 && stored.get("referenced_message").is_none() {
        let of = id_of(&reference["channel_id"]).zip(id_of(&reference["message_id"]));
        let mut referenced = of
            .and_then(|(channel, id)| inner.world.channels.get(&channel)?.messages.get(&id).cloned())
            .unwrap_or_default();
        if let Some(fields) = referenced.as_object_mut() {
            fields.remove("referenced_message");
        }
        if hides {
            hide(&mut referenced);
        }
        message["referenced_message"] = referenced;
    }
    if hides {
        hide(&mut message);
    }
    if view == View::Event {
        if let Some(guild) = guild {
            message["guild_id"] = guild.to_string().into();
        }
        if guild.is_some() && stored.get("webhook_id").is_none() {
            message["member"] = member_without_user();
        }
    }
    sign(&mut message, inner.clock.now_ms());
    message
}

/// Takes out what the Message Content intent is for, except of messages that are the bot's or
/// mention it.
fn hide(message: &mut Value) {
    let bot = BOT_ID.to_string();
    let mentions =
        message["mentions"].as_array().is_some_and(|all| all.iter().any(|user| user["id"] == *bot));
    if mentions || message["author"]["id"] == *bot {
        return;
    }
    let Some(fields) = message.as_object_mut() else { return };
    for (name, value) in fields {
        match name.as_str() {
            "content" => *value = "".into(),
            "attachments" | "embeds" | "components" => *value = json!([]),
            "message_snapshots" => hide_snapshots(value),
            _ => {}
        }
    }
}

fn hide_snapshots(snapshots: &mut Value) {
    for snapshot in snapshots.as_array_mut().into_iter().flatten() {
        for name in ["attachments", "embeds", "components"] {
            if let Some(value) = snapshot["message"].get_mut(name) {
                *value = json!([]);
            }
        }
        if let Some(content) = snapshot["message"].get_mut("content") {
            *content = "".into();
        }
    }
}
