//! What a model is told of a message besides its words, as one line of JSON: who speaks in a group, what the message
//! replies to, what it forwards. All of it is data; nothing in it can end the line. Pure.

use super::bot::Me;
use super::wire::{ChatKind, Message};
use serde_json::{Map, Value, json};

/// So much is shown of a message that is replied to.
const REPLIED_CHARS_MAX: usize = 2000;

/// The line about a message; `None` where there is nothing to say. In a group there always is, so that nobody there
/// can write a first line that passes for this one.
pub(super) fn about(message: &Message, me: &Me) -> Option<String> {
    let mut about = Map::new();
    if message.chat.kind == ChatKind::Group {
        let id = message.from.map(|from| from.id);
        about.insert("from".into(), json!({ "id": id, "name": message.besides.name }));
    }
    if let Some(replied) = replied(message, me) {
        about.insert("replies_to".into(), replied);
    }
    if let Some(from) = &message.besides.forwarded {
        about.insert("forwarded".into(), json!({ "from": from, "text": message.text }));
    }
    if about.is_empty() {
        return None;
    }
    let mut whole =
        Map::from_iter([("about".to_owned(), "this message".into()), ("untrusted".into(), true.into())]);
    whole.extend(about);
    Some(Value::Object(whole).to_string())
}

/// The words that are replied to, if there are any.
fn replied(message: &Message, me: &Me) -> Option<Value> {
    let replied = message.reply_to.as_deref();
    let text = message.besides.quote.as_deref().or(replied.map(|replied| replied.text.as_str()))?;
    if text.trim().is_empty() {
        return None;
    }
    let from = replied.and_then(|replied| Some((replied.from?.id, replied)));
    let from = match from {
        Some((id, _)) if id == me.id => json!("this bot"),
        Some((id, replied)) => json!({ "id": id, "name": replied.besides.name }),
        None => Value::Null,
    };
    let cut = text.chars().count() > REPLIED_CHARS_MAX;
    let text: String = text.chars().take(REPLIED_CHARS_MAX).collect();
    let mut shown = json!({ "from": from, "text": text });
    if cut {
        shown["cut"] = true.into();
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::super::bot::Hears;
    use super::super::wire::Update;
    use super::*;

    fn check(chat: &str, fields: Value, expected: Option<Value>) {
        let mut message = json!({ "message_id": 5, "chat": { "id": -5, "type": chat }, "text": "hi",
            "from": { "id": 7, "is_bot": false, "first_name": "Ann" } });
        message.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        let update = Update::read(&json!({ "update_id": 1, "message": message }).to_string());
        let message = update.expect("an update").message.expect("a message");
        let me = Me { id: 99, username: None, hears: Hears::default() };
        let line = about(&message, &me);
        assert!(line.as_ref().is_none_or(|line| !line.contains('\n')), "{line:?}");
        let read = line.map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
        assert_eq!(read, expected, "{fields}");
    }

    #[test]
    fn a_line_tells_who_speaks_and_of_what() {
        let of = |more: Value| {
            let mut all = json!({ "about": "this message", "untrusted": true });
            all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            Some(all)
        };
        let ann = json!({ "id": 7, "name": "Ann" });
        check("private", json!({}), None);
        check("group", json!({}), of(json!({ "from": ann })));
        let bens = json!({ "message_id": 1, "text": "a\n\"}b", "from": { "id": 8, "first_name": "Ben" } });
        let replies = |text: &str| json!({ "from": { "id": 8, "name": "Ben" }, "text": text });
        check(
            "private",
            json!({ "reply_to_message": bens }),
            of(json!({ "replies_to": replies("a\n\"}b") })),
        );
        let quoted = json!({ "reply_to_message": bens, "quote": { "text": "b" } });
        check("supergroup", quoted, of(json!({ "from": ann, "replies_to": replies("b") })));
        let ours = json!({ "message_id": 1, "text": "I", "from": { "id": 99, "is_bot": true } });
        let said = json!({ "from": "this bot", "text": "I" });
        check("private", json!({ "reply_to_message": ours }), of(json!({ "replies_to": said })));
        let photo = json!({ "message_id": 1, "photo": [], "from": { "id": 8 } });
        check("private", json!({ "reply_to_message": photo }), None);
        let long =
            json!({ "message_id": 1, "text": "é".repeat(2001), "from": { "id": 8, "first_name": "Ben" } });
        let mut cut = replies(&"é".repeat(2000));
        cut["cut"] = true.into();
        check("private", json!({ "reply_to_message": long }), of(json!({ "replies_to": cut })));
        let origin = json!({ "type": "hidden_user", "sender_user_name": "Eve" });
        let forwarded = json!({ "from": "Eve", "text": "hi" });
        check("private", json!({ "forward_origin": origin }), of(json!({ "forwarded": forwarded })));
    }
}
