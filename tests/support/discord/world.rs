//! Guilds, channels, threads and people, and the messages in them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::bot::{self, BOT_ID};
use super::clock::time_of;
use super::error::RestError;

/// The guild of channels that no test gave one.
pub const GUILD_ID: u64 = 910_000_000_000_000_001;

/// What a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChannelKind {
    Text,
    Private { user: u64 },
    Thread { parent: u64 },
}

/// A channel with its messages.
pub(super) struct Channel {
    pub(super) id: u64,
    pub(super) kind: ChannelKind,
    pub(super) guild: Option<u64>,
    name: String,
    /// Why the bot may not write there.
    pub(super) refusal: Option<RestError>,
    /// Whether the bot may not even read.
    pub(super) hidden: bool,
    /// The messages as stored: links without signature, nothing that depends on who looks.
    pub(super) messages: BTreeMap<u64, Value>,
    /// Messages that only one person sees, and no list has.
    pub(super) ephemeral: BTreeSet<u64>,
}

/// Everything that people and the bot see.
#[derive(Default)]
pub(super) struct World {
    pub(super) guilds: BTreeMap<u64, String>,
    pub(super) channels: BTreeMap<u64, Channel>,
    private: BTreeMap<u64, u64>,
    users: BTreeMap<u64, Value>,
}

impl World {
    /// A person, made up where nobody is known by this id.
    pub(super) fn user(&mut self, id: u64) -> Value {
        if id == BOT_ID {
            return bot::user();
        }
        let made_up = || {
            json!({
                "id": id.to_string(),
                "username": format!("user_{id}"),
                "discriminator": "0",
                "global_name": "Ann",
                "avatar": null,
                "avatar_decoration_data": null,
                "public_flags": 0,
                "primary_guild": null,
                "clan": null,
            })
        };
        self.users.entry(id).or_insert_with(made_up).clone()
    }

    /// Whether anybody is known by this id.
    pub(super) fn known_user(&self, id: u64) -> Option<Value> {
        if id == BOT_ID { Some(bot::user()) } else { self.users.get(&id).cloned() }
    }

    /// The private channel of a person, opened with this id if there is none.
    pub(super) fn private_channel(&mut self, user: u64, id: u64) -> u64 {
        if let Some(known) = self.private.get(&user) {
            return *known;
        }
        self.private.insert(user, id);
        self.user(user);
        self.add(id, ChannelKind::Private { user }, None, "");
        id
    }

    /// Adds a channel; `true` where it is new.
    pub(super) fn add(&mut self, id: u64, kind: ChannelKind, guild: Option<u64>, name: &str) -> bool {
        if self.channels.contains_key(&id) {
            return false;
        }
        if let Some(guild) = guild {
            self.guilds.entry(guild).or_insert_with(|| "Test guild".to_owned());
        }
        let channel = Channel {
            id,
            kind,
            guild,
            name: name.to_owned(),
            refusal: None,
            hidden: false,
            messages: BTreeMap::new(),
            ephemeral: BTreeSet::new(),
        };
        self.channels.insert(id, channel);
        true
    }

    /// A channel that the bot may read.
    pub(super) fn readable(&self, id: u64) -> Result<&Channel, RestError> {
        let channel = self.channels.get(&id).ok_or_else(RestError::unknown_channel)?;
        match channel.hidden {
            true => Err(RestError::new(403, 50001, "Missing Access")),
            false => Ok(channel),
        }
    }

    /// A channel that the bot may write in.
    pub(super) fn writable(&self, id: u64) -> Result<&Channel, RestError> {
        let channel = self.readable(id)?;
        channel.refusal.clone().map_or(Ok(channel), Err)
    }

    /// A message that the bot may read, as stored.
    pub(super) fn message(&self, channel: u64, id: u64) -> Result<&Value, RestError> {
        self.readable(channel)?.messages.get(&id).ok_or_else(RestError::unknown_message)
    }

    /// Stores a message in a channel that is there, in place of what was known of it.
    pub(super) fn store(&mut self, channel: u64, id: u64, message: Value) {
        if let Some(of) = self.channels.get_mut(&channel) {
            of.messages.insert(id, message);
        }
    }

