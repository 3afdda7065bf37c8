//! What must hold for any bytes that come over the gateway: reading ends, an event is what its JSON
//! says, nobody is served who is not named, and what is kept is read again as it was judged.
//!
//! Used by the fuzz target, which includes this file, and by the run over the corpus below.

use super::admission::admit;
use super::mention::next_mention;
use super::payload::GatewayPayload;
use super::wire::{
    ButtonPress, FILES_MAX, Message, MessageKind, PERSON_BYTES_MAX, RepliedMessage, Snowflake,
};
use cofferdam_chat::handler::strip_mention;
use cofferdam_chat::people::SenderReply;
use cofferdam_core::text::is_deceptive;
use serde_json::Value;

/// Who is served in the check.
const ALLOWED: Snowflake = 7;
/// The bot.
const ME: Snowflake = 99;

/// Reads the bytes as a frame and holds what was read against the JSON.
pub(super) fn frames(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let value = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object);
    let Some(payload) = GatewayPayload::read(&text) else { return };
    let event = payload.to_event();
    if let Some(value) = &value {
        assert_eq!(payload.op, value["op"]);
        assert_eq!(event.is_some(), value["s"].is_i64() && value["t"].is_string(), "{text:?}");
    }
    let Some(event) = event else { return };
    let told: Value = serde_json::from_str(&event.data).unwrap_or_default();
    if let Some(value) = &value {
        let named = (value["s"].as_i64(), value["t"].as_str());
        assert_eq!((Some(event.number), Some(event.kind.as_str())), named);
        assert!(event.data.is_empty() || told == value["d"], "{text:?}");
    }
    match event.kind.as_str() {
        "MESSAGE_CREATE" | "MESSAGE_UPDATE" => {
            if let Some(message) = Message::read(&told) {
                assert_ne!(message.kind, MessageKind::Command, "nobody can write one: {text:?}");
                check_message(&message, &told);
            }
        }
        "INTERACTION_CREATE" => {
            let (press, command) = (ButtonPress::read(&told), Message::from_command(&told));
            assert!(press.is_none() || command.is_none(), "{text:?}");
            if let Some(command) = command {
                assert!(command.command.is_some() && command.kind == MessageKind::Command);
                check_message(&command, &told);
            }
        }
        _ => {}
    }
}

/// Holds a message or command against the JSON that it was read from.
fn check_message(message: &Message, told: &Value) {
    let due = admit(message, ME, |person, _| person == ALLOWED);
    match due {
        SenderReply::Serve(id) => {
            assert_eq!((id, message.author.id), (ALLOWED, ALLOWED));
            assert!(!message.author.bot && !message.webhook);
            assert!(!matches!(message.kind, MessageKind::Other(_)));
            // In guilds who uses a command is a member.
            let named = [&told["author"], &told["member"]["user"], &told["user"]];
            assert!(named.iter().any(|user| is_allowed(user)), "{told}");
            assert!(message.command.is_some() || told["webhook_id"].is_null(), "{told}");
        }
        SenderReply::Tell(id) => {
            assert_ne!(id, ALLOWED);
            assert!(message.guild.is_none() || message.command.is_some(), "{told}");
        }
        SenderReply::Ignore(_) => {}
    }
    let none = admit(message, ME, |_, _| false);
    assert!(!matches!(none, SenderReply::Serve(_)), "an empty list serves somebody: {told}");
    let name = &message.author.name;
    assert!(name.len() <= PERSON_BYTES_MAX && !name.chars().any(is_deceptive), "{name:?}");
    if let Some(rest) = strip_mention(message.words(), next_mention(ME)) {
        assert!(rest.len() < message.words().len(), "{rest:?}");
    }
    if let RepliedMessage::Message(to) = &message.replied {
        assert!(matches!(to.replied, RepliedMessage::Nothing), "replies without end");
    }
    assert!(message.command.is_some() || message.files.len() <= FILES_MAX);
    // What follows there is a signature, which is kept nowhere.
    assert!(message.files.iter().all(|file| !file.link.contains(['?', '#'])), "{told}");
    // Discord gives no message a token.
    if message.command.is_some() || !told["token"].is_string() {
        let kept = Message::from_kept(&told.to_string()).expect("what was judged is read again");
        assert_eq!((kept.id, kept.channel, kept.guild), (message.id, message.channel, message.guild));
        assert_eq!((kept.author, kept.kind), (message.author.clone(), message.kind));
        assert_eq!((kept.text, kept.files.len()), (message.text.clone(), message.files.len()));
    }
}

/// Whether the JSON of a user is that of a person who is served.
fn is_allowed(user: &Value) -> bool {
    let id = user["id"].as_str().map_or_else(|| user["id"].to_string(), str::to_owned);
    id == ALLOWED.to_string() && user["bot"] != true
}

#[cfg(test)]
mod tests {
    use cofferdam_checks::corpus;

    #[test]
    fn any_frame_is_read() {
        assert!(corpus::run("discord_events", super::frames) > corpus::MUTATIONS);
    }
}
