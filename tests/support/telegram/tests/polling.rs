//! `getUpdates`: what confirms, what wakes, who is refused.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{BotApi, Client};
use super::{A_MOMENT, SOON};
use crate::telegram::{Incoming, TelegramServer};

fn ids(updates: &Value) -> Vec<i64> {
    updates.as_array().unwrap().iter().map(|u| u["update_id"].as_i64().unwrap()).collect()
}

fn text(id: i64) -> Incoming {
    Incoming::private(7).text(&format!("number {id}")).update_id(id)
}

#[tokio::test]
async fn a_long_poll_wakes_at_once() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    let started = Instant::now();
    client.post("getUpdates", json!({ "timeout": 50, "allowed_updates": ["message"] })).await;
    server.wait_for_request(SOON, "getUpdates").await.unwrap();
    let pushed = server.push(Incoming::private(7).text("hello"));
    let updates = client.reply().await.unwrap().result();
    assert!(started.elapsed() < SOON, "the poll did not wait for its timeout");
    assert_eq!(updates, json!([pushed.update]));
    assert_eq!(server.allowed_updates(), Some(json!(["message"])));
}

#[tokio::test]
async fn a_poll_without_updates_ends_with_its_timeout() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    let started = Instant::now();
    assert_eq!(client.call("getUpdates", json!({ "timeout": 1 })).await.result(), json!([]));
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(client.call("getUpdates", json!({})).await.result(), json!([]));
}

#[tokio::test]
async fn offsets_confirm_and_limits_limit() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    server.push_all([10, 11, 12, 13, 14].map(text));
    let first = client.call("getUpdates", json!({ "limit": 2 })).await.result();
    assert_eq!(ids(&first), [10, 11]);
    // Delivered is not confirmed.
    assert_eq!(server.unconfirmed_updates(), [10, 11, 12, 13, 14]);
    let again = client.call("getUpdates", json!({ "offset": 12 })).await.result();
    assert_eq!(ids(&again), [12, 13, 14]);
    server.wait_until_confirmed(SOON, 11).await.unwrap();
    assert!(server.wait_until_confirmed(A_MOMENT, 12).await.is_err());
    // A negative offset keeps the last ones and forgets the others.
    let last = client.call("getUpdates", json!({ "offset": -1 })).await.result();
    assert_eq!(ids(&last), [14]);
    assert_eq!(server.unconfirmed_updates(), [14]);
    client.call("getUpdates", json!({ "offset": 15 })).await.result();
    assert!(server.unconfirmed_updates().is_empty());
}

#[tokio::test]
async fn order_repetition_and_content_are_as_told() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    server.push_all([12, 11, 11].map(text));
    let updates = client.call("getUpdates", json!({})).await.result();
    assert_eq!(ids(&updates), [12, 11, 11]);
    client.call("getUpdates", json!({ "offset": 13 })).await.result();
    // Confirmed, and there once more, although the offset is beyond it. Once only.
    server.redeliver(12).unwrap();
    assert!(server.redeliver(99).is_err());
    let duplicate = client.call("getUpdates", json!({ "offset": 13 })).await.result();
    assert_eq!(ids(&duplicate), [12]);
    assert_eq!(client.call("getUpdates", json!({ "offset": 13 })).await.result(), json!([]));
    // The next id follows the highest so far.
    assert_eq!(server.push(Incoming::private(7).text("next")).update_id, 700_000_001);
    let hostile = json!({ "message": { "message_id": 5, "chat": { "id": 8 },
        "document": { "file_size": 5_000_000_000_u64, "mime_type": "not a type" } } });
    let id = server.push_raw(hostile.clone());
    let updates = client.call("getUpdates", json!({ "offset": id })).await.result();
    assert_eq!(updates[0]["message"], hostile["message"]);
    let nested = format!("{{\"update_id\":{},\"x\":{}{}}}", id + 1, "[".repeat(9999), "]".repeat(9999));
    server.push_text(id + 1, &nested);
    let raw = client.call("getUpdates", json!({ "offset": id + 1 })).await.body;
    assert!(String::from_utf8(raw).unwrap().contains(&nested));
    assert_eq!(server.unconfirmed_updates(), [id + 1]);
}

