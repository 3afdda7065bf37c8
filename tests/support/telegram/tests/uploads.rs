//! Files that the bot sends: what arrives is what was sent, and what the real server refuses is
//! refused.

use serde_json::json;

use super::client::{BotApi, Client};
use crate::telegram::{Incoming, TelegramServer};

const JPEG: &[u8] = b"\xff\xd8\xff\xe0 a picture";

#[tokio::test]
async fn what_arrives_is_what_was_sent() {
    let server = TelegramServer::start().await.unwrap();
    server.push(Incoming::private(7).text("hello"));
    let mut client = Client::new(&server).await;
    let params = [("chat_id", "7"), ("caption", "naïve"), ("reply_parameters", r#"{"message_id":1}"#)];
    // A boundary that is not one, and every kind of line end.
    let bytes = b"\r\n--b0undar\n\r\r\n--\x00\xff\r\n";
    let reply = client.upload("sendDocument", &params, &[("document", "a \\\"b\\\".bin", bytes)]).await;
    let message = reply.result();
    assert_eq!((&message["caption"], &message["message_id"]), (&json!("naïve"), &json!(2)));
    assert_eq!(message["document"]["file_size"], json!(bytes.len()));
    let sent = &server.sent_messages()[0];
    let file = sent.file.as_ref().unwrap();
    assert_eq!((file.kind, &*file.name, &file.bytes[..]), ("document", "a \"b\".bin", &bytes[..]));
    assert_eq!((sent.text.as_str(), sent.reply_to), ("naïve", Some(1)));
    assert_eq!(server.requests("sendDocument")[0].params["caption"], json!("naïve"));
    for (method, field) in [
        ("sendPhoto", "photo"),
        ("sendVideo", "video"),
        ("sendAnimation", "animation"),
        ("sendAudio", "audio"),
        ("sendVoice", "voice"),
    ] {
        let message = client.upload(method, &[("chat_id", "7")], &[(field, "a", JPEG)]).await.result();
        assert!(message[field].is_object() || message[field].is_array(), "{message}");
    }
}

#[tokio::test]
async fn an_album_is_sent_as_a_whole() {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(7);
    let mut client = Client::new(&server).await;
    let media = json!([{ "type": "photo", "media": "attach://x", "caption": "both" },
        { "type": "video", "media": "attach://y" }]);
    let params = [("chat_id", "7"), ("media", &*media.to_string())];
    let files = [("x", "x.jpg", JPEG), ("y", "y.mp4", b"film")];
    let messages = client.upload("sendMediaGroup", &params, &files).await.result();
    assert_eq!(messages.as_array().unwrap().len(), 2);
    assert_eq!(messages[0]["media_group_id"], messages[1]["media_group_id"]);
    let texts: Vec<_> = server.sent_messages().into_iter().map(|sent| sent.text).collect();
    assert_eq!(texts, ["both", ""]);
}

#[tokio::test]
async fn refusals_are_worded_like_the_real_ones() {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(7);
    let mut client = Client::new(&server).await;
    let long = "x".repeat(1025);
    let large = [JPEG, &vec![0; 10 << 20]].concat();
    for (method, params, files, why) in [
        ("sendDocument", &[("chat_id", "8")][..], &[("document", "a", JPEG)][..], "chat not found"),
        ("sendDocument", &[("chat_id", "7")], &[], "there is no document in the request"),
        ("sendDocument", &[("chat_id", "7")], &[("document", "a", b"")], "file must be non-empty"),
        (
            "sendDocument",
            &[("chat_id", "7"), ("caption", &long)],
            &[("document", "a", JPEG)],
            "message caption is too long",
        ),
        ("sendPhoto", &[("chat_id", "7")], &[("photo", "a", b"text")], "IMAGE_PROCESS_FAILED"),
        (
            "sendPhoto",
            &[("chat_id", "7")],
            &[("photo", "a", &large)],
            "file of size 10485774 bytes is too big for a photo; the maximum size is 10485760 bytes",
        ),
    ] {
        let refusal = client.upload(method, params, files).await.refusal();
        assert_eq!(refusal, (400, format!("Bad Request: {why}")));
    }
    let item = |kind: &str, name: &str| json!({ "type": kind, "media": format!("attach://{name}") });
    for (items, why) in [
        (vec![item("photo", "x")], "there are not enough messages to send as an album"),
        (vec![item("photo", "x"); 11], "too many messages to send as an album"),
        (vec![item("photo", "x"), item("photo", "z")], "can't parse InputMedia: media not found"),
        (vec![item("photo", "x"), item("voice", "x")], "can't parse InputMedia: type is invalid"),
        (vec![item("photo", "x"), item("document", "x")], "Document can't be mixed with other media types"),
        (vec![item("audio", "x"), item("document", "x")], "Document can't be mixed with other media types"),
        (vec![item("audio", "x"), item("video", "x")], "Audio can't be mixed with other media types"),
    ] {
        let media = serde_json::Value::from(items).to_string();
        let params = [("chat_id", "7"), ("media", &*media)];
        let refusal = client.upload("sendMediaGroup", &params, &[("x", "x", JPEG)]).await.refusal();
        assert_eq!(refusal, (400, format!("Bad Request: {why}")));
    }
    assert!(server.sent_messages().is_empty());
}

#[tokio::test]
async fn a_form_that_is_none_is_refused() {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(7);
    let mut client = Client::new(&server).await;
    let body = "--b0undary\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7";
    let head = format!(
        "POST /bot{}/sendDocument HTTP/1.1\r\nHost: t\r\nContent-Type: multipart/form-data; boundary=b0undary\r\n\
         Content-Length: {}\r\n\r\n{body}",
        server.token(),
        body.len()
    );
    client.send(&head).await;
    let refusal = client.reply().await.unwrap().refusal();
    assert_eq!(refusal, (400, "Bad Request: can't parse multipart form".to_owned()));
}
