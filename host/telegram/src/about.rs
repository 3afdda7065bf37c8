//! What a model is told of a message besides its words. Pure.

use super::bot::BotUser;
use super::wire::{ChatKind, Message};
use cofferdam_chat::handler::{Author, describe_message};

/// The line about a message; `None` where there is nothing to say.
pub(super) fn about(message: &Message, me: &BotUser) -> Option<String> {
    let from = (message.chat.kind == ChatKind::Group).then(|| author_of(message));
    let forwarded = message.besides.forwarded.clone().map(|from| (from, message.text.clone()));
    describe_message(from, replied_words(message, me), forwarded)
}

fn author_of(message: &Message) -> Author {
    Author::Person { id: message.from.map(|from| from.id), name: message.besides.name.clone() }
}

/// The words that are replied to, if there are any, and whose they are.
fn replied_words(message: &Message, me: &BotUser) -> Option<(Author, String)> {
    let replied = message.reply_to.as_deref();
    let text = message.besides.quote.as_deref().or(replied.map(|replied| replied.text.as_str()))?;
    let author = match replied.and_then(|replied| Some((replied.from?.id, replied))) {
        Some((id, _)) if id == me.id => Author::Bot,
        Some((_, replied)) => author_of(replied),
        None => Author::Unknown,
    };
    Some((author, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::wire::Update;
    use super::*;
    use serde_json::{Value, json};

    fn check(chat: &str, fields: Value, expected: Option<Value>) {
        let mut message = json!({ "message_id": 5, "chat": { "id": -5, "type": chat }, "text": "hi",
            "from": { "id": 7, "is_bot": false, "first_name": "Ann" } });
        message.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        let update = Update::read(&json!({ "update_id": 1, "message": message }).to_string());
        let message = update.expect("an update").message.expect("a message");
        let me = BotUser { id: 99, username: None, hears_all: false };
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
