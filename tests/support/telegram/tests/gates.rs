//! Gates hold where they say, and let go.

use serde_json::json;

use super::A_MOMENT;
use super::client::{BotApi, Client};
use crate::telegram::{Gate, Hold, Incoming, StoredFile, Target, TelegramServer};

async fn held(hold: Hold) -> (TelegramServer, Client, Gate) {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(7);
    let gate = server.gate("sendMessage", hold);
    let mut client = Client::new(&server).await;
    client.post("sendMessage", json!({ "chat_id": 7, "text": "x" })).await;
    let record = gate.reached().await.unwrap();
    assert_eq!(record.params["text"], json!("x"));
    assert!(gate.is_holding());
    assert_eq!(server.requests("sendMessage")[0].status, None);
    (server, client, gate)
}

#[tokio::test]
async fn before_the_effect_nothing_has_happened() {
    let (server, mut client, gate) = held(Hold::BeforeEffect).await;
    assert!(server.sent_messages().is_empty());
    // Other requests pass, even of the same method: a gate holds one.
    let mut other = Client::new(&server).await;
    other.call("sendMessage", json!({ "chat_id": 7, "text": "y" })).await.result();
    gate.release();
    client.reply().await.unwrap().result();
    let texts: Vec<_> = server.sent_messages().into_iter().map(|m| m.text).collect();
    assert_eq!(texts, ["y", "x"]);
}

#[tokio::test]
async fn before_the_answer_it_has_happened() {
    let (server, mut client, gate) = held(Hold::BeforeAnswer).await;
    assert_eq!(server.sent_messages().len(), 1);
    assert!(tokio::time::timeout(A_MOMENT, client.at_least(1)).await.is_err());
    drop(gate);
    client.reply().await.unwrap().result();
}

#[tokio::test]
async fn a_dead_client_changes_nothing_unless_discarded() {
    let (server, client, gate) = held(Hold::BeforeEffect).await;
    drop(client);
    gate.release();
    server.wait_for_messages(super::SOON, 1).await.unwrap();
    let (server, mut client, gate) = held(Hold::BeforeEffect).await;
    gate.discard();
    assert_eq!(client.rest().await, "");
    assert!(server.sent_messages().is_empty());
}

#[tokio::test]
async fn a_poll_is_held_after_it_confirmed() {
    let server = TelegramServer::start().await.unwrap();
    let first = server.push(Incoming::private(7).text("one"));
    let gate = server.gate("getUpdates", Hold::BeforeAnswer);
    let mut client = Client::new(&server).await;
    client.post("getUpdates", json!({ "offset": first.update_id + 1 })).await;
    gate.reached().await.unwrap();
    assert!(server.unconfirmed_updates().is_empty());
}

#[tokio::test]
async fn a_download_is_held_in_its_middle() {
    let server = TelegramServer::start().await.unwrap();
    let size = 300_000;
    server.put_file("f", StoredFile::repeated(b'x', size).at("f"));
    let gate = server.gate(Target::download_of("f"), Hold::InBody(100_001));
    let mut client = Client::new(&server).await;
    client.get_file("f").await;
    gate.reached().await.unwrap();
    client.at_least(100_001).await;
    assert!(tokio::time::timeout(A_MOMENT, client.at_least(101_000)).await.is_err());
    gate.release();
    assert_eq!(client.reply().await.unwrap().body.len() as u64, size);
    let gate = server.gate(Target::download(), Hold::InBody(u64::MAX));
    client.get_file("f").await;
    gate.reached().await.unwrap();
    gate.discard();
    assert!(client.rest().await.ends_with("xxx"));
}

#[tokio::test]
async fn a_dropped_gate_holds_nobody() {
    let server = TelegramServer::start().await.unwrap();
    drop(server.gate("getMe", Hold::BeforeEffect));
    let _other = server.gate(Target::method("getMe").with("nothing", "like this"), Hold::BeforeEffect);
    Client::new(&server).await.call("getMe", json!({})).await.result();
}
