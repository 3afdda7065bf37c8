//! The bare outline of an update whose JSON no parser accepts as a whole: nested without end,
//! numbers or escapes out of range. Enough to tell its sender so.

use super::wire::{Chat, Message, MessageContent, SentFor, Update, User, parse_chat_kind};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What can be told of an update from a text that is no JSON value; `None` if not even its id.
pub(super) fn outline(text: &str) -> Option<Update> {
    let outline = serde_json::from_str::<Outline>(text).ok().map(Outline::update);
    outline.or_else(|| {
        Some(Update { update_id: find_update_id(text)?, message: None, edited: None, press: None })
    })
}

/// The update's id in a text that may not be JSON. Quotes within strings are escaped, so no sender
/// can write this key.
pub(super) fn find_update_id(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once("\"update_id\":")?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// All that is not named here is skipped without being looked at.
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
            chat: Chat { id: m.chat.id, kind: parse_chat_kind(&m.chat.kind) },
            thread: m.message_thread_id.filter(|_| m.is_topic_message == Some(true)),
            from: m.from.map(|user| User { id: user.id, is_bot: user.is_bot == Some(true) }),
            on_behalf: if m.sender_chat.is_some() { SentFor::Chat } else { SentFor::Sender },
            content: MessageContent::Unreadable,
            ..Message::default()
        });
        Update { update_id: self.update_id, message, edited: None, press: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_is_left_of_what_no_parser_accepts() {
        let from = r#""from":{"id":7,"is_bot":false},"chat":{"id":7,"type":"private"}"#;
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        for odd in [deep.as_str(), "1e999", r#""\ud83d""#, r#"{"text":1e999}"#] {
            let text = format!(r#"{{"update_id":9,"message":{{"message_id":2,{from},"x":{odd}}}}}"#);
            let update = Update::read(&text).expect(odd);
            let message = update.message.expect(odd);
            assert_eq!((update.update_id, message.message_id, message.chat.id), (9, Some(2), 7));
            assert_eq!(message.content, MessageContent::Unreadable, "{odd}");
        }
        let no_message = Update::read(r#"{"update_id":9,"message":{"chat":1e999}}"#).expect("an id");
        assert_eq!((no_message.update_id, no_message.message.is_none()), (9, true));
        assert!(Update::read("not JSON").is_none() && Update::read("[]").is_none());
        assert_eq!(find_update_id(r#"{"ok":true,"result":[{"update_id": 12,"mess"#), Some(12));
    }
}
