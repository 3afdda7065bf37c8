//! What the gateway and the REST API say, read leniently: a field of a wrong type counts as missing
//! and never takes the rest with it. It judges nothing.

use super::file::DiscordFile;
use cofferdam_core::text::one_line;
use serde_json::Value;

/// The number of something at Discord.
pub(super) type Snowflake = i64;

/// Longer names are cut.
pub(super) const PERSON_BYTES_MAX: usize = 64;
/// Files of one message that are looked at; Discord's messages have at most ten.
pub(super) const FILES_MAX: usize = 50;

/// The flag of a voice message.
const VOICE_FLAG: u64 = 1 << 13;

/// A message, or a command in its place.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Its own, or that of the interaction.
    pub(super) id: Snowflake,
    pub(super) channel: Snowflake,
    /// Absent in private.
    pub(super) guild: Option<Snowflake>,
    pub(super) author: User,
    /// Sent by a webhook of anybody.
    pub(super) webhook: bool,
    pub(super) kind: MessageKind,
    /// Absent where Discord says nothing of it, as in some updates.
    pub(super) text: Option<String>,
    pub(super) files: Vec<DiscordFile>,
    /// Whether its file is something said.
    pub(super) is_voice: bool,
    /// Somebody else's words that are sent on; perhaps empty.
    pub(super) forwarded: Option<String>,
    pub(super) replied: RepliedMessage,
    /// People that Discord counts as mentioned, also by a reply that pings them.
    pub(super) mentions: Vec<Snowflake>,
    pub(super) command: Option<Command>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    Plain,
    Reply,
    Command,
    /// Something that nobody has written.
    Other(u64),
}

/// What a message replies to.
#[derive(Clone, Debug, Default)]
pub(super) enum RepliedMessage {
    #[default]
    Nothing,
    /// Deleted, or Discord has not looked.
    Unknown,
    Message(Box<Message>),
}

/// Who has written something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) id: Snowflake,
    pub(super) bot: bool,
    /// What they call themselves; on one line, bounded, perhaps empty.
    pub(super) name: String,
}

/// An interaction that can be answered for a while.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Interaction {
    pub(super) id: Snowflake,
    pub(super) application: Snowflake,
    /// A secret for 15 minutes.
    pub(super) token: String,
    /// Noted here once Discord was told that an answer comes.
    #[serde(skip)]
    pub(super) acknowledged: bool,
}

/// The field under which a command that was acknowledged is kept.
pub(super) const ACKNOWLEDGED: &str = "cofferdam_acknowledged";

/// A command and its options.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) interaction: Interaction,
    pub(super) name: String,
    /// Name and value of each, but for files.
    pub(super) options: Vec<(String, Value)>,
}

/// A press of a button.
#[derive(Clone, Debug)]
pub(super) struct ButtonPress {
    pub(super) interaction: Interaction,
    pub(super) user: Option<User>,
    pub(super) channel: Snowflake,
    /// What the button carries, or what somebody made up.
    pub(super) data: String,
}

/// An id, which Discord writes as text; no other spelling of it, such as one with a sign.
pub(super) fn id(value: &Value) -> Option<Snowflake> {
    let is_plain = |text: &&str| text.starts_with(|c| matches!(c, '1'..='9'));
    let id = value.as_str().map_or_else(|| value.as_i64(), |text| Some(text).filter(is_plain)?.parse().ok());
    id.filter(|id| *id > 0)
}

impl Message {
    /// A message or command as it is kept.
    pub(super) fn from_kept(raw: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(raw).ok()?;
        if value["token"].is_string() { Self::from_command(&value) } else { Self::read(&value) }
    }

    /// A message; `None` for what is of no shape that is known.
    pub(super) fn read(message: &Value) -> Option<Self> {
        let mut own = Self::read_alone(message)?;
        if own.kind == MessageKind::Reply && own.forwarded.is_none() {
            let replied = Self::read_alone(&message["referenced_message"]).map(Box::new);
            own.replied = replied.map_or(RepliedMessage::Unknown, RepliedMessage::Message);
        }
        Some(own)
    }

