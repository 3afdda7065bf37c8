//! From the messages of a turn to what is to be done: pure, so that every rule of who is answered, with
//! which text and which files, is in one table.

use super::admit::{Admission, admit};
use super::bot::Me;
use super::command::{Spoken, spoken, steered};
use super::media::Media;
use super::send::Target;
use super::wire::{ChatKind, Content, Message};
use super::words;
use crate::store::{Queue, Standing};
use std::collections::BTreeSet;

/// What a turn's messages ask for.
#[derive(Debug, PartialEq)]
pub(super) enum Todo {
    /// Nobody is answered.
    Nothing,
    /// An answer in this channel's own words.
    Say(Target, String),
    /// A turn.
    Run(Box<Prepared>),
}

/// A turn that is ready but for the bytes of its files.
#[derive(Debug, PartialEq)]
pub(super) struct Prepared {
    pub(super) target: Target,
    pub(super) sender: i64,
    pub(super) text: String,
    pub(super) files: Files,
    /// The album that its messages are.
    pub(super) album: Option<String>,
    pub(super) notices: Vec<String>,
}

/// Where a turn's files are.
#[derive(Debug, PartialEq)]
pub(super) enum Files {
    /// In its messages.
    Own(Vec<Media>),
    /// In the message that its command replies to.
    Replied(Replied),
}

/// A message that a command replies to.
#[derive(Debug, PartialEq)]
pub(super) struct Replied {
    pub(super) media: Media,
    /// The album that it is part of, which is then meant as a whole.
    pub(super) album: Option<String>,
    pub(super) message_id: Option<i64>,
}

/// Whether a message alone can say that it needs no answer; then it is not kept.
pub(super) fn concerns_us(message: &Message, me: &Me) -> bool {
    match message.chat.kind {
        ChatKind::Private => message.content != Content::Service,
        // Another part of the album may carry the command.
        ChatKind::Group => message.media_group_id.is_some() || is_for_us(message, me),
        ChatKind::Other => false,
    }
}

/// What the messages of one turn ask for. More than one message is an album.
pub(super) fn prepare(
    mut messages: Vec<Message>,
    standing: Standing,
    allowed: &BTreeSet<i64>,
    me: &Me,
) -> Todo {
    messages.sort_by_key(|message| message.message_id);
    let Some(first) = messages.first() else { return Todo::Nothing };
    let Admission::Serve(sender) = admit(first, allowed) else { return Todo::Nothing };
    let target = Target::answering(first);
    let in_group = first.chat.kind == ChatKind::Group;
    // A late part in a group follows an album that was meant for this bot.
    if in_group && standing == Standing::First && !messages.iter().any(|message| is_for_us(message, me)) {
        return Todo::Nothing;
    }
    match &first.content {
        Content::Usable => {}
        Content::Service => return Todo::Nothing,
        Content::Unknown(kind) => return Todo::Say(target, words::unused_kind(kind)),
        Content::Unreadable => return Todo::Say(target, words::UNREADABLE.into()),
    }
    let caption = messages.iter().map(|message| message.text.as_str()).find(|text| !text.is_empty());
    let caption = caption.unwrap_or_default().to_owned();
    let album = first.album();
    let own: Vec<Media> = messages.iter().filter_map(|message| message.media.clone()).collect();
    if standing == Standing::Late {
        let notice = if caption.is_empty() { words::LATE_PART } else { words::LATE_CAPTION };
        let notices = vec![notice.to_owned()];
        let files = Files::Own(own);
        let text = String::new();
        return Todo::Run(Box::new(Prepared { target, sender, text, files, album, notices }));
    }
    let (text, is_command) = match spoken(&caption, me.username.as_deref()) {
        Spoken::Command(text) => (text, true),
        Spoken::ForAnother if in_group => return Todo::Nothing,
        // Nobody else is there to be meant.
        Spoken::ForAnother => (caption, true),
        Spoken::Plain(text) => (text, false),
    };
    let steer = steered(&text).filter(|_| is_command).map(str::to_owned);
    let replied = first.reply_to.as_ref().filter(|_| own.is_empty() && is_command);
    let replied = replied.and_then(|message| {
        Some(Replied {
            media: message.media.clone()?,
            album: message.album(),
            message_id: message.message_id,
        })
    });
    let files = replied.map_or(Files::Own(own), Files::Replied);
    if steer.as_ref().is_some_and(String::is_empty) && files == Files::Own(Vec::new()) {
        return Todo::Say(target, words::STEER_WHAT.into());
    }
    // Whether it finds a turn to be said to or becomes one, its words are what follows.
    let text = steer.unwrap_or(text);
    Todo::Run(Box::new(Prepared { target, sender, text, files, album, notices: Vec::new() }))
}

