//! Interactions: deadlines, the order of answers, and what each kind of answer does.

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Gateway, Rest};
use super::refusal;
use crate::discord::{BOT_ID, Command, DiscordServer, Interaction, Press};

fn callback(interaction: &Interaction) -> String {
    format!("/interactions/{}/{}/callback", interaction.id, interaction.token)
}

fn original(interaction: &Interaction) -> String {
    format!("/webhooks/{BOT_ID}/{}/messages/@original", interaction.token)
}

#[tokio::test]
async fn late_forged_and_repeated_answers_are_refused() {
    let server = DiscordServer::start().await.unwrap();
    let mut rest = Rest::new(&server).await;
    rest.authorization = None;
    let one = server.invoke(Command::new("help").by(7));
    assert_eq!(refusal(&rest.get(&original(&one)).await), (404, 10015), "not acknowledged");
    let forged = format!("/interactions/{}/x/callback", one.id);
    assert_eq!(refusal(&rest.post(&forged, json!({ "type": 5 })).await), (404, 10062));
    for (body, expected) in [
        (json!({}), (400, 50035)),
        (json!({ "type": 1 }), (400, 50035)),
        (json!({ "type": 6 }), (400, 50035)),
        (json!({ "type": 4 }), (400, 50006)),
        (json!({ "type": 4, "data": { "content": "x".repeat(2001) } }), (400, 50035)),
    ] {
        assert_eq!(refusal(&rest.post(&callback(&one), body.clone()).await), expected, "{body}");
    }
    assert_eq!(rest.post(&callback(&one), json!({ "type": 5 })).await.status, 204);
    assert_eq!(refusal(&rest.post(&callback(&one), json!({ "type": 5 })).await), (400, 40060));
    let late = server.invoke(Command::new("help"));
    server.advance(Duration::from_secs(3));
    assert_eq!(refusal(&rest.post(&callback(&late), json!({ "type": 5 })).await), (404, 10062));
    let followup = format!("/webhooks/{BOT_ID}/{}/messages/5", one.token);
    assert_eq!(refusal(&rest.get(&followup).await), (404, 10008));
    server.advance(Duration::from_secs(15 * 60));
    for (verb, path) in [
        ("GET", original(&one)),
        ("PATCH", original(&one)),
        ("POST", format!("/webhooks/{BOT_ID}/{}", one.token)),
    ] {
        assert_eq!(
            refusal(&rest.call(verb, &path, Some(json!({ "content": "x" }))).await),
            (401, 50027),
            "{verb}"
        );
    }
    let known = server.interaction(one.id).unwrap();
    assert_eq!((known.acknowledged, known.user_id), (Some(5), 7));
    assert!(known.acknowledged_after_ms.unwrap() < 3000);
}

#[tokio::test]
async fn the_first_follow_up_fills_what_was_deferred() {
    let server = DiscordServer::start().await.unwrap();
    let (mut gateway, _) = Gateway::identified(&server, 1 << 12).await;
    let mut rest = Rest::new(&server).await;
    let one = server.invoke(Command::new("help"));
    gateway.event("INTERACTION_CREATE").await;
    rest.post(&callback(&one), json!({ "type": 5 })).await;
    let loading = gateway.event("MESSAGE_CREATE").await;
    assert_eq!((&loading["flags"], &loading["type"]), (&json!(128), &json!(20)));
    let hook = format!("/webhooks/{BOT_ID}/{}", one.token);
    assert_eq!(refusal(&rest.post(&hook, json!({ "content": "" })).await), (400, 50006));
    let first = rest.post(&hook, json!({ "content": "one" })).await.json();
    assert_eq!((&first["id"], &first["flags"]), (&loading["id"], &json!(0)));
    let second = rest.post(&hook, json!({ "content": "two" })).await.json();
    assert_ne!(second["id"], loading["id"]);
    let path = format!("{hook}/messages/{}", second["id"].as_str().unwrap());
    assert_eq!(
        rest.call("PATCH", &path, Some(json!({ "content": "2" }))).await.json()["content"],
        json!("2")
    );
    assert_eq!(rest.call("DELETE", &path, None).await.status, 204);
    assert_eq!(rest.call("DELETE", &original(&one), None).await.status, 204);
    let sent = server.sent_messages();
    assert!(sent.iter().all(|sent| sent.deleted && sent.interaction == Some(one.id)));
}

#[tokio::test]
async fn ephemeral_answers_are_in_no_list() {
    let server = DiscordServer::start().await.unwrap();
    server.open_channel(5);
    let (mut gateway, _) = Gateway::identified(&server, 1 | 1 << 9).await;
    gateway.event("GUILD_CREATE").await;
    let mut rest = Rest::new(&server).await;
    let one = server.invoke(Command::new("help").channel(5));
    let event = gateway.event("INTERACTION_CREATE").await;
    assert_eq!((event.get("user"), &event["member"]["user"]["id"]), (None, &json!("1")));
    let answer = json!({ "type": 4, "data": { "content": "not you", "flags": 64 } });
    let path = format!("{}?with_response=true", callback(&one));
    let answer = rest.post(&path, answer).await.json();
    assert_eq!(answer["interaction"]["response_message_ephemeral"], json!(true));
    assert_eq!(answer["resource"]["message"]["content"], json!("not you"));
    assert_eq!(rest.get("/channels/5/messages").await.json(), json!([]));
    assert_eq!(rest.get(&original(&one)).await.json()["content"], json!("not you"));
    assert!(server.sent_messages()[0].is_ephemeral());
    server.push_event("LAST", &Value::Null);
    gateway.event("LAST").await;
}

#[tokio::test]
async fn presses_change_the_message_that_they_are_on() {
    let server = DiscordServer::start().await.unwrap();
    let mut rest = Rest::new(&server).await;
    let channel = server.private_channel(7);
    let button = json!({ "type": 2, "style": 3, "label": "Approve", "custom_id": "yes" });
    let body = json!({ "content": "sure?", "components": [{ "type": 1, "components": [button] }] });
    let message = rest.post(&format!("/channels/{channel}/messages"), body).await.json();
    let id = message["id"].as_str().unwrap().parse().unwrap();
    let press = || server.press(Press::new(7, channel, id, "yes")).unwrap();
    let first = press();
    assert_eq!(first.event["message"]["id"], message["id"]);
    assert_eq!(first.event["data"], json!({ "component_type": 2, "custom_id": "yes", "id": 2 }));
    let change = json!({ "type": 7, "data": { "content": "approved", "components": [] } });
    assert_eq!(rest.post(&callback(&first), change).await.status, 204);
    let sent = &server.sent_messages()[0];
    assert_eq!((&*sent.content, sent.buttons().len()), ("approved", 0));
    let second = press();
    assert_eq!(rest.post(&callback(&second), json!({ "type": 6 })).await.status, 204);
    let more = json!({ "content": "twice", "flags": 64 });
    rest.post(&format!("/webhooks/{BOT_ID}/{}", second.token), more).await;
    let edit = json!({ "content": "done" });
    assert_eq!(rest.call("PATCH", &original(&second), Some(edit)).await.json()["id"], message["id"]);
    let contents: Vec<_> = server.sent_messages().into_iter().map(|sent| sent.content).collect();
    assert_eq!(contents, ["done", "twice"]);
    assert!(server.press(Press::new(7, 99, id, "yes")).is_err());
    // A button of a message that is gone, or that never was.
    let forged = server.press(Press::new(7, channel, 12, "forged")).unwrap();
    assert_eq!(rest.post(&callback(&forged), json!({ "type": 6 })).await.status, 204);
}
