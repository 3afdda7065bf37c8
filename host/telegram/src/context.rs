//! What a message says besides its words: who wrote it, whom it mentions, what it quotes, where it
//! was forwarded from. All of it is information from outside; nothing of it decides who is served.

use cofferdam_core::text::one_line;
use serde_json::Value;

/// Longer names are cut.
pub(super) const PERSON_BYTES_MAX: usize = 64;
/// Mentions of a message that are looked at; Telegram's messages have at most 100 entities.
const MENTIONS_MAX: usize = 100;

/// What a message says besides its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MessageContext {
    /// What the sender calls themselves; on one line, bounded, perhaps empty.
    pub(super) name: String,
    /// People and bots that are mentioned without a user name.
    pub(super) mentions: Vec<i64>,
    /// Who wrote the words, where the sender only sends them on: somebody whose message it was, or
    /// a bot that made them for the sender to pick; perhaps empty.
    pub(super) forwarded: Option<String>,
    /// The part of the message replied to that is meant.
    pub(super) quote: Option<String>,
}

impl MessageContext {
    pub(super) fn read(message: &Value) -> Self {
        Self {
            name: name(&message["from"]),
            mentions: mentions(message),
            forwarded: forward_author(message),
            quote: message["quote"]["text"].as_str().filter(|text| !text.is_empty()).map(str::to_owned),
        }
    }
}

/// What somebody calls themselves.
pub(super) fn name(user: &Value) -> String {
    let parts = ["first_name", "last_name"].map(|key| user[key].as_str().unwrap_or_default().trim());
    let whole = parts.join(" ");
    let username = user["username"].as_str().map(|name| format!("@{name}")).unwrap_or_default();
    let shown = if whole.trim().is_empty() { username } else { whole };
    one_line(shown.trim(), PERSON_BYTES_MAX).trim_end().to_owned()
}

fn mentions(message: &Value) -> Vec<i64> {
    let all = ["entities", "caption_entities"].map(|key| message[key].as_array());
    let mentions = all.into_iter().flatten().flatten().take(MENTIONS_MAX);
    mentions
        .filter(|entity| entity["type"] == "text_mention")
        .filter_map(|e| e["user"]["id"].as_i64())
        .collect()
}

/// Who it was forwarded from, also where that is of a kind that nobody knows: words count as the
/// sender's own only where nothing says otherwise.
fn forward_author(message: &Value) -> Option<String> {
    let text = |value: &Value| one_line(value.as_str().unwrap_or_default().trim(), PERSON_BYTES_MAX);
    let origin = &message["forward_origin"];
    match origin["type"].as_str() {
        Some("user") => Some(name(&origin["sender_user"])),
        Some("hidden_user") => Some(text(&origin["sender_user_name"])),
        Some("chat") => Some(text(&origin["sender_chat"]["title"])),
        Some("channel") => Some(text(&origin["chat"]["title"])),
        _ if origin.is_object() => Some(String::new()),
        // As servers before Bot API 7.0 say it.
        _ if message["forward_from"].is_object() => Some(name(&message["forward_from"])),
        _ if message["forward_from_chat"].is_object() => Some(text(&message["forward_from_chat"]["title"])),
        _ if message["forward_sender_name"].is_string() => Some(text(&message["forward_sender_name"])),
        _ if message["via_bot"].is_object() => Some(name(&message["via_bot"])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_one_short_line() {
        assert_eq!(name(&json!({ "first_name": "Ann", "last_name": "Lee", "username": "al" })), "Ann Lee");
        assert_eq!(name(&json!({ "first_name": " ", "username": "al" })), "@al");
        assert_eq!(name(&json!({ "first_name": "A\u{202E}b\nc" })), "A b c");
        assert!(name(&json!({ "first_name": "é".repeat(500) })).len() <= PERSON_BYTES_MAX);
        assert_eq!((name(&json!({ "first_name": 5 })), name(&Value::Null)), (String::new(), String::new()));
    }

    #[test]
    fn words_of_somebody_else_are_told_from_the_senders_own() {
        let check = |message: Value, expected: Option<&str>| {
            assert_eq!(MessageContext::read(&message).forwarded.as_deref(), expected, "{message}");
        };
        check(
            json!({ "forward_origin": { "type": "user", "sender_user": { "first_name": "Eve" } } }),
            Some("Eve"),
        );
        check(json!({ "forward_origin": { "type": "hidden_user", "sender_user_name": "Eve" } }), Some("Eve"));
        check(json!({ "forward_origin": { "type": "channel", "chat": { "title": "News" } } }), Some("News"));
        check(json!({ "forward_origin": { "type": "chat" } }), Some(""));
        check(json!({ "forward_from": { "first_name": "Eve" } }), Some("Eve"));
        check(json!({ "forward_sender_name": "Eve", "forward_date": 1 }), Some("Eve"));
        check(json!({ "via_bot": { "first_name": "GIFs", "is_bot": true } }), Some("GIFs"));
        check(json!({ "forward_origin": { "type": "from_2031" } }), Some(""));
        for odd in [json!({ "forward_origin": "x", "via_bot": [] }), json!({ "forward_date": -1 }), json!({})]
        {
            check(odd, None);
        }
    }

    #[test]
    fn a_mention_without_a_user_name_has_an_id() {
        let entities =
            json!([{ "type": "text_mention", "user": { "id": 9 } }, { "type": "bold" }, "x", null]);
        assert_eq!(MessageContext::read(&json!({ "entities": entities })).mentions, [9]);
        assert_eq!(MessageContext::read(&json!({ "caption_entities": entities })).mentions, [9]);
        assert_eq!(MessageContext::read(&json!({ "entities": "none" })).mentions, Vec::<i64>::new());
    }
}
