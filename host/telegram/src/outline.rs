//! The bare outline of an update whose JSON no parser accepts as a whole: nested without end,
//! numbers or escapes out of range. Enough to tell its sender so.

use super::wire::{Message, MessageContent, Update};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Levels of objects that are looked into: the update, its message, and that one's chat and sender.
const LEVELS: usize = 3;

/// What can be told of an update from a text that is no JSON value; `None` if not even its id.
pub(super) fn outline(text: &str) -> Option<Update> {
    let value = read_accepted(text, LEVELS);
    let update_id = value["update_id"].as_i64().or_else(|| find_update_id(text))?;
    let message = value.get("message").filter(|message| message["chat"]["id"].is_i64());
    let message = message.map(|message| {
        let Message { message_id, chat, thread, from, on_behalf, .. } = Message::read(message);
        let content = MessageContent::Unreadable;
        Message { message_id, chat, thread, from, on_behalf, content, ..Message::default() }
    });
    Some(Update { update_id, message, edited: None, press: None })
}

/// The value in a text. Where no parser accepts it, an object has its members down to a level, and
/// all else is `false`, which is there and says nothing.
fn read_accepted(text: &str, levels: usize) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let fields = serde_json::from_str::<BTreeMap<String, &RawValue>>(text).ok().filter(|_| levels > 0);
    let Some(fields) = fields else { return Value::Bool(false) };
    fields.into_iter().map(|(name, raw)| (name, read_accepted(raw.get(), levels - 1))).collect()
}

/// The update's id in a text that may not be JSON. Quotes within strings are escaped, so no sender
/// can write this key.
pub(super) fn find_update_id(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once("\"update_id\":")?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
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
