//! HTTP, tokens, parameters, limits and the server's lifetime.

use serde_json::json;
use tokio::net::TcpStream;

use super::SOON;
use super::client::{BotApi, Client};
use crate::http::MAX_BODY_BYTES;
use crate::telegram::{Target, TelegramServer};

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    let me = client.call("getMe", json!({})).await.result();
    assert_eq!(me["id"], json!(123456));
    assert_eq!(me["is_bot"], json!(true));
    // Method names ignore case, as those of teloxide (`GetMe`) need.
    assert_eq!(client.call("GETME", json!({})).await.result(), me);
    let records = server.requests("getme");
    assert_eq!(records.len(), 2);
    assert_eq!(records[1].method, "GETME");
    assert_eq!(records[1].status, Some(200));
    assert_eq!(records[1].header("HOST"), Some("t"));
    assert!(records[0].at <= records[1].at);
}

#[tokio::test]
async fn the_token_is_checked_before_anything_else() {
    let server = TelegramServer::start().await.unwrap();
    let gate = server.gate("getMe", crate::telegram::Hold::BeforeEffect);
    let mut client = Client::new(&server).await;
    client.send("GET /bot123456:TEST-wrong/getMe HTTP/1.1\r\n\r\n").await;
    assert_eq!(client.reply().await.unwrap().refusal(), (401, "Unauthorized".to_owned()));
    assert!(!gate.is_holding());
    let token = server.token();
    assert_eq!(token.split_once(':').unwrap().1.len(), 35);
    assert_ne!(token, TelegramServer::start().await.unwrap().token());
    let unknown = client.call("sendGame", json!({})).await;
    assert_eq!(unknown.refusal(), (404, "Not Found: method not found".to_owned()));
    for path in ["/", "/bot", "/file/bot", "/botanything"] {
        client.send(&format!("GET {path} HTTP/1.1\r\n\r\n")).await;
        assert_eq!(client.reply().await.unwrap().status, 404, "{path}");
    }
}

#[tokio::test]
async fn parameters_come_as_query_form_or_json() {
    let server = TelegramServer::start().await.unwrap();
    server.open_chat(7);
    let mut client = Client::new(&server).await;
    let path = format!("/bot{}/sendMessage", server.token());
    client.send(&format!("GET {path}?chat_id=7&text=a+b%20%C3%A9%26 HTTP/1.1\r\n\r\n")).await;
    assert_eq!(client.reply().await.unwrap().result()["text"], json!("a b é&"));
    let form = "chat_id=7&text=reply&reply_parameters=%7B%22message_id%22%3A1%7D";
    let kind = "Content-Type: application/x-www-form-urlencoded";
    let length = form.len();
    client.send(&format!("POST {path} HTTP/1.1\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{form}")).await;
    let reply = client.reply().await.unwrap().result();
    assert_eq!(reply["reply_to_message"]["message_id"], json!(1));
    client.call("sendMessage", json!({ "chat_id": "7", "text": "three" })).await.result();
    assert_eq!(server.requests(Target::method("sendmessage").with("chat_id", 7)).len(), 3);
    assert_eq!(server.requests(Target::method("sendmessage").with("text", "three")).len(), 1);
}

#[tokio::test]
async fn requests_beyond_the_limits_are_refused() {
    let server = TelegramServer::start().await.unwrap();
    let long = "x".repeat(70 * 1024);
    let too_large = MAX_BODY_BYTES + 1;
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nX: {long}"), 431),
        (format!("POST / HTTP/1.1\r\nContent-Length: {too_large}\r\n\r\n"), 413),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n".to_owned(), 411),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n".to_owned(), 411),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n".to_owned(), 400),
        (format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{too_large:x}\r\n"), 413),
        ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_owned(), 400),
        ("\0\0\0\r\n\r\n".to_owned(), 400),
    ] {
        let mut client = Client::new(&server).await;
        client.send(&request).await;
        assert_eq!(client.reply().await.unwrap().status, status, "{:.40}", request);
        assert_eq!(client.rest().await, "");
    }
    let mut client = Client::new(&server).await;
    client.send(&format!("PUT /bot{}/getMe HTTP/1.1\r\n\r\n", server.token())).await;
    assert_eq!(client.reply().await.unwrap().status, 405);
}

