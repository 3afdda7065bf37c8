//! Who may ask, what there is to ask for, and what the bot's account says.

use serde_json::json;

use super::client::{AGENT, Rest};
use super::refusal;
use crate::discord::{BOT_ID, DiscordServer};

#[tokio::test]
async fn strangers_and_unknown_agents_are_refused() {
    let server = DiscordServer::start().await.unwrap();
    let bot = format!("Bot {}", server.token());
    for (authorization, agent, status) in [
        (None, AGENT, 401),
        (Some("Bot x"), AGENT, 401),
        (Some(server.token()), AGENT, 401),
        (Some(&*bot), "", 403),
        (Some(&*bot), "curl/8.0", 403),
        (Some(&*bot), "DiscordBot (1.0)", 403),
        (Some(&*bot), AGENT, 200),
        (Some(&*bot), "DiscordBot (https://example.org 2.7.1) Python/3.11", 200),
    ] {
        let mut rest = Rest::new(&server).await;
        (rest.authorization, rest.agent) = (authorization.map(str::to_owned), agent.to_owned());
        let reply = rest.get("/users/@me").await;
        assert_eq!(reply.status, status, "{authorization:?} {agent:?}");
        match status {
            401 => assert_eq!(reply.json(), json!({ "message": "401: Unauthorized", "code": 0 })),
            403 => assert_eq!(reply.body, b"error code: 1010"),
            _ => assert_eq!(reply.header("via"), Some("1.1 google")),
        }
    }
    assert_ne!(server.token(), DiscordServer::start().await.unwrap().token());
    assert_eq!(server.token().split('.').map(str::len).collect::<Vec<_>>(), [24, 6, 38]);
}

#[tokio::test]
async fn what_is_not_there_is_refused() {
    let server = DiscordServer::start().await.unwrap();
    server.open_channel(5);
    let mut rest = Rest::new(&server).await;
    for (verb, path, expected) in [
        ("GET", "/nothing", (404, 0)),
        ("PUT", "/users/@me", (405, 0)),
        ("GET", "/users/8", (404, 10013)),
        ("GET", "/guilds/8", (404, 10004)),
        ("GET", "/channels/8", (404, 10003)),
        ("GET", "/channels/x", (400, 50035)),
        ("GET", "/channels/8/messages", (404, 10003)),
        ("GET", "/channels/5/messages/9", (404, 10008)),
        ("GET", "/channels/5/messages?limit=0", (400, 50035)),
        ("GET", "/channels/5/messages?limit=101", (400, 50035)),
        ("POST", "/channels/8/typing", (404, 10003)),
        ("DELETE", "/channels/5/messages/9", (404, 10008)),
        ("GET", "/applications/8/commands", (403, 20012)),
        ("POST", "/interactions/8/token/callback", (404, 10062)),
        ("PATCH", "/webhooks/8/token/messages/@original", (404, 10015)),
        ("POST", "/webhooks/8/token", (404, 10015)),
    ] {
        assert_eq!(refusal(&rest.call(verb, path, None).await), expected, "{verb} {path}");
    }
    for (kind, body, expected) in [
        ("application/json", "{", (400, 50109)),
        ("application/json", "5", (400, 50035)),
        ("text/plain", "{}", (400, 50035)),
        ("multipart/form-data", "{}", (400, 0)),
        ("multipart/form-data; boundary=x", "--y", (400, 0)),
    ] {
        rest.ask("POST", "/api/v10/channels/5/messages", Some((kind, body.into()))).await;
        assert_eq!(refusal(&rest.reply().await), expected, "{kind} {body}");
    }
    rest.ask("GET", "/api/v9/users/@me", None).await;
    assert_eq!(refusal(&rest.reply().await), (404, 0));
    assert_eq!(server.journal().len(), 22);
}

#[tokio::test]
async fn the_account_is_described() {
    let server = DiscordServer::start().await.unwrap();
    let mut rest = Rest::new(&server).await;
    let me = rest.get("/users/@me").await.json();
    assert_eq!((&me["id"], &me["bot"]), (&json!(BOT_ID.to_string()), &json!(true)));
    assert_eq!(rest.get("/applications/@me").await.json()["flags"], json!(0));
    server.set_message_content(true);
    assert_eq!(rest.get("/applications/@me").await.json()["flags"], json!(1 << 19));
    server.set_start_limit(0, super::SOON);
    let gateway = rest.get("/gateway/bot").await.json();
    assert_eq!(gateway["url"], json!(server.gateway_url()));
    assert_eq!(gateway["session_start_limit"]["remaining"], json!(0));
    assert_eq!(gateway["session_start_limit"]["reset_after"], json!(20_000));
    let channel = rest.post("/users/@me/channels", json!({ "recipient_id": "7" })).await.json();
    assert_eq!(
        (&channel["type"], &channel["id"]),
        (&json!(1), &json!(server.private_channel(7).to_string()))
    );
    let again = rest.post("/users/@me/channels", json!({ "recipient_id": "7" })).await.json();
    assert_eq!(channel, again);
}

#[tokio::test]
async fn the_server_ends_with_its_last_handle() {
    let server = DiscordServer::start().await.unwrap();
    let second = server.clone();
    let mut rest = Rest::new(&server).await;
    drop(server);
    assert_eq!(rest.get("/users/@me").await.status, 200);
    let state = std::sync::Arc::downgrade(&second.state);
    drop(second);
    let waited = tokio::time::timeout(super::SOON, async {
        while state.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    });
    waited.await.unwrap();
}

#[tokio::test]
#[should_panic(expected = "no route of Discord is named")]
async fn a_target_without_a_route_is_a_mistake() {
    let server = DiscordServer::start().await.unwrap();
    server.fault("send_message", 1, crate::discord::Fault::close());
}
