//! Updates that are not what the Bot API documents: a field that cannot be read costs itself at
//! most, never the message around it, and never the messages behind it.

use super::world::{ANN, PATIENCE, World, save};
use serde_json::{Value, json};
use support::telegram::{Incoming, Media};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nonsense_beside_text_and_file_hides_neither() -> anyhow::Result<()> {
    let world = World::running().await?;
    let entities = json!([{ "type": "from_2031", "offset": 0, "length": 1 }, { "type": 7 }, "x", null]);
    let odd_media =
        |media: Media| media.mime("x/;;/not a mime").field("thumbnail", json!("?")).field("duration", -1);
    let mut saved = 0;
    for odd in [
        json!({ "caption_entities": entities }),
        json!({ "entities": "none", "date": "yesterday", "edit_date": [] }),
        json!({ "reply_to_message": 5, "via_bot": [], "forward_origin": "from_2031" }),
        json!({ "message_thread_id": "t", "is_topic_message": 1, "quote": { "text": 5 } }),
        json!({ "reply_markup": { "inline_keyboard": "x" }, "link_preview_options": 3, "effect_id": {} }),
        json!({ "message_id": "text" }),
        json!({ "date": 1e300, "forward_date": -1, "media_group_id": null }),
    ] {
        let path = format!("/shared/{saved}");
        let media = odd_media(Media::with_content("d", format!("file {saved}")).name("a\u{0}b.txt"));
        let mut message = Incoming::private(ANN).document(media).caption(&save(0, &path));
        for (name, value) in odd.as_object().expect("fields") {
            message = message.field(name, value.clone());
        }
        world.server.push(message);
        let said = world.texts(saved + 1).await?.pop().expect("an answer");
        assert!(said.contains(r#""saved":true"#), "{odd}: {said}");
        assert_eq!(world.saved(&path), format!("file {saved}").into_bytes());
        saved += 1;
    }
    let said = world.ask(Incoming::private(ANN).text("/help").field("entities", entities)).await?;
    assert!(said.contains("\n/attachment_save "), "{said}");
    world.end(saved + 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn sizes_that_are_missing_or_no_sizes_are_no_reason_to_refuse() -> anyhow::Result<()> {
    let world = World::running().await?;
    let sizes = [Value::Null, json!(-1), json!("9"), json!(1.5), json!([]), json!(0)];
    for (n, size) in sizes.iter().enumerate() {
        let media = Media::with_content(&format!("d{n}"), "content").field("file_size", size.clone());
        let message = Incoming::private(ANN).document(media).caption(&save(0, &format!("/shared/{n}")));
        let said = world.ask(message).await?;
        assert!(said.contains(r#""bytes_written":7"#), "{size}: {said}");
    }
    world.end(sizes.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn json_that_no_parser_takes_is_answered_as_unreadable() -> anyhow::Result<()> {
    let world = World::running().await?;
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let odd = [deep.as_str(), "1e999", r#""\ud83d""#];
    for (n, odd) in odd.iter().enumerate() {
        let id = 700_000_500 + n as i64;
        let text = format!(
            r#"{{"update_id":{id},"message":{{"message_id":{n},"from":{{"id":{ANN},"is_bot":false}},
            "chat":{{"id":{ANN},"type":"private"}},"date":1,"text":"hi","x":{odd}}}}}"#
        );
        // Answers go to chats that the server knows.
        world.server.open_chat(ANN);
        world.server.push_text(id, &text);
        let said = world.texts(n + 1).await?.pop().expect("an answer");
        assert!(said.starts_with("This message could not be read."), "{odd:.20}: {said}");
    }
    world.end(odd.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_update_that_is_no_json_is_passed_over_alone() -> anyhow::Result<()> {
    let world = World::running().await?;
    let poisons = ["{\"update_id\":700000100, this is not JSON", "[[[["];
    for (n, poison) in poisons.iter().enumerate() {
        world.server.push(Incoming::private(ANN).text("before"));
        world.server.push_text(700_000_100 + 10 * n as i64, poison);
        world.server.push(Incoming::private(ANN).text("behind"));
        world.server.wait_for_messages(PATIENCE, 2 * n + 2).await?;
    }
    world.logs_times("an update that is not JSON is passed over", poisons.len()).await?;
    world.end(2 * poisons.len())
}
