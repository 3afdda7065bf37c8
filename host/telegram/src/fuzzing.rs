//! What must hold for any bytes that come as an update: reading ends, refuses nobody's message for
//! one odd field, and serves nobody who is not named.
//!
//! Used by the fuzz target, which includes this file, and by the run over the corpus below.

use super::admission::admit;
use super::context::PERSON_BYTES_MAX;
use super::mention::next_mention;
use super::wire::{ChatKind, Message, MessageContent, SentFor, Update};
use cofferdam_chat::handler::strip_mention;
use cofferdam_chat::people::{GroupMembers, SenderReply};
use cofferdam_core::command::{CommandLine, parse_command};
use serde_json::Value;
use std::collections::BTreeSet;

/// Who is served in the check.
const ALLOWED: i64 = 7;

/// Reads the bytes as an update and holds what was read against the JSON.
pub(super) fn updates(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let update = Update::read(&text);
    let value = serde_json::from_str::<Value>(&text).ok();
    let Some(update) = update else {
        // An update without an id cannot be confirmed; one with an id must never be passed over.
        assert!(value.is_none_or(|value| value["update_id"].as_i64().is_none()), "passed over: {text:?}");
        return;
    };
    if let Some(value) = &value {
        assert_eq!(Some(update.update_id), value["update_id"].as_i64());
        assert_eq!(update.message.is_some(), value["message"].is_object());
    }
    let Some(message) = update.message else { return };
    read(&message, value.as_ref().map(|value| &value["message"]));
    let replied = message.reply_to.as_deref();
    assert!(replied.is_none_or(|message| message.reply_to.is_none()), "replies without end");
}

fn read(message: &Message, value: Option<&Value>) {
    match admit(message, &BTreeSet::from([ALLOWED]), GroupMembers::Allowed) {
        SenderReply::Serve(id) => {
            assert_eq!(id, ALLOWED);
            assert_eq!(message.from.map(|from| (from.id, from.is_bot)), Some((ALLOWED, false)));
            assert_eq!(message.on_behalf, SentFor::Sender);
            assert_ne!(message.chat.kind, ChatKind::Other);
            if let Some(value) = value {
                assert_eq!(value["from"]["id"].as_i64(), Some(ALLOWED));
                assert!(value["from"]["is_bot"] != true && value["sender_chat"].is_null());
            }
        }
        SenderReply::Tell(id) => {
            assert_ne!(id, ALLOWED);
            assert_eq!(message.chat.kind, ChatKind::Private);
        }
        SenderReply::Ignore(_) => {}
    }
    for members in [GroupMembers::Allowed, GroupMembers::None] {
        let admission = admit(message, &BTreeSet::new(), members);
        assert_ne!(admission, SenderReply::Serve(ALLOWED), "an empty list serves somebody");
    }
    let name = &message.besides.name;
    assert!(name.len() <= PERSON_BYTES_MAX && !name.contains(char::is_control), "{name:?}");
    if let Some(rest) = strip_mention(&message.text, next_mention("our_bot")) {
        assert!(rest.len() < message.text.len(), "{rest:?}");
    }
    let usable = message.media.is_some() || !message.text.is_empty();
    assert_eq!(message.content == MessageContent::Usable, usable);
    if let Some(source) = message.media.as_ref().and_then(|media| media.source()) {
        assert!(source.len() < 100 && source.bytes().all(|b| b.is_ascii_graphic()), "{source:?}");
    }
    if let Some(album) = message.album() {
        assert!(album.len() < 256 && !album.contains(char::is_control), "{album:?}");
    }
    if let CommandLine::Command(command) = parse_command(&message.text, Some("our_bot")) {
        let name = command.split_whitespace().next().and_then(|word| word.strip_prefix('/'));
        let name = name.expect("a command begins with its name");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{command:?}");
    }
}

#[cfg(test)]
mod tests {
    use cofferdam_checks::corpus;

    #[test]
    fn any_update_is_read() {
        assert!(corpus::run("telegram_updates", super::updates) > corpus::MUTATIONS);
    }
}
