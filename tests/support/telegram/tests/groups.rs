//! Groups: their topics, and what becomes of a group that becomes a supergroup.

use serde_json::json;

use super::client::{BotApi, Client};
use crate::telegram::TelegramServer;

#[tokio::test]
async fn a_group_that_moved_names_its_new_id() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    server.open_chat(-5);
    client.call("sendMessage", json!({ "chat_id": -5, "text": "here" })).await.result();
    server.migrate(-5, -1005);
    for method in ["sendMessage", "sendChatAction"] {
        let refused = client.call(method, json!({ "chat_id": -5, "text": "x", "action": "typing" })).await;
        let said = "Bad Request: group chat was upgraded to a supergroup chat".to_owned();
        assert_eq!(refused.refusal(), (400, said), "{method}");
        assert_eq!(refused.json()["parameters"]["migrate_to_chat_id"], -1005);
    }
    client.call("sendMessage", json!({ "chat_id": -1005, "text": "there" })).await.result();
    let chats: Vec<_> = server.sent_messages().iter().map(|sent| sent.chat_id).collect();
    assert_eq!(chats, [-5, -1005]);
}

#[tokio::test]
async fn the_topic_general_is_sent_to_without_a_topic() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    server.open_chat(-1005);
    let to = |thread: i64| json!({ "chat_id": -1005, "message_thread_id": thread, "text": "x" });
    let refused = client.call("sendMessage", to(1)).await;
    assert_eq!(refused.refusal(), (400, "Bad Request: message thread not found".to_owned()));
    client.call("sendMessage", to(4)).await.result();
    server.open_chat(7);
    client.call("sendMessage", json!({ "chat_id": 7, "message_thread_id": 1, "text": "x" })).await.result();
    // An action is shown there all the same.
    let action = json!({ "chat_id": -1005, "message_thread_id": 1, "action": "typing" });
    client.call("sendChatAction", action).await.result();
}
