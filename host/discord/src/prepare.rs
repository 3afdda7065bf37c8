//! From a message or a command to what is to be done: pure, so that every rule of who is answered,
//! with which text and which files, is in one table.

use super::command;
use super::file::DiscordFile;
use super::mention::next_mention;
use super::rules::AccessRules;
use super::target::ReplyTarget;
use super::wire::{Message, RepliedMessage, Snowflake};
use cofferdam_chat::handler::{
    Author, MessageAction, RequestFiles, TurnRequest, describe_message, strip_mention, text_after_mention,
};
use cofferdam_chat::people::SenderReply;
use cofferdam_core::command::{CommandLine, parse_command, steer_text};
use cofferdam_store::QueueMode;

/// Whether a message says that it is for this bot: in private each is, as is each command; in
/// guilds a mention, a reply to one of the bot's, or anything where the guild is there for that.
pub(super) fn is_for_us(message: &Message, rules: &AccessRules) -> bool {
    let Some(_) = message.guild.filter(|_| message.command.is_none()) else { return true };
    if message.forwarded.is_some() {
        return !rules.place(message.guild).mention_required;
    }
    let to_us = match &message.replied {
        RepliedMessage::Message(to) => to.author.id == rules.me.id,
        // A reply that pings counts as a mention, also where what it replies to is gone.
        RepliedMessage::Unknown => message.mentions.contains(&rules.me.id),
        RepliedMessage::Nothing => false,
    };
    to_us
        || !rules.place(message.guild).mention_required
        || strip_mention(message.words(), next_mention(rules.me.id)).is_some()
}

/// How a message wants to be taken.
pub(super) fn queue_of(message: &Message, rules: &AccessRules) -> QueueMode {
    match read_words(message, rules) {
        (text, true) if steer_text(&text).is_some() => QueueMode::Steer,
        _ => QueueMode::Turn,
    }
}

/// What a message asks for.
pub(super) fn prepare(message: Message, rules: &AccessRules) -> MessageAction<ReplyTarget, DiscordFile> {
    if !matches!(rules.admit(&message), SenderReply::Serve(_)) || !is_for_us(&message, rules) {
        return MessageAction::Nothing;
    }
    let sender = message.author.id;
    let question = TurnRequest {
        target: ReplyTarget::new(&message),
        sender: sender.to_string(),
        power: rules.people.stop_power(sender),
        queue: queue_of(&message, rules),
        text: String::new(),
        files: RequestFiles::new(message.files.clone(), None),
        // What is sent on was said by somebody else.
        is_voice: message.is_voice && message.forwarded.is_none(),
        notices: Vec::new(),
        about: about(&message, rules.me.id),
        profiles: rules.place(message.guild).profiles.clone(),
    };
    let words = read_words(&message, rules);
    let replied = match message.replied {
        RepliedMessage::Message(to) => to.files,
        RepliedMessage::Nothing | RepliedMessage::Unknown => Vec::new(),
    };
    question.into_action(words, (replied, None), rules.people.may_begin_anew(sender))
}

/// The words of a message, and whether they are a command.
fn read_words(message: &Message, rules: &AccessRules) -> (String, bool) {
    if let Some(command) = &message.command {
        return (command::text(command, &rules.menu), true);
    }
    // What is sent on are nobody's own words.
    if message.forwarded.is_some() {
        return (String::new(), false);
    }
    let (text, me) = (message.words(), next_mention(rules.me.id));
    // What follows is a command as it was typed: a mention within it is part of its arguments.
    let at_first = parse_command(text_after_mention(text, &me).unwrap_or(text), Some(&rules.me.name));
    match at_first {
        CommandLine::Command(text) => (text, true),
        // Nobody else is there to be meant.
        CommandLine::ForAnother | CommandLine::Plain(_) => {
            (strip_mention(text, &me).unwrap_or_else(|| text.to_owned()), false)
        }
    }
}

/// What a model is told of a message besides its words.
fn about(message: &Message, me: Snowflake) -> Option<String> {
    let somebody =
        |message: &Message| Author::Person { id: Some(message.author.id), name: message.author.name.clone() };
    let replies_to = match &message.replied {
        RepliedMessage::Message(to) if to.author.id == me => Some((Author::Bot, to.words().to_owned())),
        RepliedMessage::Message(to) => Some((somebody(to), to.words().to_owned())),
        RepliedMessage::Unknown | RepliedMessage::Nothing => None,
    };
    // Discord does not say whose words they are.
    let forwarded = message.forwarded.clone().map(|text| (String::new(), text));
    describe_message(message.guild.map(|_| somebody(message)), replies_to, forwarded)
}