#[tokio::test]
async fn a_body_may_come_in_chunks() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    let head = format!(
        "POST /bot{}/setMyCommands HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        server.token()
    );
    client
        .send(&format!("{head}4;x=y\r\ncomm\r\n9\r\nands=%5B%\r\n2\r\n5D\r\n0\r\nTrailer: x\r\n\r\n"))
        .await;
    assert_eq!(client.reply().await.unwrap().status, 200);
    assert_eq!(server.commands(), json!([]));
    client.call("getMe", json!({})).await.result();
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed() {
    let server = TelegramServer::start().await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..crate::loopback::MAX_CONNECTIONS {
        let mut client = Client::new(&server).await;
        client.call("getMe", json!({})).await.result();
        clients.push(client);
    }
    assert_eq!(Client::new(&server).await.rest().await, "");
    clients[0].call("getMe", json!({})).await.result();
}

#[tokio::test]
async fn expect_continue_is_honoured() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    let path = format!("/bot{}/getMe", server.token());
    let headers = "Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue";
    client.send(&format!("POST {path} HTTP/1.1\r\n{headers}\r\n\r\n")).await;
    assert_eq!(client.reply_head().await, "HTTP/1.1 100 Continue");
    client.send("{}").await;
    client.reply().await.unwrap().result();
}

#[tokio::test]
async fn the_server_ends_with_its_last_handle() {
    let server = TelegramServer::start().await.unwrap();
    let second = server.clone();
    let address = server.api_url().strip_prefix("http://").unwrap().to_owned();
    let mut client = Client::new(&server).await;
    drop(server);
    client.call("getMe", json!({})).await.result();
    client.post("getUpdates", json!({ "timeout": 50 })).await;
    second.wait_for_request(SOON, "getUpdates").await.unwrap();
    let state = std::sync::Arc::downgrade(&second.state);
    drop(second);
    assert_eq!(client.rest().await, "");
    let waited = tokio::time::timeout(SOON, async {
        while state.strong_count() > 0 || TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    waited.await.unwrap();
}

#[tokio::test]
async fn menu_actions_and_callbacks_follow_the_rules() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    let menu = json!([{ "command": "help", "description": "Lists the tools" }]);
    client.call("setMyCommands", json!({ "commands": menu })).await.result();
    assert_eq!(server.commands(), menu.clone());
    for (commands, why) in [
        (json!([{ "command": "Help", "description": "x" }]), "BOT_COMMAND_INVALID"),
        (json!([{ "command": "help", "description": "" }]), "BOT_COMMAND_DESCRIPTION_INVALID"),
        (json!(vec![menu[0].clone(); 101]), "BOT_COMMANDS_TOO_MUCH"),
    ] {
        let refused = client.call("setMyCommands", json!({ "commands": commands })).await;
        assert_eq!(refused.refusal(), (400, format!("Bad Request: {why}")));
    }
    let other = json!([{ "command": "other", "description": "For one chat" }]);
    let scope = json!({ "type": "chat", "chat_id": -5 });
    client.call("setMyCommands", json!({ "commands": other, "scope": scope })).await.result();
    assert_eq!((server.commands(), server.commands_of(-5)), (menu.clone(), other.clone()));
    assert_eq!(client.call("getMyCommands", json!({ "scope": scope })).await.result(), other);
    let none = client.call("getMyCommands", json!({ "scope": { "type": "all_group_chats" } })).await.result();
    assert_eq!(none, json!([]), "not what is shown instead");
    client.call("deleteMyCommands", json!({ "scope": scope })).await.result();
    assert_eq!((server.commands(), server.commands_of(-5)), (menu, json!([])));
    server.open_chat(7);
    let typing = json!({ "chat_id": 7, "action": "typing" });
    assert_eq!(client.call("sendChatAction", typing).await.result(), json!(true));
    let unknown = json!({ "chat_id": 7, "action": "humming" });
    assert_eq!(client.call("sendChatAction", unknown).await.status, 400);
    assert_eq!(client.call("answerCallbackQuery", json!({})).await.status, 400);
}
