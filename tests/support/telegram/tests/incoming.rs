//! The updates that the builders make.

use serde_json::json;

use super::client::{BotApi, Client};
use crate::telegram::{Incoming, Media, TelegramServer};

#[tokio::test]
async fn messages_have_the_shape_of_real_ones() {
    let server = TelegramServer::start().await.unwrap();
    let media = || Media::new("f").name("a.txt").mime("text/plain").size(5);
    let group = Incoming::group(-100_123, 7).username("ann").from_bot();
    let message = server.push(group.text("/save@bot path=x")).message;
    assert_eq!(message["chat"], json!({ "id": -100_123, "type": "supergroup", "title": "Test group" }));
    assert_eq!(message["from"]["username"], json!("ann"));
    assert_eq!(message["from"]["is_bot"], json!(true));
    assert_eq!(message["entities"], json!([{ "type": "bot_command", "offset": 0, "length": 9 }]));
    let document = server.push(Incoming::private(7).caption("hi").document(media())).message;
    assert_eq!(document["document"]["file_name"], json!("a.txt"));
    assert_eq!(document["document"]["file_size"], json!(5));
    assert!(document.get("caption_entities").is_none() && document.get("text").is_none());
    let animation = server.push(Incoming::private(7).animation(media())).message;
    assert_eq!(animation["document"]["file_unique_id"], animation["animation"]["file_unique_id"]);
    assert!(animation["document"].get("duration").is_none());
    for (incoming, kind, field) in [
        (Incoming::private(7).audio(media()), "audio", "duration"),
        (Incoming::private(7).voice(Media::new("v")), "voice", "mime_type"),
        (Incoming::private(7).video(media()), "video", "width"),
        (Incoming::private(7).video_note(Media::new("n")), "video_note", "length"),
        (Incoming::private(7).sticker(Media::new("s")), "sticker", "emoji"),
    ] {
        let message = server.push(incoming).message;
        assert!(message[kind].get(field).is_some(), "{message}");
    }
}

#[tokio::test]
async fn photos_come_in_sizes_of_their_own() {
    let server = TelegramServer::start().await.unwrap();
    let large = vec![1; 5000];
    let message = server.push(Incoming::private(7).photo(Media::with_content("p", large))).message;
    let sizes = message["photo"].as_array().unwrap();
    let widths: Vec<_> = sizes.iter().map(|size| size["width"].as_i64().unwrap()).collect();
    assert!(widths.is_sorted());
    assert_eq!(sizes[2]["file_id"], json!("p"));
    let mut client = Client::new(&server).await;
    for size in sizes {
        let file = client.call("getFile", json!({ "file_id": size["file_id"] })).await.result();
        assert_eq!(file["file_size"], size["file_size"]);
        client.get_file(file["file_path"].as_str().unwrap()).await;
        let bytes = client.reply().await.unwrap().body;
        assert_eq!(json!(bytes.len()), size["file_size"]);
    }
}

#[tokio::test]
async fn replies_edits_albums_and_gaps() {
    let server = TelegramServer::start().await.unwrap();
    let first = server.push(Incoming::private(7).text("one").field("forward_origin", json!({})));
    let second = server.push(Incoming::private(7).text("two").reply_to(&first.message));
    let third = server.push(Incoming::private(7).text("three").reply_to(&second.message));
    assert_eq!(third.message["reply_to_message"]["text"], json!("two"));
    assert!(third.message["reply_to_message"].get("reply_to_message").is_none());
    let edit = Incoming::private(7).text("one!").message_id(first.message_id).edited();
    let edited = server.push(edit).update;
    assert_eq!(edited["edited_message"]["message_id"], json!(1));
    assert!(edited["edited_message"]["edit_date"].is_i64());
    let part = |id: &str| Incoming::private(7).document(Media::new(id)).media_group("album");
    let album = server.push_all([part("a"), part("b")]);
    assert_eq!(album[1].message["media_group_id"], json!("album"));
    assert_eq!(album[1].message_id, album[0].message_id + 1);
    let bare = server.push(Incoming::private(7).text("x").without("from").without("date"));
    assert!(bare.message.get("from").is_none() && bare.message.get("date").is_none());
}

#[tokio::test]
async fn a_pressed_button_is_answered_once() {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(7);
    let mut client = Client::new(&server).await;
    let keyboard = json!({ "inline_keyboard": [[{ "text": "Yes", "callback_data": "y" }]] });
    let send = json!({ "chat_id": 7, "text": "Sure?", "reply_markup": keyboard });
    client.call("sendMessage", send).await.result();
    let asked = server.sent_messages().remove(0);
    assert_eq!(asked.message["reply_markup"], keyboard);
    let pressed = server.push(Incoming::callback(7, &asked.message, "y")).update;
    let query = &pressed["callback_query"];
    assert_eq!(query["data"], json!("y"));
    assert_eq!(query["message"]["message_id"], json!(asked.message_id));
    let answer = json!({ "callback_query_id": query["id"] });
    client.call("answerCallbackQuery", answer.clone()).await.result();
    assert_eq!(client.call("answerCallbackQuery", answer).await.status, 400);
}
