//! Builds the messages that people send.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::bot::BOT_ID;
use super::inject::Pushed;
use super::media::Media;

/// Where a message is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Where {
    /// In the private channel of its author.
    Private,
    Channel(u64),
}

/// One message to come. Whatever is not said, the server makes up: ids, times, names.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub(super) at: Where,
    pub(super) user: u64,
    pub(super) id: Option<u64>,
    pub(super) ago: Duration,
    pub(super) text: String,
    pub(super) mentions_bot: bool,
    pub(super) attachments: Vec<Media>,
    /// Files of a message that is sent on.
    pub(super) forwarded: Vec<Media>,
    pub(super) fields: Map<String, Value>,
    pub(super) author: Map<String, Value>,
    pub(super) without: Vec<String>,
    pub(super) told: bool,
}

impl Incoming {
    /// A message of a user in private; the channel is opened at the first.
    pub fn private(user: u64) -> Self {
        Self::new(Where::Private, user)
    }

    /// A message of a user in a channel or thread; an unknown one becomes a channel of the guild
    /// `GUILD_ID`.
    pub fn guild(channel: u64, user: u64) -> Self {
        Self::new(Where::Channel(channel), user)
    }

    fn new(at: Where, user: u64) -> Self {
        Self {
            at,
            user,
            id: None,
            ago: Duration::ZERO,
            text: String::new(),
            mentions_bot: false,
            attachments: Vec::new(),
            forwarded: Vec::new(),
            fields: Map::new(),
            author: Map::new(),
            without: Vec::new(),
            told: true,
        }
    }

    /// The content. Whoever is named as `<@id>` becomes a mention.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.text = text.to_owned();
        self
    }

    /// The content begins with a mention of the bot.
    #[must_use]
    pub fn mention_bot(mut self) -> Self {
        self.mentions_bot = true;
        self
    }

    /// One more file.
    #[must_use]
    pub fn attachment(mut self, media: Media) -> Self {
        self.attachments.push(media);
        self
    }

    /// A reply to a message, by its Message object.
    #[must_use]
    pub fn reply_to(self, message: &Value) -> Self {
        let mut reference = json!({ "type": 0 });
        for (name, field) in [("message_id", "id"), ("channel_id", "channel_id"), ("guild_id", "guild_id")] {
            if let Some(value) = message.get(field) {
                reference[name] = value.clone();
            }
        }
        self.kind(19).field("message_reference", reference)
    }

    /// A message sent on: the snapshot has these words and files, and names nobody.
    #[must_use]
    pub fn forward(mut self, text: &str, files: impl IntoIterator<Item = Media>) -> Self {
        self.forwarded = files.into_iter().collect();
        let reference = json!({ "type": 1, "message_id": "1", "channel_id": "1" });
        let snapshot = json!({ "message": {
            "type": 0, "content": text, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
            "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": null, "flags": 0,
            "components": [],
        } });
        self.field("flags", 1 << 14)
            .field("message_reference", reference)
            .field("message_snapshots", json!([snapshot]))
    }

    /// A voice message: one file and no words.
    #[must_use]
    pub fn voice(self, media: Media) -> Self {
        let media = media.field("duration_secs", 3.2).field("waveform", "FzYACgAAAAAAACQAAAAAAAA=");
        self.attachment(media.content_type("audio/ogg")).field("flags", 1 << 13)
    }

    /// Sent by a webhook of this id, under the name of nobody.
    #[must_use]
    pub fn webhook(mut self, id: u64) -> Self {
        self.author.insert("bot".to_owned(), true.into());
        self.field("webhook_id", id.to_string())
    }

    /// The sender is a bot.
    #[must_use]
    pub fn bot(mut self) -> Self {
        self.author.insert("bot".to_owned(), true.into());
        self
    }

    /// The type of the message: 0 is an ordinary one, 19 a reply.
    #[must_use]
    pub fn kind(self, kind: u64) -> Self {
        self.field("type", kind)
    }

    /// An explicit id; otherwise the next one.
    #[must_use]
    pub fn id(mut self, id: u64) -> Self {
        self.id = Some(id);
        self
    }

    /// Sent so long ago: its id and its time say so.
    #[must_use]
    pub fn ago(mut self, ago: Duration) -> Self {
        self.ago = ago;
        self
    }

    /// Stored without an event: only REST knows it.
    #[must_use]
    pub fn untold(mut self) -> Self {
        self.told = false;
        self
    }

    /// Any field of the message, in place of what it would be.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Any field of the author.
    #[must_use]
    pub fn author_field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.author.insert(name.to_owned(), value.into());
        self
    }

    /// Leaves a field of the message out, even one that is always there, such as `author`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    /// The content with the mention.
    pub(super) fn content(&self) -> String {
        match self.mentions_bot {
            true => format!("<@{BOT_ID}> {}", self.text),
            false => self.text.clone(),
        }
    }
}

/// A command as a person gives it.
#[derive(Clone, Debug)]
pub struct Command {
    pub(super) name: String,
    pub(super) user: u64,
    pub(super) channel: Option<u64>,
    pub(super) options: Vec<Value>,
    pub(super) files: Vec<(String, Media)>,
    pub(super) fields: Map<String, Value>,
}

impl Command {
    /// A command of this name, given by user 1 in private.
    pub fn new(name: &str) -> Self {
        let (options, files, fields) = (Vec::new(), Vec::new(), Map::new());
        Self { name: name.to_owned(), user: 1, channel: None, options, files, fields }
    }

    /// Who gives it.
    #[must_use]
    pub fn by(mut self, user: u64) -> Self {
        self.user = user;
        self
    }

    /// In a channel or thread of a guild.
    #[must_use]
    pub fn channel(mut self, channel: u64) -> Self {
        self.channel = Some(channel);
        self
    }

    /// One option; its type is that of the value: 3 a string, 4 an integer, 5 a boolean, 10 a
    /// number.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let kind = match &value {
            Value::Number(number) if number.is_f64() => 10,
            Value::Number(_) => 4,
            Value::Bool(_) => 5,
            _ => 3,
        };
        self.options.push(json!({ "name": name, "type": kind, "value": value }));
        self
    }

    /// One option of type 11: a file.
    #[must_use]
    pub fn file(mut self, name: &str, media: Media) -> Self {
        self.files.push((name.to_owned(), media));
        self
    }

    /// Any field of the interaction, in place of what it would be.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

/// A press of a button below a message.
#[derive(Clone, Debug)]
pub struct Press {
    pub(super) user: u64,
    pub(super) channel: u64,
    pub(super) message: u64,
    pub(super) custom_id: String,
}

impl Press {
    /// A press by this user; the button need not be there.
    pub fn new(user: u64, channel: u64, message: u64, custom_id: &str) -> Self {
        Self { user, channel, message, custom_id: custom_id.to_owned() }
    }

    /// A press below a message that somebody else wrote.
    pub fn below(user: u64, pushed: &Pushed, custom_id: &str) -> Self {
        Self::new(user, pushed.channel_id, pushed.message_id, custom_id)
    }
}