    /// The guild as GUILD_CREATE has it.
    pub(super) fn guild_create(&self, id: u64) -> Value {
        let of = |thread: bool| {
            let channels = self.channels.values().filter(move |channel| {
                channel.guild == Some(id) && matches!(channel.kind, ChannelKind::Thread { .. }) == thread
            });
            channels.map(Channel::to_json).collect::<Vec<_>>()
        };
        let mut guild = self.guild(id);
        for (name, value) in [
            ("joined_at", json!(time_of(id))),
            ("large", json!(false)),
            ("unavailable", json!(false)),
            ("member_count", json!(2)),
            ("voice_states", json!([])),
            ("members", json!([member(&bot::user())])),
            ("channels", json!(of(false))),
            ("threads", json!(of(true))),
            ("presences", json!([])),
            ("stage_instances", json!([])),
            ("guild_scheduled_events", json!([])),
            ("soundboard_sounds", json!([])),
        ] {
            guild[name] = value;
        }
        guild
    }

    /// The guild as the REST API has it.
    pub(super) fn guild(&self, id: u64) -> Value {
        json!({
            "id": id.to_string(),
            "name": self.guilds.get(&id),
            "icon": null, "splash": null, "discovery_splash": null, "banner": null, "description": null,
            "owner_id": "900000000000000002",
            "afk_channel_id": null, "afk_timeout": 300,
            "verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0,
            "roles": [{
                "id": id.to_string(), "name": "@everyone", "color": 0, "hoist": false, "icon": null,
                "unicode_emoji": null, "position": 0, "permissions": "2222085186637376", "managed": false,
                "mentionable": false, "flags": 0,
                "colors": { "primary_color": 0, "secondary_color": null, "tertiary_color": null },
            }],
            "emojis": [], "stickers": [], "features": [], "mfa_level": 0, "application_id": null,
            "system_channel_id": null, "system_channel_flags": 0, "rules_channel_id": null,
            "max_members": 500_000, "vanity_url_code": null, "premium_tier": 0,
            "premium_subscription_count": 0, "preferred_locale": "en-US",
            "public_updates_channel_id": null, "nsfw_level": 0, "nsfw": false,
            "premium_progress_bar_enabled": false, "safety_alerts_channel_id": null,
        })
    }
}

impl Channel {
    /// The Channel object.
    pub(super) fn to_json(&self) -> Value {
        let last = self.messages.keys().next_back().map(u64::to_string);
        let mut channel = json!({ "id": self.id.to_string(), "flags": 0, "last_message_id": last });
        let fields = match self.kind {
            ChannelKind::Private { user } => {
                let recipient = json!({
                    "id": user.to_string(), "username": format!("user_{user}"), "discriminator": "0",
                    "global_name": "Ann", "avatar": null, "public_flags": 0,
                });
                json!({ "type": 1, "recipients": [recipient] })
            }
            ChannelKind::Text => json!({
                "type": 0, "name": self.name, "position": 0, "permission_overwrites": [], "nsfw": false,
                "topic": null, "parent_id": null, "rate_limit_per_user": 0,
            }),
            ChannelKind::Thread { parent } => json!({
                "type": 11, "name": self.name, "parent_id": parent.to_string(),
                "owner_id": "900000000000000002", "message_count": self.messages.len(),
                "member_count": 2, "rate_limit_per_user": 0, "total_message_sent": self.messages.len(),
                "thread_metadata": {
                    "archived": false, "auto_archive_duration": 1440,
                    "archive_timestamp": time_of(self.id), "locked": self.refusal.is_some(),
                    "create_timestamp": time_of(self.id),
                },
            }),
        };
        for (name, value) in fields.as_object().into_iter().flatten() {
            channel[name] = value.clone();
        }
        if let Some(guild) = self.guild {
            channel["guild_id"] = guild.to_string().into();
        }
        channel
    }
}

/// A person as a member, with the user.
pub(super) fn member(user: &Value) -> Value {
    let mut member = member_without_user();
    member["user"] = user.clone();
    member
}

/// A person as a member, as messages have it.
pub(super) fn member_without_user() -> Value {
    json!({
        "nick": null, "avatar": null, "banner": null, "roles": [], "joined_at": time_of(0), "premium_since": null,
        "deaf": false, "mute": false, "flags": 0, "pending": false, "communication_disabled_until": null,
    })
}