/// How a message wants to be taken.
pub(super) fn queue_of(message: &Message, me: &Me) -> Queue {
    match spoken(&message.text, me.username.as_deref()) {
        Spoken::Command(command) if steered(&command).is_some() => Queue::Steer,
        _ => Queue::Turn,
    }
}

/// Whether a message in a group is meant for this bot: a command, or a reply to what the bot said.
fn is_for_us(message: &Message, me: &Me) -> bool {
    match spoken(&message.text, me.username.as_deref()) {
        Spoken::Command(_) => true,
        Spoken::ForAnother => false,
        // In a topic that the bot opened every message replies to the notice of that.
        Spoken::Plain(_) => message.reply_to.as_ref().is_some_and(|replied| {
            replied.content != Content::Service && replied.from.is_some_and(|from| from.id == me.id)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::Update;
    use super::*;
    use serde_json::{Value, json};

    fn me() -> Me {
        Me { id: 99, username: Some("our_bot".into()) }
    }

    fn message(chat: Value, fields: Value) -> Message {
        let mut message = json!({ "message_id": 5, "chat": chat, "from": { "id": 7, "is_bot": false } });
        message.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        Update::read(&json!({ "update_id": 1, "message": message }).to_string())
            .expect("it")
            .message
            .expect("it")
    }

    fn private(fields: Value) -> Message {
        message(json!({ "id": 7, "type": "private" }), fields)
    }

    fn group(fields: Value) -> Message {
        message(json!({ "id": -5, "type": "supergroup" }), fields)
    }

    fn run(messages: Vec<Message>, standing: Standing) -> Todo {
        prepare(messages, standing, &BTreeSet::from([7]), &me())
    }

    fn text_of(message: Message) -> Option<String> {
        match run(vec![message], Standing::First) {
            Todo::Run(prepared) => Some(prepared.text),
            Todo::Say(_, text) => Some(format!("say: {text}")),
            Todo::Nothing => None,
        }
    }

    fn document(id: &str) -> Value {
        json!({ "file_id": id, "file_name": id })
    }

    #[test]
    fn in_private_everything_is_answered_but_events() {
        let check = |fields: Value, expected: Option<&str>| {
            let message = private(fields.clone());
            assert_eq!(concerns_us(&message, &me()), expected.is_some(), "{fields}");
            assert_eq!(text_of(message).as_deref(), expected, "{fields}");
        };
        check(json!({ "text": "hello" }), Some("hello"));
        check(json!({ "text": "/x@our_bot a" }), Some("/x a"));
        check(json!({ "text": "/x@other_bot" }), Some("/x@other_bot"));
        check(json!({ "photo": [] }), Some(""));
        check(json!({ "pinned_message": {} }), None);
        check(
            json!({ "dice": {} }),
            Some("say: A message of this kind (dice) cannot be used here. Send text or a file."),
        );
    }

    #[test]
    fn what_steers_loses_the_word_and_keeps_its_files() {
        let check = |fields: Value, queue: Queue, expected: &str| {
            let message = private(fields.clone());
            assert_eq!(queue_of(&message, &me()), queue, "{fields}");
            assert_eq!(text_of(message).as_deref(), Some(expected), "{fields}");
        };
        check(json!({ "text": "/steer@our_bot use b" }), Queue::Steer, "use b");
        check(json!({ "text": "steer use b" }), Queue::Turn, "steer use b");
        check(json!({ "document": document("d"), "caption": "/steer" }), Queue::Steer, "");
        check(json!({ "text": "/steer" }), Queue::Steer, &format!("say: {}", words::STEER_WHAT));
    }

    #[test]
    fn in_a_group_only_what_is_meant_for_the_bot() {
        let check = |fields: Value, expected: Option<&str>| {
            let message = group(fields.clone());
            assert_eq!(concerns_us(&message, &me()), expected.is_some(), "{fields}");
            assert_eq!(text_of(message).as_deref(), expected, "{fields}");
        };
        let ours = json!({ "message_id": 1, "from": { "id": 99, "is_bot": true }, "text": "hi" });
        let opened =
            json!({ "message_id": 1, "from": { "id": 99, "is_bot": true }, "forum_topic_created": {} });
        let anns = json!({ "message_id": 1, "from": { "id": 7, "is_bot": false }, "text": "hi" });
        check(json!({ "text": "hello" }), None);
        check(json!({ "text": "/x a" }), Some("/x a"));
        check(json!({ "text": "/x@our_bot a" }), Some("/x a"));
        check(json!({ "text": "/x@other_bot a" }), None);
        check(json!({ "text": "/shared/a.txt is mine" }), None);
        check(json!({ "text": "thanks", "reply_to_message": ours }), Some("thanks"));
        check(json!({ "text": "/x@other_bot", "reply_to_message": ours }), None);
        check(json!({ "text": "thanks", "reply_to_message": opened }), None);
        check(json!({ "text": "thanks", "reply_to_message": anns }), None);
        check(json!({ "document": document("d") }), None);
        check(json!({ "document": document("d"), "caption": "/x" }), Some("/x"));
        check(json!({ "dice": {} }), None);
        check(json!({ "new_chat_title": "x" }), None);
    }

    #[test]
    fn an_album_is_one_turn_with_the_first_caption() {
        let part = |id: i64, caption: &str| {
            private(
                json!({ "message_id": id, "document": document(&format!("d{id}")), "caption": caption, "media_group_id": "g" }),
            )
        };
        let Todo::Run(turn) = run(vec![part(9, "second"), part(8, ""), part(10, "")], Standing::First) else {
            panic!("no turn")
        };
        let Files::Own(files) = &turn.files else { panic!("files of another message") };
        assert_eq!(files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["d8", "d9", "d10"]);
        assert_eq!((turn.text.as_str(), turn.target.reply_to), ("second", Some(8)));
    }

    #[test]
    fn a_late_part_does_not_run_its_caption() {
        let part = |caption: &str| {
            group(json!({ "document": document("d"), "caption": caption, "media_group_id": "g" }))
        };
        for (caption, notice) in [("/x", words::LATE_CAPTION), ("", words::LATE_PART)] {
            let Todo::Run(turn) = run(vec![part(caption)], Standing::Late) else { panic!("no turn") };
            assert_eq!((turn.text.as_str(), turn.notices), ("", vec![notice.to_owned()]));
        }
        assert_eq!(run(vec![part("")], Standing::First), Todo::Nothing);
    }

    #[test]
    fn a_command_without_a_file_takes_the_replied_messages() {
        let replied = json!({ "message_id": 2, "chat": { "id": 7, "type": "private" }, "from": { "id": 7, "is_bot": false },
            "document": document("old"), "media_group_id": "g" });
        let files = |fields: Value| match run(vec![private(fields)], Standing::First) {
            Todo::Run(turn) => turn.files,
            other => panic!("{other:?}"),
        };
        let Files::Replied(meant) = files(json!({ "text": "/x", "reply_to_message": replied })) else {
            panic!("own files")
        };
        assert_eq!((meant.media.name.as_str(), meant.message_id), ("old", Some(2)));
        assert_eq!(meant.album.as_deref(), Some("7/0/7/g"));
        assert_eq!(files(json!({ "text": "nice", "reply_to_message": replied })), Files::Own(vec![]));
        let own = files(json!({ "document": document("new"), "caption": "/x", "reply_to_message": replied }));
        assert!(matches!(own, Files::Own(files) if files.len() == 1 && files[0].name == "new"));
    }

    #[test]
    fn whoever_is_no_longer_allowed_is_not_answered() {
        assert_eq!(
            prepare(vec![private(json!({ "text": "x" }))], Standing::First, &BTreeSet::new(), &me()),
            Todo::Nothing
        );
    }
}
