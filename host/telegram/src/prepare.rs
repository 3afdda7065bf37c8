//! From the messages of a turn to what is to be done: pure, so that every rule of who is answered,
//! with which text and which files, is in one table.

use super::about::about;
use super::admission::admit;
use super::bot::BotUser;
use super::media::MessageFile;
use super::mention::next_mention;
use super::people::AccessRules;
use super::send::ReplyTarget;
use super::wire::{ChatKind, Message, MessageContent};
use cofferdam_chat::handler::{MessageAction, RequestFiles, TurnRequest, strip_mention, text_after_mention};
use cofferdam_chat::people::SenderReply;
use cofferdam_chat::words as said;
use cofferdam_core::command::{CommandLine, parse_command, steer_text};
use cofferdam_store::{AlbumStanding, QueueMode};

/// To a message whose JSON cannot be read.
const UNREADABLE: &str = "This message could not be read. Send it again, as plain text or as a file.";

/// To a message of a kind that nothing here uses, by its name in the API.
fn unused_kind(kind: &str) -> String {
    format!("A message of this kind ({kind}) cannot be used here. Send text or a file.")
}

/// Whether a message alone can say that it needs no answer; then it is not kept.
pub(super) fn is_for_bot(message: &Message, rules: &AccessRules) -> bool {
    match message.chat.kind {
        ChatKind::Private => message.content != MessageContent::Service,
        // Another part of the album may carry the command.
        ChatKind::Group => message.media_group_id.is_some() || is_for_us(message, rules),
        ChatKind::Other => false,
    }
}

/// What the messages of one turn ask for. More than one message is an album.
pub(super) fn prepare(
    mut messages: Vec<Message>,
    standing: AlbumStanding,
    rules: &AccessRules,
) -> MessageAction<ReplyTarget, MessageFile> {
    messages.sort_by_key(|message| message.message_id);
    let Some(first) = messages.first() else { return MessageAction::Nothing };
    let group = rules.group(first);
    let SenderReply::Serve(sender) = admit(first, &rules.people.allowed, group.members) else {
        return MessageAction::Nothing;
    };
    let target = ReplyTarget::new(first);
    let in_group = first.chat.kind == ChatKind::Group;
    // A late part in a group follows an album that was meant for this bot.
    if in_group
        && standing == AlbumStanding::First
        && !messages.iter().any(|message| is_for_us(message, rules))
    {
        return MessageAction::Nothing;
    }
    match &first.content {
        MessageContent::Usable => {}
        MessageContent::Service => return MessageAction::Nothing,
        MessageContent::Unknown(kind) => return MessageAction::Say(target, unused_kind(kind)),
        MessageContent::Unreadable => return MessageAction::Say(target, UNREADABLE.into()),
    }
    let captioned = messages.iter().find(|message| !message.text.is_empty()).unwrap_or(first);
    let own: Vec<MessageFile> = messages.iter().filter_map(|message| message.media.clone()).collect();
    let mut prepared = TurnRequest {
        target,
        sender: sender.to_string(),
        power: rules.people.stop_power(sender),
        queue: queue_of_all(&messages, rules),
        text: String::new(),
        files: RequestFiles::new(own, first.album()),
        // What is sent on was said by somebody else.
        is_voice: first.is_voice && first.besides.forwarded.is_none(),
        notices: Vec::new(),
        about: about(captioned, &rules.me),
        profiles: group.profiles.clone(),
    };
    if standing == AlbumStanding::Late {
        let notice = if captioned.text.is_empty() { said::LATE_PART } else { said::LATE_CAPTION };
        prepared.notices.push(notice.to_owned());
        return MessageAction::Run(Box::new(prepared));
    }
    let words = match read_intent(captioned, &rules.me) {
        MessageIntent::ForAnother if in_group => return MessageAction::Nothing,
        // Nobody else is there to be meant.
        MessageIntent::ForAnother => (captioned.text.clone(), true),
        MessageIntent::Command(text) => (text, true),
        MessageIntent::Mention(text) | MessageIntent::Said(text) => (text, false),
    };
    // Words are about what they reply to. What is sent on has none of its sender's own.
    let uses_replied = captioned.besides.forwarded.is_none();
    let replied = first.reply_to.as_ref().filter(|_| uses_replied);
    let replied = replied.and_then(|message| Some((vec![message.media.clone()?], message.album())));
    prepared.into_action(words, replied.unwrap_or_default(), rules.people.may_begin_anew(sender))
}