#[cfg(test)]
mod tests {
    use super::super::bot::BotUser;
    use super::*;
    use cofferdam_agent::turn::ConversationOwner;
    use cofferdam_chat::people::{Group, GroupMembers, Groups, PeopleRules};
    use serde_json::{Value, json};
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    fn rules() -> AccessRules {
        let whose = ConversationOwner::Session;
        AccessRules {
            people: PeopleRules {
                allowed: BTreeSet::from([7]),
                are_all_known: true,
                groups: Arc::default(),
                whose,
            },
            me: BotUser { id: 99, name: "our_bot".into() },
            menu: Arc::default(),
        }
    }

    fn rules_with(guild: Group) -> AccessRules {
        let groups = Groups { named: BTreeMap::from([(5, guild)]), ..Groups::default() };
        let people = PeopleRules { groups: Arc::new(groups), ..rules().people };
        AccessRules { people, ..rules() }
    }

    fn message(fields: Value) -> Message {
        let mut message = json!({ "id": "3", "channel_id": "4", "type": 0, "content": "",
            "author": { "id": "7", "username": "ann" } });
        message.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
        Message::read(&message).expect("a message")
    }

    /// What comes of it: the words of a turn with the number of its files, or who is not answered.
    fn done(fields: Value, rules: &AccessRules) -> String {
        match prepare(message(fields), rules) {
            MessageAction::Nothing => "nothing".into(),
            MessageAction::Say(_, text) => format!("says {text}"),
            MessageAction::Run(asked) => {
                let files = asked.files.own.len() + asked.files.replied.len() * 10;
                format!("{:?} {} files {files}", asked.queue, asked.text)
            }
        }
    }

    fn check(fields: Value, expected: &str) {
        assert_eq!(done(fields.clone(), &rules()), expected, "{fields}");
    }

    #[test]
    fn nobody_is_heard_but_people_who_are_served() {
        for fields in [
            json!({ "author": { "id": "8" } }),
            json!({ "author": { "id": "7", "bot": true } }),
            json!({ "author": { "id": "99" } }),
            json!({ "webhook_id": "1" }),
            json!({ "type": 7 }),
            json!({ "type": 20 }),
            json!({ "type": 21 }),
            json!({ "guild_id": "5", "author": { "id": "8" }, "content": "<@99> hi" }),
        ] {
            check(fields, "nothing");
        }
    }

    #[test]
    fn in_private_every_message_is_meant_and_in_guilds_what_says_so() {
        check(json!({ "content": "hi" }), "Turn hi files 0");
        check(json!({ "content": "/file_read path=/x" }), "Turn /file_read path=/x files 0");
        let guild = |text: &str, expected: &str| check(json!({ "guild_id": "5", "content": text }), expected);
        guild("hi", "nothing");
        guild("/file_read path=/x", "nothing");
        guild("@everyone hi", "nothing");
        guild("<@&99> hi", "nothing");
        guild("<@98> hi", "nothing");
        guild("<@99> hi", "Turn hi files 0");
        guild("<@!99>, hi", "Turn hi files 0");
        guild("hi <@99> there", "Turn hi there files 0");
        guild("<@99> /file_read path=<@99>", "Turn /file_read path=<@99> files 0");
        guild("<@99> /steer left", "Steer left files 0");
        let bots =
            json!({ "id": "2", "channel_id": "4", "type": 0, "author": { "id": "99" }, "content": "x" });
        let anns =
            json!({ "id": "2", "channel_id": "4", "type": 0, "author": { "id": "7" }, "content": "x" });
        let reply = |to: &Value, more: Value| {
            let mut fields =
                json!({ "guild_id": "5", "type": 19, "content": "and?", "referenced_message": to });
            fields.as_object_mut().expect("an object").extend(more.as_object().expect("fields").clone());
            fields
        };
        check(reply(&bots, json!({})), "Turn and? files 0");
        check(reply(&anns, json!({})), "nothing");
        check(reply(&Value::Null, json!({})), "nothing");
        check(reply(&Value::Null, json!({ "mentions": [{ "id": "99" }] })), "Turn and? files 0");
    }

    #[test]
    fn a_guild_may_have_rules_of_its_own() {
        let all = |mention_required| Group {
            members: GroupMembers::All,
            mention_required,
            profiles: Some(BTreeSet::from(["file-read-only".to_owned()])),
        };
        let eve = |text: &str| json!({ "guild_id": "5", "content": text, "author": { "id": "8" } });
        assert_eq!(done(eve("hi"), &rules_with(all(true))), "nothing");
        assert_eq!(done(eve("<@99> hi"), &rules_with(all(true))), "Turn hi files 0");
        assert_eq!(done(eve("hi"), &rules_with(all(false))), "Turn hi files 0");
        let MessageAction::Run(asked) = prepare(message(eve("hi")), &rules_with(all(false))) else {
            panic!("it runs")
        };
        assert_eq!(asked.profiles, Some(BTreeSet::from(["file-read-only".to_owned()])));
        assert!(done(eve("/new"), &rules_with(all(false))).starts_with("says "));
        let none = Group { members: GroupMembers::None, ..Group::default() };
        assert_eq!(done(json!({ "guild_id": "5", "content": "<@99> hi" }), &rules_with(none)), "nothing");
    }

