//! Faults and gates around an effect: what happened, and what the client heard of it.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Gateway, Rest};
use crate::discord::{DiscordServer, Fault, Hold, Incoming, Target};

#[tokio::test]
async fn a_connection_breaks_before_or_after_the_effect() {
    for (fault, happened) in [
        (Fault::close(), 0),
        (Fault::close().after_effect(), 1),
        (Fault::close_in_head(), 1),
        (Fault::truncated(5), 1),
        (Fault::server_error(502), 0),
        (Fault::server_error(502).after_effect(), 1),
    ] {
        let server = DiscordServer::start().await.unwrap();
        server.open_channel(5);
        server.fault("create_message", 1, fault.clone());
        let mut rest = Rest::new(&server).await;
        let body = json!({ "content": "x", "nonce": "n", "enforce_nonce": true });
        let bytes = Some(("application/json", body.to_string().into_bytes()));
        rest.ask("POST", "/api/v10/channels/5/messages", bytes).await;
        server.wait_for_request(super::SOON, "create_message").await.unwrap();
        server.wait_until_idle(super::SOON, "create_message").await.unwrap();
        assert_eq!(server.sent_messages().len(), happened, "{fault:?}");
        let again = Rest::new(&server).await.post("/channels/5/messages", body).await;
        assert_eq!((again.status, server.sent_messages().len()), (200, 1), "{fault:?}");
    }
}

#[tokio::test]
async fn gates_choose_by_route_and_fields() {
    let server = DiscordServer::start().await.unwrap();
    server.open_channel(5);
    let target =
        Target::method("create_message").with("channel_id", 5).with("message_reference.message_id", 8);
    let gate = server.gate(target, Hold::BeforeEffect);
    let mut rest = Rest::new(&server).await;
    assert_eq!(rest.post("/channels/5/messages", json!({ "content": "x" })).await.status, 200);
    let reply =
        json!({ "content": "y", "message_reference": { "message_id": "8", "fail_if_not_exists": false } });
    let bytes = Some(("application/json", reply.to_string().into_bytes()));
    rest.ask("POST", "/api/v10/channels/5/messages", bytes).await;
    let held = gate.reached().await.unwrap();
    assert_eq!((held.method.as_str(), &held.params["content"]), ("create_message", &json!("y")));
    assert_eq!(server.sent_messages().len(), 1);
    server.push(Incoming::guild(5, 7).text("meanwhile"));
    gate.release();
    assert_eq!(rest.reply().await.status, 200);
    server.fault("typing", 1, Fault::delayed(Duration::from_millis(50)));
    let started = Instant::now();
    assert_eq!(rest.call("POST", "/channels/5/typing", None).await.status, 204);
    assert!(started.elapsed() >= Duration::from_millis(50));
}

#[tokio::test]
async fn a_failed_wait_says_what_there_was() {
    let server = DiscordServer::start().await.unwrap();
    server.open_channel(5);
    let mut rest = Rest::new(&server).await;
    rest.post("/channels/5/messages", json!({ "content": "what there was" })).await;
    let waited = server.wait_for_message(Duration::from_millis(20), |sent| sent.content == "nothing");
    let error = waited.await.unwrap_err().to_string();
    assert!(error.contains("create_message") && error.contains("what there was"), "{error}");
}

#[tokio::test]
async fn nobody_is_served_while_it_is_away() {
    let server = DiscordServer::start().await.unwrap();
    let (mut gateway, _) = Gateway::identified(&server, 0).await;
    let mut rest = Rest::new(&server).await;
    server.set_away(true);
    assert_eq!(gateway.closed().await, None);
    rest.ask("GET", "/api/v10/users/@me", None).await;
    assert_eq!(rest.rest().await, "");
    assert_eq!(server.requests("get_current_user")[0].status, None);
    server.set_away(false);
    assert_eq!(Rest::new(&server).await.get("/users/@me").await.status, 200);
    assert_eq!(server.sessions().len(), 1, "it can be resumed");
}
