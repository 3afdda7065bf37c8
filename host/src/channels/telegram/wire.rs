//! What an update says, read leniently: a field of a wrong type counts as missing and never takes the
//! rest of the message with it. It judges nothing.

use super::media::Media;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// One update.
#[derive(Clone, Debug)]
pub(super) struct Update {
    pub(super) update_id: i64,
    /// Absent for every other kind of update, edited messages included.
    pub(super) message: Option<Message>,
}

/// The parts of a message that this channel uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) message_id: Option<i64>,
    pub(super) chat: Chat,
    /// The topic, where the chat has topics.
    pub(super) thread: Option<i64>,
    pub(super) from: Option<User>,
    /// Sent in the name of a chat: an anonymous administrator, a channel.
    pub(super) on_behalf: OnBehalf,
    /// Text or caption.
    pub(super) text: String,
    pub(super) media: Option<Media>,
    pub(super) media_group_id: Option<String>,
    pub(super) reply_to: Option<Box<Message>>,
    pub(super) content: Content,
}

/// The chat of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chat {
    pub(super) id: i64,
    pub(super) kind: ChatKind,
}

/// What kind of chat it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ChatKind {
    Private,
    /// A group or supergroup.
    Group,
    /// A channel, or something unknown.
    #[default]
    Other,
}

/// The sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) id: i64,
    pub(super) kind: UserKind,
}

/// What the sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserKind {
    Person,
    Bot,
}

/// In whose name a message was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OnBehalf {
    #[default]
    Sender,
    Chat,
}

/// What a message consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Content {
    /// Text, media, or both.
    Usable,
    /// Telegram reports something: a pinned message, a new member.
    Service,
    /// Something else that a person sent, by its name in the API.
    Unknown(&'static str),
    /// The JSON itself cannot be read.
    #[default]
    Unreadable,
}

/// Kinds of content that people send and that this channel does not use.
const UNUSED: &[&str] = &[
    "location",
    "venue",
    "contact",
    "poll",
    "dice",
    "game",
    "story",
    "paid_media",
    "invoice",
    "checklist",
    "giveaway",
    "web_app_data",
    "users_shared",
    "chat_shared",
];

/// Fields of a message that say nothing about its content.
const FRAME: &[&str] = &[
    "message_id",
    "message_thread_id",
    "from",
    "sender_chat",
    "sender_boost_count",
    "sender_business_bot",
    "date",
    "business_connection_id",
    "chat",
    "is_topic_message",
    "is_automatic_forward",
    "reply_to_message",
    "external_reply",
    "quote",
    "reply_to_story",
    "via_bot",
    "edit_date",
    "has_protected_content",
    "is_from_offline",
    "author_signature",
    "reply_markup",
    "effect_id",
    "forward_origin",
    "forward_from",
    "forward_date",
    "show_caption_above_media",
    "has_media_spoiler",
    "link_preview_options",
    "entities",
    "caption_entities",
    "media_group_id",
];

impl Update {
    /// The update in a JSON text; `None` if not even its id can be found.
    pub(super) fn read(text: &str) -> Option<Self> {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            let outline = serde_json::from_str::<Outline>(text).ok().map(Outline::update);
            return outline.or_else(|| Some(Self { update_id: find_update_id(text)?, message: None }));
        };
        let message = value.get("message").filter(|message| message.is_object());
        Some(Self { update_id: value.get("update_id")?.as_i64()?, message: message.map(Message::read) })
    }
}

impl Message {
    fn read(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let media = Media::read(value);
        let words = text("text").or_else(|| text("caption")).unwrap_or_default();
        let is_topic = value["is_topic_message"] == true;
        let content =
            if media.is_some() || !words.is_empty() { Content::Usable } else { other_content(value) };
        Self {
            message_id: value["message_id"].as_i64(),
            chat: Chat {
                id: value["chat"]["id"].as_i64().unwrap_or_default(),
                kind: chat_kind(&value["chat"]),
            },
            // Elsewhere the field names a thread of replies, which is no place to send to.
            thread: value["message_thread_id"].as_i64().filter(|_| is_topic),
            from: User::read(&value["from"]),
            on_behalf: if value["sender_chat"].is_null() { OnBehalf::Sender } else { OnBehalf::Chat },
            text: words,
            media,
            media_group_id: text("media_group_id")
                .or_else(|| value["media_group_id"].as_i64().map(|n| n.to_string())),
            reply_to: value
                .get("reply_to_message")
                .filter(|m| m.is_object())
                .map(|m| Box::new(Self::read_last(m))),
            content,
        }
    }