/// How the parts of a message want to be taken: as any of them says.
fn queue_of_all(parts: &[Message], rules: &AccessRules) -> QueueMode {
    let mut all = parts.iter().map(|part| queue_of(part, rules));
    all.find(|queue| *queue == QueueMode::Steer).unwrap_or(QueueMode::Turn)
}

/// How a message wants to be taken.
pub(super) fn queue_of(message: &Message, rules: &AccessRules) -> QueueMode {
    match read_intent(message, &rules.me) {
        MessageIntent::Command(command) if steer_text(&command).is_some() => QueueMode::Steer,
        _ => QueueMode::Turn,
    }
}

/// What the words of a message are.
enum MessageIntent {
    /// A command for this bot.
    Command(String),
    /// A command for another bot.
    ForAnother,
    /// Words that mention this bot, without that.
    Mention(String),
    /// Other words of the sender, as typed. Those of somebody else, which the sender only sends on,
    /// are none.
    Said(String),
}

fn read_intent(message: &Message, me: &BotUser) -> MessageIntent {
    let name = me.username.as_deref();
    if message.besides.forwarded.is_some() {
        return MessageIntent::Said(String::new());
    }
    let in_group = message.chat.kind == ChatKind::Group;
    let text = match parse_command(&message.text, name) {
        CommandLine::Command(text) => return MessageIntent::Command(text),
        CommandLine::ForAnother => return MessageIntent::ForAnother,
        CommandLine::Plain(text) if !in_group => return MessageIntent::Said(text),
        CommandLine::Plain(text) => text,
    };
    // What follows is a command as it was typed: a mention within it is part of its arguments.
    let command = name
        .and_then(|name| text_after_mention(&text, next_mention(name)))
        .map(|text| parse_command(text, me.username.as_deref()));
    if let Some(CommandLine::Command(command)) = command {
        return MessageIntent::Command(command);
    }
    match name.and_then(|name| strip_mention(&text, next_mention(name))) {
        Some(rest) => MessageIntent::Mention(rest),
        None if message.besides.mentions.contains(&me.id) => MessageIntent::Mention(text),
        None => MessageIntent::Said(text),
    }
}