    #[test]
    fn files_are_the_messages_own_or_those_of_what_it_replies_to() {
        let file = json!({ "id": "11", "filename": "a", "url": "https://cdn.discordapp.com/a" });
        let to = json!({ "id": "2", "channel_id": "4", "type": 0, "author": { "id": "8" }, "content": "x",
            "attachments": [file, file] });
        check(json!({ "content": "/x", "attachments": [file] }), "Turn /x files 1");
        check(json!({ "content": "/x", "type": 19, "referenced_message": to }), "Turn /x files 20");
        check(
            json!({ "content": "/x", "type": 19, "referenced_message": to, "attachments": [file] }),
            "Turn /x files 1",
        );
        let forward = json!({ "message_reference": { "type": 1 },
            "message_snapshots": [{ "message": { "content": "/file_delete path=/shared", "attachments": [file] } }] });
        check(forward, "Turn  files 1");
    }

    #[test]
    fn a_model_is_told_who_speaks_and_of_what() {
        let line = |fields: Value| about(&message(fields), 99);
        assert_eq!(line(json!({ "content": "hi" })), None);
        let told = line(json!({ "guild_id": "5", "content": "a\nb" })).expect("a line");
        assert!(told.contains("\"name\":\"ann\"") && !told.contains('\n'), "{told}");
        let forward = json!({ "message_reference": { "type": 1 },
            "message_snapshots": [{ "message": { "content": "x" } }] });
        assert!(line(forward).expect("a line").contains("forwarded"));
    }

    /// Every place in a document.
    fn places(value: &Value, at: &str, all: &mut Vec<String>) {
        all.push(at.to_owned());
        let below: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Value::Array(list) => list.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
            _ => Vec::new(),
        };
        for (name, value) in below {
            places(value, &format!("{at}/{name}"), all);
        }
    }

    #[test]
    fn whatever_stands_in_a_field_nobody_else_is_heard_and_no_name_is_more_than_one() {
        let file = json!({ "id": "11", "filename": "a", "size": 5, "content_type": "text/plain",
            "url": "https://cdn.discordapp.com/attachments/1/11/a?ex=1" });
        let user = |id: &str| json!({ "id": id, "username": "ann", "global_name": "Ann", "bot": false });
        let of = |id: &str, author: Value| {
            json!({ "id": id, "channel_id": "4", "type": 0, "content": "<@99> /x y", "author": author,
                "guild_id": "5", "webhook_id": null, "member": { "nick": "A" }, "mentions": [user("99")],
                "attachments": [file] })
        };
        let mut reply = of("3", user("7"));
        (reply["type"], reply["referenced_message"]) = (json!(19), of("2", user("8")));
        let mut forward = of("3", user("7"));
        forward["message_reference"] = json!({ "type": 1, "message_id": "1" });
        forward["message_snapshots"] = json!([{ "message": { "content": "x", "attachments": [file] } }]);
        let command = json!({ "id": "8", "type": 2, "token": "t", "application_id": "1", "channel_id": "5",
            "guild_id": "5", "member": { "user": user("7"), "nick": "A" },
            "data": { "name": "x", "options": [{ "name": "file", "type": 11, "value": "11" },
                { "name": "a", "type": 3, "value": "b" }], "resolved": { "attachments": { "11": file } } } });
        let odd = "a\n\u{202e}\u{2028}\u{e0041}\"}<@99>";
        let values = [
            json!(null),
            json!(true),
            json!(0),
            json!(-7),
            json!(8),
            json!(1e300),
            json!("8"),
            json!(" 7"),
            json!(odd),
            json!([]),
            json!([7]),
            json!({}),
            json!({ "id": "7" }),
            json!(odd.repeat(99)),
        ];
        let (rules, mut heard) = (rules(), 0);
        for event in [of("3", user("7")), reply, forward, command] {
            let mut all = Vec::new();
            places(&event, "", &mut all);
            for (place, value) in all.iter().flat_map(|place| values.iter().map(move |value| (place, value)))
            {
                let mut changed = event.clone();
                *changed.pointer_mut(place).expect("it is there") = value.clone();
                let Some(message) = Message::from_kept(&changed.to_string()) else { continue };
                let name = &message.author.name;
                assert!(
                    name.len() <= 64 && !name.chars().any(cofferdam_core::text::is_deceptive),
                    "{changed}"
                );
                let line = about(&message, 99).unwrap_or_default();
                assert!(!line.contains('\n'), "{changed}");
                let MessageAction::Run(asked) = prepare(message, &rules) else { continue };
                heard += 1;
                let author = changed.pointer("/member/user").unwrap_or(&changed["author"]);
                assert!(author["id"] == "7" && author["bot"] != true, "{changed}");
                assert!(changed["webhook_id"].is_null() && asked.sender == "7", "{changed}");
            }
        }
        assert!(heard > 1000, "{heard}");
    }
}