    /// A message within a message: what that one replies to is of no interest.
    fn read_last(value: &Value) -> Self {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("reply_to_message");
        }
        Self::read(&value)
    }

    /// Names the album that the message is part of, among all albums of all chats.
    pub(super) fn album(&self) -> Option<String> {
        let group = self.media_group_id.as_ref()?;
        let (thread, sender) = (self.thread.unwrap_or_default(), self.from.map_or(0, |user| user.id));
        Some(format!("{}/{thread}/{sender}/{}", self.chat.id, cofferdam_core::text::one_line(group, 128)))
    }
}

impl User {
    fn read(value: &Value) -> Option<Self> {
        let kind = if value["is_bot"] == true { UserKind::Bot } else { UserKind::Person };
        Some(Self { id: value["id"].as_i64()?, kind })
    }
}

fn chat_kind(chat: &Value) -> ChatKind {
    kind_named(chat["type"].as_str().unwrap_or_default())
}

fn kind_named(name: &str) -> ChatKind {
    match name {
        "private" => ChatKind::Private,
        "group" | "supergroup" => ChatKind::Group,
        _ => ChatKind::Other,
    }
}

/// The content of a message without text and media. What no list knows is taken for something that a
/// person sent: an answer too many is better than silence.
fn other_content(message: &Value) -> Content {
    if let Some(kind) = UNUSED.iter().find(|kind| !message[**kind].is_null()) {
        return Content::Unknown(kind);
    }
    let fields = message.as_object().into_iter().flat_map(|fields| fields.keys());
    let rest: Vec<&String> = fields.filter(|key| !FRAME.contains(&key.as_str())).collect();
    if !rest.is_empty() && rest.iter().all(|key| is_service(key)) {
        return Content::Service;
    }
    Content::Unknown("unknown")
}

/// Whether a field tells of an event rather than of something sent.
fn is_service(key: &str) -> bool {
    const EXACT: &[&str] = &[
        "pinned_message",
        "connected_website",
        "write_access_allowed",
        "proximity_alert_triggered",
        "boost_added",
        "chat_background_set",
        "message_auto_delete_timer_changed",
        "successful_payment",
        "refunded_payment",
        "left_chat_member",
        "passport_data",
        "gift",
        "unique_gift",
    ];
    const STARTS: &[&str] = &[
        "new_chat_",
        "delete_chat_photo",
        "group_chat_",
        "supergroup_chat_",
        "channel_chat_",
        "migrate_",
        "forum_topic_",
        "general_forum_topic_",
        "video_chat_",
        "giveaway_",
        "checklist_tasks_",
        "direct_message_",
        "suggested_post_",
        "paid_message_",
    ];
    EXACT.contains(&key) || STARTS.iter().any(|start| key.starts_with(start))
}