    /// Without what it replies to: replies within replies are not looked at.
    fn read_alone(message: &Value) -> Option<Self> {
        let (own, channel) = (id(&message["id"])?, id(&message["channel_id"])?);
        let kind = match message["type"].as_u64() {
            Some(0) => MessageKind::Plain,
            Some(19) => MessageKind::Reply,
            // The answer to a command: Discord lets nobody else write one.
            other => MessageKind::Other(other.unwrap_or(u64::MAX)),
        };
        let mut author = User::read(&message["author"])?;
        if let Some(name) = message["member"]["nick"].as_str().filter(|name| !name.trim().is_empty()) {
            author.name = mention_name(name);
        }
        let snapshot = &message["message_snapshots"][0]["message"];
        let is_forward = message["message_reference"]["type"] == 1;
        let files = if is_forward { &snapshot["attachments"] } else { &message["attachments"] };
        Some(Self {
            id: own,
            channel,
            guild: id(&message["guild_id"]),
            author,
            webhook: !message["webhook_id"].is_null(),
            kind,
            text: message["content"].as_str().map(str::to_owned),
            files: DiscordFile::all(files, channel, Some(own), FILES_MAX),
            is_voice: message["flags"].as_u64().is_some_and(|flags| flags & VOICE_FLAG != 0),
            forwarded: is_forward.then(|| snapshot["content"].as_str().unwrap_or_default().to_owned()),
            replied: RepliedMessage::Nothing,
            mentions: message["mentions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|user| id(&user["id"]))
                .collect(),
            command: None,
        })
    }

    /// The interaction of a command; `None` for what is no command.
    pub(super) fn from_command(event: &Value) -> Option<Self> {
        if event["type"] != 2 {
            return None;
        }
        let (interaction, data) = (Interaction::read(event)?, &event["data"]);
        let channel = id(&event["channel_id"])?;
        let (mut options, mut files) = (Vec::new(), Vec::new());
        for option in data["options"].as_array().into_iter().flatten() {
            let Some(name) = option["name"].as_str() else { continue };
            let of_file = || option["value"].as_str().map(|id| &data["resolved"]["attachments"][id]);
            match (option["type"] == 11).then(of_file).flatten() {
                Some(file) => files.extend(DiscordFile::read(file, channel, None)),
                None => options.push((name.to_owned(), option["value"].clone())),
            }
        }
        Some(Self {
            id: interaction.id,
            channel,
            guild: id(&event["guild_id"]),
            author: user(event)?,
            webhook: false,
            kind: MessageKind::Command,
            text: None,
            files,
            is_voice: false,
            forwarded: None,
            replied: RepliedMessage::Nothing,
            mentions: Vec::new(),
            command: Some(Command { interaction, name: data["name"].as_str()?.to_owned(), options }),
        })
    }

    /// Its words; none is as good as empty.
    pub(super) fn words(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Names the message, so that an update or a deletion finds it.
    pub(super) fn name(channel: Snowflake, id: Snowflake) -> String {
        format!("{channel}/{id}")
    }
}

impl User {
    /// Somebody; `None` without an id.
    pub(super) fn read(user: &Value) -> Option<Self> {
        let name = ["global_name", "username"].into_iter().filter_map(|key| user[key].as_str());
        let name = name.map(mention_name).find(|name| !name.is_empty()).unwrap_or_default();
        Some(Self { id: id(&user["id"])?, bot: user["bot"] == true, name })
    }
}

impl Interaction {
    fn read(event: &Value) -> Option<Self> {
        let token = event["token"].as_str().filter(|token| !token.is_empty())?.to_owned();
        let acknowledged = event[ACKNOWLEDGED] == true;
        Some(Self { id: id(&event["id"])?, application: id(&event["application_id"])?, token, acknowledged })
    }
}

impl ButtonPress {
    /// A press; `None` for an interaction of another kind.
    pub(super) fn read(event: &Value) -> Option<Self> {
        let interaction = Interaction::read(event).filter(|_| event["type"] == 3)?;
        let data = event["data"]["custom_id"].as_str().unwrap_or_default().to_owned();
        Some(Self {
            interaction,
            user: user(event),
            channel: id(&event["channel_id"]).unwrap_or_default(),
            data,
        })
    }
}

/// Who made an interaction: in guilds a member.
fn user(event: &Value) -> Option<User> {
    User::read(&event["member"]["user"]).or_else(|| User::read(&event["user"]))
}

fn mention_name(name: &str) -> String {
    one_line(name.trim(), PERSON_BYTES_MAX).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(fields: Value) -> Option<Message> {
        let mut message = json!({ "id": "7", "channel_id": "5", "type": 0, "content": "hi",
            "author": { "id": "3", "username": "ann", "global_name": "Ann" } });
        message.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        Message::read(&message)
    }

    #[test]
    fn nonsense_in_a_field_costs_that_field_only() {
        let read = |fields: Value| message(fields).expect("a message");
        let odd = read(json!({ "content": 5, "attachments": "x", "mentions": [1, null], "guild_id": {} }));
        assert_eq!((odd.words(), odd.files.len(), odd.mentions.len(), odd.guild), ("", 0, 0, None));
        assert_eq!(read(json!({ "member": { "nick": "A\u{202E}\nb" } })).author.name, "A  b");
        assert_eq!(read(json!({ "type": 7 })).kind, MessageKind::Other(7));
        assert!(read(json!({ "webhook_id": "5" })).webhook);
        for wrong in [json!({ "id": -1 }), json!({ "channel_id": null }), json!({ "author": {} })] {
            assert!(message(wrong.clone()).is_none(), "{wrong}");
        }
        for wrong in ["", "{", "[]", "null", "{\"token\":\"x\"}", "7"] {
            assert!(Message::from_kept(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn of_very_many_files_the_first_are_looked_at() {
        let file = |n: usize| json!({ "id": (n + 1).to_string(), "filename": n.to_string() });
        let crowd = message(json!({ "attachments": (0..FILES_MAX + 10).map(file).collect::<Vec<_>>() }));
        let names: Vec<_> = crowd.expect("a message").files.into_iter().map(|file| file.name).collect();
        assert_eq!(names, (0..FILES_MAX).map(|n| n.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_reply_knows_what_it_replies_to_or_that_it_is_gone() {
        let to = json!({ "id": "6", "channel_id": "5", "type": 0, "content": "x", "author": { "id": "9" } });
        let reply = message(json!({ "type": 19, "referenced_message": to })).expect("a message");
        assert!(matches!(reply.replied, RepliedMessage::Message(to) if to.author.id == 9));
        for gone in [json!({ "type": 19, "referenced_message": null }), json!({ "type": 19 })] {
            assert!(matches!(message(gone).expect("a message").replied, RepliedMessage::Unknown));
        }
    }

    #[test]
    fn the_files_of_a_forward_are_those_of_its_snapshot() {
        let file = |name: &str| {
            json!({ "id": "11", "filename": name, "size": 3,
            "url": "https://cdn.discordapp.com/attachments/1/11/a?ex=1" })
        };
        let forward = message(json!({
            "message_reference": { "type": 1, "message_id": "2" },
            "attachments": [file("wrong")],
            "message_snapshots": [{ "message": { "content": "/x", "attachments": [file("a")] } }],
        }));
        let forward = forward.expect("a message");
        assert_eq!(forward.forwarded.as_deref(), Some("/x"));
        assert_eq!(forward.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_command_has_its_options_and_files_in_order() {
        let event = json!({ "id": "8", "type": 2, "token": "t", "application_id": "1", "channel_id": "5",
            "user": { "id": "3", "username": "ann" },
            "data": { "name": "x", "options": [
                { "name": "a", "type": 4, "value": 1 }, { "name": "file", "type": 11, "value": "11" } ],
                "resolved": { "attachments": { "11": { "id": "11", "filename": "f", "url": "u" } } } } });
        let command = Message::from_command(&event).expect("a command");
        assert_eq!((command.files.len(), command.author.id, command.guild), (1, 3, None));
        assert_eq!(command.command.expect("it").options, [("a".to_owned(), json!(1))]);
        assert!(ButtonPress::read(&event).is_none());
    }
}
