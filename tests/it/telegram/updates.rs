//! Updates of every kind that could pass for the words of somebody who is served: what comes of
//! each, and why.
//!
//! Each row carries a command. It runs only where an allowed person wrote it themselves, in a chat
//! with the bot.

use super::world::{ANN, BEN, EVE, GROUP, World};
use serde_json::{Value, json};
use support::telegram::Incoming;

/// What comes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// The command runs, and is answered.
    Runs,
    /// It is answered, and nothing runs: the command is somebody else's, which its sender only
    /// shows.
    Words,
    /// The sender is told that the bot does not know them.
    Told,
    /// Nothing at all.
    Nothing,
}
use Comes::{Nothing, Runs, Told, Words};

/// A row: what comes of it, why, and the update. `"ID"` stands for a number of its own, `CMD` for
/// its command.
type Row = (Comes, &'static str, Value);

fn user(id: i64) -> Value {
    json!({ "id": id, "is_bot": false, "first_name": "Ann", "username": "ann" })
}

fn bot(id: i64) -> Value {
    json!({ "id": id, "is_bot": true, "first_name": "Bot", "username": "some_bot" })
}

/// A message with the command, and these fields in place of its own.
fn message(chat: Value, from: i64, fields: Value) -> Value {
    let mut message =
        json!({ "message_id": "ID", "date": 1, "chat": chat, "from": user(from), "text": "CMD" });
    for (name, value) in fields.as_object().expect("fields") {
        message[name] = value.clone();
    }
    message
}

/// In the private chat of whoever writes it.
fn private(from: i64, fields: Value) -> Value {
    message(json!({ "id": from, "type": "private" }), from, fields)
}

fn group(from: i64, fields: Value) -> Value {
    message(json!({ "id": GROUP, "type": "supergroup", "title": "Group" }), from, fields)
}

fn sent(message: Value) -> Value {
    json!({ "message": message })
}

fn origin(kind: &str) -> Value {
    json!({ "type": kind, "date": 1, "sender_user": user(EVE), "sender_user_name": "Eve",
        "chat": { "id": -9, "type": "channel", "title": "News" } })
}

/// Messages of a person's own.
fn own_words() -> Vec<Row> {
    let old = json!({ "message_id": 1, "date": 1, "chat": { "id": ANN, "type": "private" }, "from": user(EVE),
        "text": "CMD" });
    vec![
        (Runs, "an allowed person in private", sent(private(ANN, json!({})))),
        (Runs, "… in a group", sent(group(ANN, json!({})))),
        (
            Runs,
            "… in a topic of either",
            sent(private(ANN, json!({ "message_thread_id": 7, "is_topic_message": true }))),
        ),
        (
            Runs,
            "fields that nobody knows yet say nothing against it",
            sent(group(ANN, json!({ "sender_boost_count": 3, "sender_tag": "x" }))),
        ),
        (
            Words,
            "what is replied to is no command",
            sent(private(ANN, json!({ "text": "what is this?", "reply_to_message": old }))),
        ),
        (
            Words,
            "… nor what is quoted from elsewhere",
            sent(private(ANN, json!({ "text": "this?", "quote": { "text": "CMD" }, "external_reply": {} }))),
        ),
    ]
}

/// Words of others that an allowed person sends.
fn sent_on() -> Vec<Row> {
    let mut rows: Vec<Row> = ["user", "hidden_user", "channel", "chat", "of_a_later_release"]
        .map(|kind| {
            let update = sent(private(ANN, json!({ "forward_origin": origin(kind) })));
            (Words, "whoever sends it on did not write it", update)
        })
        .into();
    rows.extend([
        (
            Words,
            "… as older servers say it",
            sent(private(ANN, json!({ "forward_from": user(EVE), "forward_date": 1 }))),
        ),
        (
            Words,
            "… of somebody who hides",
            sent(private(ANN, json!({ "forward_sender_name": "Eve", "forward_date": 1 }))),
        ),
        (
            Words,
            "a bot made it for Ann to pick, who saw its title at most",
            sent(private(ANN, json!({ "via_bot": bot(9) }))),
        ),
        (Nothing, "… in a group it is not for this bot", sent(group(ANN, json!({ "via_bot": bot(9) })))),
        (
            Nothing,
            "… nor is what is forwarded there",
            sent(group(ANN, json!({ "forward_origin": origin("user") }))),
        ),
        (
            Told,
            "a stranger who sends on Ann's words stays a stranger",
            sent(private(EVE, json!({ "forward_origin": { "type": "user", "sender_user": user(ANN) } }))),
        ),
    ]);
    rows
}

/// Senders who are not the person that they seem to be.
fn in_anothers_name() -> Vec<Row> {
    let chat = json!({ "id": GROUP, "type": "supergroup", "title": "Group" });
    let channel = json!({ "id": -1_009, "type": "channel", "title": "News" });
    let anonymous = json!({ "from": bot(1_087_968_824), "sender_chat": chat });
    let linked = json!({ "from": user(777_000), "sender_chat": channel, "is_automatic_forward": true });
    let replying = json!({ "reply_to_message": group(ANN, json!({ "message_id": 3 })) });
    let posing = json!({ "author_signature": "Ann", "entities": [{ "type": "text_mention", "offset": 0, "length": 3,
        "user": user(ANN) }] });
    vec![
        (Nothing, "an anonymous administrator may be anybody", sent(group(ANN, anonymous))),
        (Nothing, "… whatever number comes with it", sent(group(ANN, json!({ "sender_chat": chat })))),
        (Nothing, "a channel speaks in its group", sent(group(ANN, json!({ "sender_chat": channel })))),
        (Nothing, "… and its posts are forwarded there by Telegram", sent(group(ANN, linked))),
        (Nothing, "a bot is no person", sent(private(ANN, json!({ "from": bot(ANN) })))),
        (Nothing, "nobody has sent it", sent(private(ANN, json!({ "from": null })))),
        (
            Nothing,
            "an id is a number",
            sent(private(ANN, json!({ "from": { "id": ANN.to_string(), "is_bot": false } }))),
        ),
        (Nothing, "a stranger in a group replies to Ann", sent(group(EVE, replying))),
        (Nothing, "… or names her", sent(group(EVE, posing))),
        (
            Told,
            "a name that spells a number is a name",
            sent(private(
                EVE + 1,
                json!({ "from": { "id": EVE + 1, "is_bot": false, "username": "5000000001" } }),
            )),
        ),
        (
            Nothing,
            "a bot writes from Ann's business account",
            sent(private(ANN, json!({ "sender_business_bot": bot(9) }))),
        ),
        (
            Nothing,
            "it was said to somebody else, and reached a bot that is connected to the account",
            sent(private(ANN, json!({ "business_connection_id": "b" }))),
        ),
    ]
}

/// Chats that are none with the bot.
fn elsewhere() -> Vec<Row> {
    let private_of = |id: i64| json!({ "id": id, "type": "private" });
    let direct = json!({ "id": -1_007, "type": "supergroup", "title": "News", "is_direct_messages": true });
    vec![
        (Nothing, "the answer would reach Ben", sent(message(private_of(BEN), ANN, json!({})))),
        (Nothing, "a channel", sent(message(json!({ "id": -1_009, "type": "channel" }), ANN, json!({})))),
        (
            Nothing,
            "a channel's direct messages have a person each topic",
            sent(message(direct, ANN, json!({}))),
        ),
        (Nothing, "no chat", sent(message(Value::Null, ANN, json!({})))),
        (
            Nothing,
            "a chat of a kind that nobody knows",
            sent(message(json!({ "id": ANN, "type": "x" }), ANN, json!({}))),
        ),
    ]
}

/// Updates that are no new messages.
fn no_messages() -> Vec<Row> {
    let mut rows: Vec<Row> = [
        "business_message",
        "edited_business_message",
        "channel_post",
        "edited_channel_post",
        "guest_message",
        "of_a_later_release",
    ]
    .map(|kind| (Nothing, "only `message` is one", json!({ kind: private(ANN, json!({})) })))
    .into();
    let shown = json!({ "message_id": 4, "date": 1, "chat": { "id": ANN, "type": "private" }, "from": bot(99),
        "text": "CMD" });
    let press = |fields: Value| {
        let mut press = json!({ "id": "1", "from": user(ANN), "chat_instance": "1", "data": "CMD" });
        for (name, value) in fields.as_object().expect("fields") {
            press[name] = value.clone();
        }
        json!({ "callback_query": press })
    };
    rows.extend([
        (
            Nothing,
            "an edit changes what waits, and begins nothing",
            json!({ "edited_message": private(ANN, json!({ "edit_date": 2 })) }),
        ),
        (Nothing, "… a stranger's less than that", json!({ "edited_message": private(EVE + 2, json!({})) })),
        (Nothing, "a press decides an approval or nothing", press(json!({ "message": shown }))),
        (Nothing, "… below a message of an inline bot as well", press(json!({ "inline_message_id": "i" }))),
        (Nothing, "… and a stranger's nothing at all", press(json!({ "message": shown, "from": user(EVE) }))),
        (
            Nothing,
            "what is typed to an inline bot is for that",
            json!({ "inline_query": { "id": "1", "from": user(ANN), "query": "CMD", "offset": "" } }),
        ),
        (
            Nothing,
            "… and what was picked of it",
            json!({ "chosen_inline_result": { "result_id": "1", "from": user(ANN), "query": "CMD" } }),
        ),
    ]);
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_runs_where_a_person_who_is_served_wrote_it_and_nowhere_else() -> anyhow::Result<()> {
    const FIRST_ID: usize = 1000;
    let world = World::running().await?;
    for chat in [ANN, BEN, EVE] {
        world.server.open_chat(chat);
    }
    let rows = [own_words(), sent_on(), in_anothers_name(), elsewhere(), no_messages()].concat();
    let path = |n: usize| format!("/shared/row-{n}");
    for (n, (_, _, update)) in rows.iter().enumerate() {
        let command = format!("/file_write path={} content=x", path(n));
        let update = update.to_string().replace("CMD", &command);
        world.server.push_raw(serde_json::from_str(&update.replace("\"ID\"", &(FIRST_ID + n).to_string()))?);
    }
    // Behind everything, in each chat that has a queue.
    for chat in [Incoming::private(ANN), Incoming::private(BEN), Incoming::group(GROUP, ANN)] {
        let last = world.server.push(chat.message_id(9000).text("/help"));
        world.answer(&last).await?;
    }
    let answered = rows.iter().filter(|(comes, ..)| *comes != Nothing).count();
    let messages = world.server.wait_for_messages(super::world::PATIENCE, answered + 3).await?;
    let mut wrong = Vec::new();
    for (n, (comes, why, update)) in rows.iter().enumerate() {
        let id = i64::try_from(FIRST_ID + n)?;
        let answer = messages.iter().find(|sent| sent.reply_to == Some(id)).map(|sent| sent.text.as_str());
        let found = match answer {
            None => Nothing,
            Some(said) if said.contains("does not know you") => Told,
            Some(_) if world.home.host(&path(n)).exists() => Runs,
            Some(_) => Words,
        };
        if found != *comes || (found != Runs && world.home.host(&path(n)).exists()) {
            wrong.push(format!("{why}: {found:?}, not {comes:?}, with {answer:?}: {update}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let ann = ANN.to_string();
    let asked = world.home.audit().iter().filter(|record| record["sender"] != ann.as_str()).count();
    assert_eq!(asked, 0, "nothing was done for anybody else");
    assert!(world.server.unconfirmed_updates().len() <= 1, "all are confirmed");
    world.end(answered + 3)
}