#[tokio::test]
async fn what_is_kept_back_has_higher_ids() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    server.push_all([13, 14, 10, 12, 11].map(text));
    let first = client.call("getUpdates", json!({ "limit": 3 })).await.result();
    assert_eq!(ids(&first), [10, 12, 11]);
    // The offset after the highest of them loses nothing.
    let rest = client.call("getUpdates", json!({ "offset": 13 })).await.result();
    assert_eq!(ids(&rest), [13, 14]);
    server.redeliver(12).unwrap();
    let duplicate = client.call("getUpdates", json!({ "offset": 13, "limit": 1 })).await.result();
    assert_eq!(ids(&duplicate), [12]);
    // Nor does a duplicate of one that is still to come go before it.
    server.redeliver(14).unwrap();
    let one = client.call("getUpdates", json!({ "offset": 13, "limit": 1 })).await.result();
    assert_eq!(ids(&one), [13]);
}

#[tokio::test]
async fn a_second_poller_terminates_the_first() {
    let server = TelegramServer::start().await.unwrap();
    let (mut first, mut second) = (Client::new(&server).await, Client::new(&server).await);
    first.post("getUpdates", json!({ "timeout": 50 })).await;
    server.wait_for_requests(SOON, "getUpdates", 1).await.unwrap();
    second.post("getUpdates", json!({ "timeout": 50 })).await;
    let (code, description) = first.reply().await.unwrap().refusal();
    assert_eq!(code, 409);
    assert_eq!(
        description,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is \
         running"
    );
    server.push(text(10));
    assert_eq!(ids(&second.reply().await.unwrap().result()), [10]);
    assert_eq!(server.max_concurrent("getUpdates"), 2);
    assert_eq!(server.max_concurrent("sendMessage"), 0);
    assert_eq!(server.max_concurrent_total(), 2);
}

#[tokio::test]
async fn a_poller_that_dies_loses_nothing() {
    let server = TelegramServer::start().await.unwrap();
    let mut first = Client::new(&server).await;
    first.post("getUpdates", json!({ "timeout": 50 })).await;
    server.wait_for_request(SOON, "getUpdates").await.unwrap();
    drop(first);
    server.push(text(10));
    let mut second = Client::new(&server).await;
    assert_eq!(ids(&second.call("getUpdates", json!({})).await.result()), [10]);
}

#[tokio::test]
async fn an_active_webhook_refuses_polling() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    client.post("getUpdates", json!({ "timeout": 50 })).await;
    server.wait_for_request(SOON, "getUpdates").await.unwrap();
    server.set_webhook("https://example.org/hook");
    let (_, description) = client.reply().await.unwrap().refusal();
    assert_eq!(description, "Conflict: terminated by setWebhook request");
    let (code, description) = client.call("getUpdates", json!({})).await.refusal();
    assert_eq!(code, 409);
    assert!(description.contains("can't use getUpdates method while webhook is active"));
    let info = client.call("getWebhookInfo", json!({})).await.result();
    assert_eq!(info["url"], json!("https://example.org/hook"));
    server.push_all([text(10), text(11)]);
    let info = client.call("getWebhookInfo", json!({})).await.result();
    assert_eq!(info["pending_update_count"], json!(2));
    client.call("deleteWebhook", json!({})).await.result();
    assert_eq!(ids(&client.call("getUpdates", json!({})).await.result()), [10, 11]);
    client.call("deleteWebhook", json!({ "drop_pending_updates": true })).await.result();
    assert_eq!(client.call("getUpdates", json!({})).await.result(), json!([]));
}

#[tokio::test]
async fn a_failed_wait_says_what_there_was() {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(7);
    let mut client = Client::new(&server).await;
    client.call("sendMessage", json!({ "chat_id": 7, "text": "something else" })).await.result();
    server.push(text(10));
    let error = server.wait_for_message(A_MOMENT, |m| m.text == "this").await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("no matching message within"), "{error}");
    assert!(error.contains("something else") && error.contains("unconfirmed updates: [10]"), "{error}");
    assert!(!error.contains(server.token()));
}