/// Whether a message in a group is meant for this bot: a command, a mention, or a reply to what the
/// bot said; or anything that is said, where the group is there for that.
fn is_for_us(message: &Message, rules: &AccessRules) -> bool {
    match read_intent(message, &rules.me) {
        MessageIntent::Command(_) | MessageIntent::Mention(_) => true,
        MessageIntent::ForAnother => false,
        MessageIntent::Said(_) => {
            let listens = !rules.group(message).mention_required && message.content == MessageContent::Usable;
            // In a topic that the bot opened every message replies to the notice of that.
            listens
                || message.reply_to.as_ref().is_some_and(|replied| {
                    replied.content != MessageContent::Service
                        && replied.from.is_some_and(|from| from.id == rules.me.id)
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::moves::Moves;
    use super::super::wire::Update;
    use super::*;
    use cofferdam_agent::turn::ConversationOwner;
    use cofferdam_chat::people::{Group, GroupMembers, Groups, PeopleRules};
    use serde_json::{Value, json};
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    fn rules() -> AccessRules {
        let me = BotUser { id: 99, username: Some("our_bot".into()), hears_all: false };
        let (groups, whose) = (Arc::default(), ConversationOwner::Session);
        let people = PeopleRules { allowed: BTreeSet::from([7]), are_all_known: true, groups, whose };
        AccessRules { people, moves: Moves::default(), me }
    }

    /// The same with something of its own for the group.
    fn rules_with(group: Group) -> AccessRules {
        let groups = Groups { named: BTreeMap::from([(-5, group)]), ..Groups::default() };
        let people = PeopleRules { groups: Arc::new(groups), ..rules().people };
        AccessRules { people, ..rules() }
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

    fn run(messages: Vec<Message>, standing: AlbumStanding) -> MessageAction<ReplyTarget, MessageFile> {
        prepare(messages, standing, &rules())
    }

    fn text_of(message: Message) -> Option<String> {
        text_under(message, &rules())
    }

    fn text_under(message: Message, rules: &AccessRules) -> Option<String> {
        match prepare(vec![message], AlbumStanding::First, rules) {
            MessageAction::Run(prepared) => Some(prepared.text),
            MessageAction::Say(_, text) => Some(format!("say: {text}")),
            MessageAction::Nothing => None,
        }
    }

    fn document(id: &str) -> Value {
        json!({ "file_id": id, "file_name": id })
    }

    #[test]
    fn in_private_everything_is_answered_but_events() {
        let check = |fields: Value, expected: Option<&str>| {
            let message = private(fields.clone());
            assert_eq!(is_for_bot(&message, &rules()), expected.is_some(), "{fields}");
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
    fn a_member_of_an_open_group_has_no_conversation_of_others_forgotten() {
        let open = Group { members: GroupMembers::All, ..Group::default() };
        let mut own = rules_with(open.clone());
        own.people.whose = ConversationOwner::Person;
        let refused = format!("say: {}", said::NOT_YOURS_TO_FORGET);
        let (refused, open) = (refused.as_str(), &rules_with(open));
        let said = |sender: i64, text: &str, rules: &AccessRules| {
            text_under(group(json!({ "text": text, "from": { "id": sender, "is_bot": false } })), rules)
        };
        for (sender, text, rules, expected) in [
            (8, "/new", open, refused),
            (8, " /new@our_bot ", open, refused),
            (8, "@our_bot /new", open, refused),
            (8, "/steer /new", open, refused),
            (8, "/new page", open, "/new page"),
            (8, "/retry", open, "/retry"),
            (7, "/new", open, "/new"),
            // Where everybody has a conversation of their own, it is theirs.
            (8, "/new", &own, "/new"),
        ] {
            assert_eq!(
                said(sender, text, rules).as_deref().map(str::trim),
                Some(expected),
                "{sender} {text}"
            );
        }
    }

    #[test]
    fn what_steers_loses_the_word_and_keeps_its_files() {
        let check = |fields: Value, queue: QueueMode, expected: &str| {
            let message = private(fields.clone());
            assert_eq!(queue_of(&message, &rules()), queue, "{fields}");
            assert_eq!(text_of(message).as_deref(), Some(expected), "{fields}");
        };
        check(json!({ "text": "/steer@our_bot use b" }), QueueMode::Steer, "use b");
        check(json!({ "text": "steer use b" }), QueueMode::Turn, "steer use b");
        check(json!({ "document": document("d"), "caption": "/steer" }), QueueMode::Steer, "");
        check(json!({ "text": "/steer" }), QueueMode::Steer, &format!("say: {}", said::STEER_WHAT));
    }

    #[test]
    fn in_a_group_only_what_is_meant_for_the_bot() {
        let check = |fields: Value, expected: Option<&str>| {
            let message = group(fields.clone());
            assert_eq!(is_for_bot(&message, &rules()), expected.is_some(), "{fields}");
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
        check(json!({ "text": "@our_bot, what is this?" }), Some("what is this?"));
        check(json!({ "text": "what is this @Our_Bot" }), Some("what is this"));
        check(json!({ "text": "me@our_bot.example" }), None);
        check(json!({ "text": "@our_bot_2 hi" }), None);
        check(json!({ "text": "@our_bot /x a='@our_bot'" }), Some("/x a='@our_bot'"));
        check(json!({ "text": "/x@other_bot @our_bot" }), None);
        check(json!({ "document": document("d"), "caption": "@our_bot look" }), Some("look"));
        let mention = json!([{ "type": "text_mention", "offset": 0, "length": 3, "user": { "id": 99 } }]);
        check(json!({ "text": "Bot, hi", "entities": mention }), Some("Bot, hi"));
    }

    #[test]
    fn a_group_may_be_there_for_the_bot_and_for_everybody() {
        let listening = rules_with(Group { mention_required: false, ..Group::default() });
        let from = |id: i64, fields: Value| {
            let mut fields = fields;
            fields["from"] = json!({ "id": id, "is_bot": false });
            group(fields)
        };
        let text = |id: i64| from(id, json!({ "text": "hello" }));
        assert_eq!(text_under(text(7), &listening).as_deref(), Some("hello"));
        assert_eq!(text_under(text(8), &listening), None, "a stranger");
        assert_eq!(text_under(from(7, json!({ "text": "/x@other_bot" })), &listening), None);
        for not_said in [json!({ "dice": {} }), json!({ "new_chat_title": "x" })] {
            assert_eq!(text_under(from(7, not_said), &listening), None);
        }
        let profiles = Some(BTreeSet::from(["p".to_owned()]));
        let open =
            rules_with(Group { members: GroupMembers::All, profiles: profiles.clone(), ..Group::default() });
        let MessageAction::Run(turn) =
            prepare(vec![from(8, json!({ "text": "/x" }))], AlbumStanding::First, &open)
        else {
            panic!("no turn")
        };
        assert_eq!((turn.sender.as_str(), turn.profiles), ("8", profiles));
        let closed = rules_with(Group { members: GroupMembers::None, ..Group::default() });
        assert_eq!(text_under(from(7, json!({ "text": "/x" })), &closed), None);
        assert_eq!(text_under(private(json!({ "text": "/x" })), &closed).as_deref(), Some("/x"));
    }

    #[test]
    fn what_is_sent_on_is_no_command_of_whoever_sends_it() {
        let origin = json!({ "type": "user", "sender_user": { "id": 8, "first_name": "Eve" } });
        let sent_on = |fields: Value| {
            let mut fields = fields;
            fields["forward_origin"] = origin.clone();
            fields
        };
        let command = sent_on(json!({ "document": document("d"), "caption": "/x" }));
        let MessageAction::Run(turn) = run(vec![private(command.clone())], AlbumStanding::First) else {
            panic!("no turn")
        };
        assert_eq!((turn.files.own.len(), turn.files.replied.len()), (1, 0), "its file is there");
        assert_eq!(turn.text, "");
        assert!(turn.about.expect("marked").contains(r#""forwarded":{"from":"Eve","text":"/x"}"#));
        assert_eq!(text_of(group(command)), None);
        assert_eq!(text_of(group(sent_on(json!({ "text": "@our_bot hi" })))), None);
    }

    #[test]
    fn a_mention_takes_the_file_that_it_replies_to() {
        let photo = json!({ "message_id": 2, "from": { "id": 8 }, "document": document("old") });
        let asked = json!({ "text": "@our_bot what is this?", "reply_to_message": photo });
        let MessageAction::Run(turn) = run(vec![group(asked)], AlbumStanding::First) else {
            panic!("no turn")
        };
        assert_eq!(turn.files.replied[0].name, "old");
    }

    #[test]
    fn an_album_is_one_turn_with_the_first_caption() {
        let part = |id: i64, caption: &str| {
            private(
                json!({ "message_id": id, "document": document(&format!("d{id}")), "caption": caption, "media_group_id": "g" }),
            )
        };
        let MessageAction::Run(turn) =
            run(vec![part(9, "second"), part(8, ""), part(10, "")], AlbumStanding::First)
        else {
            panic!("no turn")
        };
        assert!(turn.files.replied.is_empty(), "files of another message");
        let files = &turn.files.own;
        assert_eq!(files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["d8", "d9", "d10"]);
        assert_eq!((turn.text.as_str(), turn.target.reply_to), ("second", Some(8)));
    }

    #[test]
    fn a_late_part_does_not_run_its_caption() {
        let part = |caption: &str| {
            group(json!({ "document": document("d"), "caption": caption, "media_group_id": "g" }))
        };
        for (caption, notice) in [("/x", said::LATE_CAPTION), ("", said::LATE_PART)] {
            let MessageAction::Run(turn) = run(vec![part(caption)], AlbumStanding::Late) else {
                panic!("no turn")
            };
            assert_eq!((turn.text.as_str(), turn.notices), ("", vec![notice.to_owned()]));
        }
        assert_eq!(run(vec![part("")], AlbumStanding::First), MessageAction::Nothing);
    }

    #[test]
    fn a_message_without_a_file_takes_that_of_the_message_it_replies_to() {
        let replied = json!({ "message_id": 2, "chat": { "id": 7, "type": "private" }, "from": { "id": 7, "is_bot": false },
            "document": document("old"), "media_group_id": "g" });
        let files = |fields: Value| match run(vec![private(fields)], AlbumStanding::First) {
            MessageAction::Run(turn) => turn.files,
            other => panic!("{other:?}"),
        };
        let RequestFiles { own, album, replied: replied_to, replied_album } =
            files(json!({ "text": "/x", "reply_to_message": replied }));
        assert_eq!((own, album), (vec![], None));
        assert_eq!((replied_to[0].name.as_str(), replied_to[0].message_id), ("old", Some(2)));
        assert_eq!(replied_album.as_deref(), Some("7/0/7/g"));
        let words = files(json!({ "text": "what is this?", "reply_to_message": replied }));
        assert_eq!(words.replied[0].name, "old");
        let origin = json!({ "type": "user", "sender_user": { "id": 8, "first_name": "Eve" } });
        let sent_on = json!({ "text": "x", "reply_to_message": replied, "forward_origin": origin });
        assert_eq!(files(sent_on), RequestFiles::new(vec![], None));
        let own = files(json!({ "document": document("new"), "caption": "/x", "reply_to_message": replied }));
        assert!(own.own.len() == 1 && own.own[0].name == "new" && own.replied.is_empty());
    }

    #[test]
    fn whoever_is_no_longer_allowed_is_not_answered() {
        let mut nobody = rules();
        nobody.people.allowed.clear();
        assert_eq!(
            prepare(vec![private(json!({ "text": "x" }))], AlbumStanding::First, &nobody),
            MessageAction::Nothing
        );
    }
}
