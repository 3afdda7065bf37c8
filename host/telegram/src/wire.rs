//! What an update says, read leniently: a field of a wrong type counts as missing and never takes
//! the rest of the message with it. It judges nothing.

pub(super) use super::content::MessageContent;
use super::content::other_content;
use super::context::{MessageContext, name};
use super::media::MessageFile;
use super::outline::outline;
use serde_json::Value;

/// One update.
#[derive(Clone, Debug)]
pub(super) struct Update {
    pub(super) update_id: i64,
    /// Absent for every other kind of update.
    pub(super) message: Option<Message>,
    /// A message that was edited, as it is now.
    pub(super) edited: Option<Message>,
    /// A press of a button.
    pub(super) press: Option<ButtonPress>,
}

/// A press of a button below a message of the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ButtonPress {
    /// Names the press when it is answered.
    pub(super) query: String,
    pub(super) from: Option<User>,
    /// What the presser is called.
    pub(super) name: String,
    /// The chat of the message with the button.
    pub(super) chat: Option<i64>,
    /// What the button carries, or what somebody made up.
    pub(super) data: String,
}

/// The parts of a message that this channel uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) message_id: Option<i64>,
    pub(super) chat: Chat,
    /// The topic, where the chat has topics.
    pub(super) thread: Option<i64>,
    pub(super) from: Option<User>,
    /// In whose name it was sent.
    pub(super) on_behalf: SentFor,
    /// Text or caption.
    pub(super) text: String,
    pub(super) media: Option<MessageFile>,
    /// Whether its file is something said.
    pub(super) is_voice: bool,
    pub(super) media_group_id: Option<String>,
    pub(super) reply_to: Option<Box<Message>>,
    pub(super) content: MessageContent,
    pub(super) besides: MessageContext,
    /// The old and the new id of a group that became a supergroup: a service message in either.
    pub(super) moved: Option<(i64, i64)>,
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
    pub(super) is_bot: bool,
}

/// In whose name a message was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SentFor {
    #[default]
    Sender,
    /// An anonymous administrator, a channel.
    Chat,
    /// A bot has written it in the name of its sender, whose business account it is connected to.
    Account,
}

impl Update {
    /// The update in a JSON text; `None` if not even its id can be found.
    pub(super) fn read(text: &str) -> Option<Self> {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return outline(text);
        };
        let object = |key: &str| value.get(key).filter(|part| part.is_object());
        Some(Self {
            update_id: value.get("update_id")?.as_i64()?,
            message: object("message").map(Message::read),
            edited: object("edited_message").map(Message::read),
            press: object("callback_query").map(ButtonPress::read),
        })
    }

    /// The JSON text of an update with an edited message, as if the message had been sent so.
    pub(super) fn as_sent(text: &str) -> Option<String> {
        let value = serde_json::from_str::<Value>(text).ok()?;
        let message = value.get("edited_message")?;
        Some(serde_json::json!({ "update_id": value.get("update_id")?, "message": message }).to_string())
    }
}

impl ButtonPress {
    fn read(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Self {
            query: text("id"),
            from: User::read(&value["from"]),
            name: name(&value["from"]),
            chat: value["message"]["chat"]["id"].as_i64(),
            data: text("data"),
        }
    }
}