/// The update's id in a text that may not be JSON. Quotes within strings are escaped, so no sender can
/// write this key.
pub(super) fn find_update_id(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once("\"update_id\":")?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The bare outline of an update, for JSON that no parser accepts as a whole: nested without end, numbers
/// or escapes out of range. Whatever is not named here is skipped without being looked at.
#[derive(Deserialize)]
struct Outline {
    update_id: i64,
    message: Option<OutlineMessage>,
}

#[derive(Deserialize)]
struct OutlineMessage {
    message_id: Option<i64>,
    message_thread_id: Option<i64>,
    is_topic_message: Option<bool>,
    chat: OutlineChat,
    from: Option<OutlineUser>,
    sender_chat: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct OutlineChat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct OutlineUser {
    id: i64,
    is_bot: Option<bool>,
}

impl Outline {
    fn update(self) -> Update {
        let message = self.message.map(|m| Message {
            message_id: m.message_id,
            chat: Chat { id: m.chat.id, kind: kind_named(&m.chat.kind) },
            thread: m.message_thread_id.filter(|_| m.is_topic_message == Some(true)),
            from: m.from.map(|user| User {
                id: user.id,
                kind: if user.is_bot == Some(true) { UserKind::Bot } else { UserKind::Person },
            }),
            on_behalf: if m.sender_chat.is_some() { OnBehalf::Chat } else { OnBehalf::Sender },
            content: Content::Unreadable,
            ..Message::default()
        });
        Update { update_id: self.update_id, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(fields: Value) -> Message {
        let mut message = json!({ "message_id": 5, "date": 1, "chat": { "id": 7, "type": "private" },
            "from": { "id": 7, "is_bot": false, "first_name": "A" } });
        let all = message.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("fields").clone());
        let update = json!({ "update_id": 1, "message": message }).to_string();
        Update::read(&update).expect("an update").message.expect("a message")
    }

    #[test]
    fn nonsense_in_one_part_does_not_take_the_rest() {
        let odd = message(json!({
            "text": "hi", "entities": [{ "type": "never_heard_of", "offset": "x" }], "reply_to_message": 5,
            "media_group_id": 99, "message_thread_id": "t", "is_topic_message": 1, "via_bot": [],
        }));
        assert_eq!((odd.text.as_str(), odd.thread, odd.media_group_id.as_deref()), ("hi", None, Some("99")));
        let document = json!({ "file_id": "d", "mime_type": "not a mime", "file_size": 1_u64 << 40 });
        let file = message(json!({ "document": document, "caption": "c" }));
        assert_eq!((file.text.as_str(), file.media.and_then(|m| m.size)), ("c", Some(1 << 40)));
    }

    #[test]
    fn a_thread_counts_in_topics_only() {
        assert_eq!(message(json!({ "text": "x", "message_thread_id": 3 })).thread, None);
        assert_eq!(
            message(json!({ "text": "x", "message_thread_id": 3, "is_topic_message": true })).thread,
            Some(3)
        );
    }

    #[test]
    fn content_is_told_apart() {
        assert_eq!(message(json!({ "text": "x" })).content, Content::Usable);
        assert_eq!(message(json!({ "photo": [] })).content, Content::Usable);
        assert_eq!(
            message(json!({ "location": { "latitude": 1 }, "venue": {} })).content,
            Content::Unknown("location")
        );
        assert_eq!(message(json!({ "hologram": {} })).content, Content::Unknown("unknown"));
        assert_eq!(message(json!({ "text": 5 })).content, Content::Unknown("unknown"));
        assert_eq!(message(json!({})).content, Content::Unknown("unknown"));
        assert_eq!(message(json!({ "new_chat_title": "x" })).content, Content::Service);
        assert_eq!(message(json!({ "pinned_message": {}, "date": 1 })).content, Content::Service);
    }

    #[test]
    fn an_outline_is_left_of_what_no_parser_accepts() {
        let from = r#""from":{"id":7,"is_bot":false},"chat":{"id":7,"type":"private"}"#;
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        for odd in [deep.as_str(), "1e999", r#""\ud83d""#, r#"{"text":1e999}"#] {
            let text = format!(r#"{{"update_id":9,"message":{{"message_id":2,{from},"x":{odd}}}}}"#);
            let update = Update::read(&text).expect(odd);
            let message = update.message.expect(odd);
            assert_eq!((update.update_id, message.message_id, message.chat.id), (9, Some(2), 7));
            let expected =
                if odd.contains("d83d") { Content::Unknown("unknown") } else { Content::Unreadable };
            assert_eq!(message.content, expected, "{odd}");
        }
        let no_message = Update::read(r#"{"update_id":9,"message":{"chat":1e999}}"#).expect("an id");
        assert_eq!((no_message.update_id, no_message.message.is_none()), (9, true));
        assert!(Update::read("not JSON").is_none() && Update::read("[]").is_none());
        assert_eq!(find_update_id(r#"{"ok":true,"result":[{"update_id": 12,"mess"#), Some(12));
    }

    #[test]
    fn edits_and_other_kinds_are_no_messages() {
        for kind in ["edited_message", "callback_query", "channel_post", "my_chat_member"] {
            let update = json!({ "update_id": 3, kind: { "text": "x" } }).to_string();
            assert!(Update::read(&update).expect("an update").message.is_none(), "{kind}");
        }
    }
}
