//! What people send, as events and lists show it.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Gateway, Rest};
use crate::discord::{BOT_ID, DiscordServer, GUILD_ID, Incoming, Media};

const EVERYTHING: u64 = 1 | 1 << 9 | 1 << 12 | 1 << 15;

#[tokio::test]
async fn every_kind_of_message_is_described() {
    let server = DiscordServer::start().await.unwrap();
    server.set_message_content(true);
    let (mut gateway, _) = Gateway::identified(&server, EVERYTHING).await;
    let earlier = server.push(Incoming::private(7).text("earlier"));
    gateway.event("MESSAGE_CREATE").await;
    let file = || Media::new("a.txt", "x");
    let bot = json!(BOT_ID.to_string());
    for (incoming, checks) in [
        (Incoming::private(7).text("x"), vec![("/type", json!(0)), ("/author/id", json!("7"))]),
        (Incoming::private(7).text("x").bot(), vec![("/author/bot", json!(true))]),
        (Incoming::private(7).webhook(8), vec![("/webhook_id", json!("8"))]),
        (Incoming::private(7).kind(6), vec![("/type", json!(6))]),
        (Incoming::private(7).id(12), vec![("/id", json!("12"))]),
        (Incoming::private(7).text("x").mention_bot(), vec![("/mentions/0/id", bot)]),
        (
            Incoming::private(7).reply_to(&earlier.message),
            vec![("/type", json!(19)), ("/referenced_message/content", json!("earlier"))],
        ),
        (
            Incoming::private(7).forward("old", [file()]),
            vec![
                ("/content", json!("")),
                ("/message_reference/type", json!(1)),
                ("/message_snapshots/0/message/content", json!("old")),
                ("/message_snapshots/0/message/attachments/0/filename", json!("a.txt")),
            ],
        ),
        (
            Incoming::private(7).voice(Media::new("voice-message.ogg", "OggS")),
            vec![("/flags", json!(1 << 13)), ("/attachments/0/duration_secs", json!(3.2))],
        ),
        (
            Incoming::guild(5, 7).text("hello <@8> and <@!9>"),
            vec![("/mentions/1/id", json!("9")), ("/guild_id", json!(GUILD_ID.to_string()))],
        ),
        (Incoming::private(7).field("author", 5), vec![("/author", json!(5))]),
    ] {
        let pushed = server.push(incoming.clone());
        let mut event = gateway.next().await;
        if event["t"] == "GUILD_CREATE" {
            event = gateway.next().await;
        }
        assert_eq!(event["d"], pushed.message);
        for (pointer, expected) in checks {
            assert_eq!(event["d"].pointer(pointer), Some(&expected), "{pointer} of {incoming:?}");
        }
    }
    server.push(Incoming::private(7).without("author"));
    assert_eq!(gateway.event("MESSAGE_CREATE").await.get("author"), None);
}

#[tokio::test]
async fn content_is_shown_to_who_may_see_it() {
    let server = DiscordServer::start().await.unwrap();
    let (mut gateway, _) = Gateway::identified(&server, EVERYTHING & !(1 << 15)).await;
    let mut rest = Rest::new(&server).await;
    let file = || Media::new("a.txt", "x");
    server.open_channel(5);
    gateway.event("GUILD_CREATE").await;
    let words = || Incoming::guild(5, 7).text("words").attachment(file());
    for (incoming, seen) in [
        (words(), false),
        (words().mention_bot(), true),
        (Incoming::private(7).text("words").attachment(file()), true),
    ] {
        let pushed = server.push(incoming);
        let event = gateway.event("MESSAGE_CREATE").await;
        let path = format!("/channels/{}/messages/{}", pushed.channel_id, pushed.message_id);
        for message in [event, rest.get(&path).await.json()] {
            let shown = message["content"].as_str().unwrap().ends_with("words");
            assert_eq!((shown, message["attachments"] != json!([])), (seen, seen), "{message}");
        }
        assert_eq!(pushed.message["attachments"].as_array().unwrap().len(), 1, "the test sees it all");
    }
    server.set_message_content(true);
    assert_eq!(rest.get("/channels/5/messages").await.json()[1]["content"], json!("words"));
}

#[tokio::test]
async fn edits_deletions_and_repetitions_are_told() {
    let server = DiscordServer::start().await.unwrap();
    let (mut gateway, _) = Gateway::identified(&server, 1 << 12).await;
    let pushed = server.push(Incoming::private(7).text("one"));
    let (channel, id) = (pushed.channel_id, pushed.message_id);
    let first = gateway.event("MESSAGE_CREATE").await;
    server.redeliver(&pushed).unwrap();
    assert_eq!(gateway.event("MESSAGE_CREATE").await["id"], first["id"]);
    server.resolve_embed(channel, id, "https://example.org").unwrap();
    let resolved = gateway.event("MESSAGE_UPDATE").await;
    assert_eq!(
        (&resolved["edited_timestamp"], resolved["embeds"].as_array().unwrap().len()),
        (&Value::Null, 1)
    );
    server.edit(channel, id, "two").unwrap();
    assert_eq!(gateway.event("MESSAGE_UPDATE").await["content"], json!("two"));
    server.delete(channel, id).unwrap();
    assert_eq!(gateway.event("MESSAGE_DELETE").await["id"], first["id"]);
    assert!(server.delete(channel, id).is_err() && server.edit(channel, id, "x").is_err());
    assert!(server.redeliver(&pushed).is_err());
    let more = server.push_all(["a", "b"].map(|text| Incoming::private(7).text(text).untold()));
    server.delete_all(channel, &[more[0].message_id, more[1].message_id, 8]);
    let gone = gateway.event("MESSAGE_DELETE_BULK").await;
    assert_eq!(gone["ids"], json!([more[0].message_id.to_string(), more[1].message_id.to_string()]));
    server.open_channel(5);
    server.open_thread(5, 6);
    server.push(Incoming::private(7).text("untold").untold());
    server.push_event("SOMETHING_NEW", &json!({ "x": 1 }));
    assert_eq!(gateway.event("SOMETHING_NEW").await, json!({ "x": 1 }), "it did not ask for guilds");
    server.send_text("{ not json");
    let odd = futures_util::StreamExt::next(&mut gateway.socket).await.unwrap().unwrap();
    assert_eq!(odd.to_text().unwrap(), "{ not json");
}

#[tokio::test]
async fn ids_tell_the_time() {
    let server = DiscordServer::start().await.unwrap();
    let old = server.push(Incoming::private(7).ago(Duration::from_secs(3600)));
    let new = server.push(Incoming::private(7));
    let hour = (new.message_id >> 22) - (old.message_id >> 22);
    assert!((3_599_000..3_660_000).contains(&hour), "{hour}");
    let channel = server.private_channel(7);
    let list =
        Rest::new(&server).await.get(&format!("/channels/{channel}/messages?after={}", old.message_id)).await;
    assert_eq!(list.json().as_array().unwrap().len(), 1);
    server.advance(Duration::from_secs(24 * 3600));
    let later = server.push(Incoming::private(7));
    assert!((later.message_id >> 22) - (new.message_id >> 22) >= 24 * 3_600_000);
    let time = later.message["timestamp"].as_str().unwrap();
    assert_eq!((time.len(), &time[10..11], &time[26..]), (32, "T", "+00:00"));
}
