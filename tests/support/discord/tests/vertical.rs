//! One message from its author to the bot and the answer back, through gateway, CDN and REST.

use serde_json::json;

use super::SOON;
use super::client::{Gateway, Rest};
use crate::discord::{Command, DiscordServer, Incoming, Media, Press};

#[tokio::test]
async fn a_message_is_heard_downloaded_and_answered() {
    let server = DiscordServer::start().await.unwrap();
    let (mut gateway, ready) = Gateway::identified(&server, 1 | 1 << 9 | 1 << 12).await;
    assert_eq!(ready["resume_gateway_url"], json!(server.resume_url()));
    let pushed = server.push(Incoming::private(7).text("/save").attachment(Media::new("a b.txt", "hello")));
    let message = gateway.event("MESSAGE_CREATE").await;
    assert_eq!((&message["content"], &message["author"]["id"]), (&json!("/save"), &json!("7")));
    let attachment = &message["attachments"][0];
    assert_eq!((&attachment["filename"], &attachment["size"]), (&json!("a_b.txt"), &json!(5)));
    let mut rest = Rest::new(&server).await;
    let file = rest.download(attachment["url"].as_str().unwrap()).await;
    assert_eq!((file.status, &file.body[..]), (200, &b"hello"[..]));
    let path = format!("/channels/{}/messages", pushed.channel_id);
    let body = json!({
        "content": "saved",
        "nonce": "n1",
        "enforce_nonce": true,
        "message_reference": { "message_id": message["id"], "fail_if_not_exists": false },
        "allowed_mentions": { "parse": [], "replied_user": false },
    });
    let answer = rest.upload("POST", &path, body.clone(), &[("files[0]", "b.txt", b"bytes")]).await;
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    let again = rest.post(&path, body).await.json();
    assert_eq!(answer["id"], again["id"]);
    let own = gateway.event("MESSAGE_CREATE").await;
    assert_eq!((&own["nonce"], &own["attachments"][0]["size"]), (&json!("n1"), &json!(5)));
    let sent = server.wait_for_message(SOON, |sent| sent.content == "saved").await.unwrap();
    assert_eq!((sent.reply_to, sent.pings.len()), (Some(pushed.message_id), 0));
    assert_eq!((&*sent.files[0].name, &sent.files[0].bytes[..]), ("b.txt", &b"bytes"[..]));
    assert_eq!(server.sent_messages().len(), 1);
}

#[tokio::test]
async fn a_command_is_deferred_and_answered_and_a_button_pressed() {
    let server = DiscordServer::start().await.unwrap();
    let (mut gateway, _) = Gateway::identified(&server, 1 << 12).await;
    let command =
        Command::new("attachment_save").by(7).option("index", 0).file("file", Media::new("a.txt", "x"));
    let interaction = server.invoke(command);
    let event = gateway.event("INTERACTION_CREATE").await;
    assert_eq!(event["data"]["options"][0], json!({ "name": "index", "type": 4, "value": 0 }));
    let id = event["data"]["options"][1]["value"].as_str().unwrap();
    let url = event["data"]["resolved"]["attachments"][id]["url"].as_str().unwrap().to_owned();
    let mut rest = Rest::new(&server).await;
    assert_eq!(rest.download(&url).await.body, b"x");
    let callback = format!("/interactions/{}/{}/callback", interaction.id, interaction.token);
    assert_eq!(rest.post(&callback, json!({ "type": 5 })).await.status, 204);
    let loading = server.wait_for_message(SOON, |sent| sent.is_loading()).await.unwrap();
    let original = format!("/webhooks/900000000000000001/{}/messages/@original", interaction.token);
    let button = json!({ "type": 2, "style": 3, "label": "Approve", "custom_id": "yes" });
    let edit = json!({ "content": "done", "components": [{ "type": 1, "components": [button] }] });
    let edited = rest.call("PATCH", &original, Some(edit)).await;
    assert_eq!((edited.status, &edited.json()["content"]), (200, &json!("done")));
    let sent = server.wait_for_message(SOON, |sent| sent.content == "done").await.unwrap();
    assert_eq!((sent.message_id, sent.is_loading()), (loading.message_id, false));
    let custom_id = sent.button("Approve").unwrap();
    let press = server.press(Press::new(7, sent.channel_id, sent.message_id, &custom_id)).unwrap();
    let callback = format!("/interactions/{}/{}/callback", press.id, press.token);
    assert_eq!(rest.post(&callback, json!({ "type": 6 })).await.status, 204);
    let done = server.wait_for_interaction(SOON, press.id, |one| one.acknowledged == Some(6)).await.unwrap();
    assert_eq!(done.original, Some(sent.message_id));
}