impl Message {
    pub(super) fn read(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let media = MessageFile::read(value);
        let words = text("text").or_else(|| text("caption")).unwrap_or_default();
        let is_topic = value["is_topic_message"] == true;
        let content =
            if media.is_some() || !words.is_empty() { MessageContent::Usable } else { other_content(value) };
        let chat = value["chat"]["id"].as_i64().unwrap_or_default();
        Self {
            message_id: value["message_id"].as_i64(),
            chat: Chat { id: chat, kind: chat_kind(&value["chat"]) },
            // Elsewhere the field names a thread of replies, which is no place to send to. What is
            // said in the topic General has none, and neither has what is sent to it.
            thread: value["message_thread_id"].as_i64().filter(|_| is_topic),
            from: User::read(&value["from"]),
            on_behalf: read_sent_for(value),
            text: words,
            is_voice: media.is_some() && value["voice"].is_object(),
            media,
            media_group_id: text("media_group_id")
                .or_else(|| value["media_group_id"].as_i64().map(|n| n.to_string())),
            reply_to: value
                .get("reply_to_message")
                .filter(|m| m.is_object())
                .map(|m| Box::new(Self::read_last(m))),
            content,
            besides: MessageContext::read(value),
            moved: read_migration(value, chat),
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

    /// Names the message among all messages of all chats; `None` where it has no id.
    pub(super) fn name(&self) -> Option<String> {
        Some(format!("{}/{}", self.chat.id, self.message_id?))
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
        Some(Self { id: value["id"].as_i64()?, is_bot: value["is_bot"] == true })
    }
}

fn read_sent_for(message: &Value) -> SentFor {
    let is_said = |key: &str| !message[key].is_null();
    if is_said("sender_chat") {
        SentFor::Chat
    } else if is_said("sender_business_bot") || is_said("business_connection_id") {
        SentFor::Account
    } else {
        SentFor::Sender
    }
}

fn read_migration(message: &Value, chat: i64) -> Option<(i64, i64)> {
    let id = |key: &str| message[key].as_i64();
    id("migrate_to_chat_id")
        .map(|to| (chat, to))
        .or_else(|| id("migrate_from_chat_id").map(|from| (from, chat)))
}

/// A channel's direct messages call themselves a supergroup, of which each topic is a conversation
/// with another person.
fn chat_kind(chat: &Value) -> ChatKind {
    match chat["type"].as_str() {
        Some("private") => ChatKind::Private,
        Some("group" | "supergroup") if chat["is_direct_messages"] != true => ChatKind::Group,
        _ => ChatKind::Other,
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
    fn who_speaks_for_somebody_and_where_is_told_apart() {
        let on_behalf = |fields: Value| message(fields).on_behalf;
        assert_eq!(on_behalf(json!({ "via_bot": { "id": 9, "is_bot": true } })), SentFor::Sender);
        assert_eq!(on_behalf(json!({ "sender_chat": { "id": -9 } })), SentFor::Chat);
        assert_eq!(on_behalf(json!({ "sender_business_bot": { "id": 9 } })), SentFor::Account);
        assert_eq!(on_behalf(json!({ "business_connection_id": "b" })), SentFor::Account);
        let group = json!({ "id": -9, "type": "supergroup", "is_direct_messages": true });
        assert_eq!(message(json!({ "chat": group })).chat.kind, ChatKind::Other);
    }

    #[test]
    fn text_and_media_are_usable() {
        assert_eq!(message(json!({ "text": "x" })).content, MessageContent::Usable);
        assert_eq!(message(json!({ "photo": [] })).content, MessageContent::Usable);
        assert_eq!(message(json!({ "text": 5 })).content, MessageContent::Unknown("unknown"));
    }

    #[test]
    fn a_press_is_no_message_and_a_field_of_a_wrong_type_counts_as_missing() {
        let press = |query: Value| {
            let update = Update::read(&json!({ "update_id": 3, "callback_query": query }).to_string());
            let update = update.expect("an update");
            assert!(update.message.is_none());
            update.press.expect("a press")
        };
        let whole = press(json!({ "id": "9", "from": { "id": 7, "is_bot": false, "first_name": "Ann" },
            "data": "approve:x",
            "message": { "message_id": 5, "chat": { "id": -5 }, "text": "x" } }));
        let from = Some(User { id: 7, is_bot: false });
        let (name, data) = ("Ann".into(), "approve:x".into());
        assert_eq!(whole, ButtonPress { query: "9".into(), from, name, chat: Some(-5), data });
        let odd = press(json!({ "id": 9, "from": 7, "data": ["x"], "message": [] }));
        let nothing = String::new;
        let expected =
            ButtonPress { query: nothing(), from: None, name: nothing(), chat: None, data: nothing() };
        assert_eq!(odd, expected);
    }

    #[test]
    fn an_edit_is_told_from_a_message_and_can_stand_for_it() {
        let edit = json!({ "update_id": 3, "edited_message": { "message_id": 5, "text": "x", "chat": { "id": -9 } } });
        let update = Update::read(&edit.to_string()).expect("an update");
        assert!(update.message.is_none());
        assert_eq!(update.edited.and_then(|message| message.name()).as_deref(), Some("-9/5"));
        let sent = Update::read(&Update::as_sent(&edit.to_string()).expect("an edit")).expect("an update");
        let (id, message) = (sent.update_id, sent.message.expect("a message"));
        assert_eq!((id, message.text.as_str(), message.name().as_deref()), (3, "x", Some("-9/5")));
        assert_eq!(Update::as_sent(r#"{"update_id":3,"message":{}}"#), None);
    }

    #[test]
    fn a_group_that_moves_says_so() {
        let moved = |fields: Value| message(fields).moved;
        assert_eq!(moved(json!({ "migrate_to_chat_id": -1005 })), Some((7, -1005)));
        assert_eq!(moved(json!({ "migrate_from_chat_id": -5 })), Some((-5, 7)));
        assert_eq!(moved(json!({ "migrate_to_chat_id": "x" })), None);
    }

    #[test]
    fn other_kinds_are_no_messages() {
        for kind in ["callback_query", "channel_post", "my_chat_member"] {
            let update = json!({ "update_id": 3, kind: { "text": "x" } }).to_string();
            assert!(Update::read(&update).expect("an update").message.is_none(), "{kind}");
        }
    }
}
