//! Every fault, as it looks on the wire.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{BotApi, Client};
use super::{A_MOMENT, SOON};
use crate::telegram::{Fault, Incoming, Media, RedirectSink, Target, TelegramServer};

/// A server that knows chat 7 and the file `f` of ten bytes at `documents/file_0`.
async fn server() -> TelegramServer {
    let server = TelegramServer::start().await.unwrap();
    server.push(Incoming::private(7).document(Media::with_content("f", "0123456789")));
    server
}

fn message() -> serde_json::Value {
    json!({ "chat_id": 7, "text": "x" })
}

#[tokio::test]
async fn answers_are_replaced_in_order_and_without_effect() {
    let server = server().await;
    let mut client = Client::new(&server).await;
    server.fault("sendMessage", 2, Fault::internal_error());
    server.fault("sendMessage", 1, Fault::bad_gateway());
    server.fault("SENDMESSAGE", 1, Fault::too_many_requests(3));
    server.fault("sendMessage", 1, Fault::blocked_by_user());
    server.fault("sendMessage", 1, Fault::migrated_to(-1009));
    server.fault("sendMessage", 1, Fault::refused_with_200(400, "Bad Request: x"));
    server.fault("sendMessage", 1, Fault::empty_body());
    server.fault("sendMessage", 1, Fault::garbage());
    assert_eq!(server.remaining_faults(), 9);
    for _ in 0..2 {
        let reply = client.call("sendMessage", message()).await;
        assert_eq!(reply.refusal(), (500, "Internal Server Error".to_owned()));
    }
    // Another method is not concerned.
    client.call("getMe", json!({})).await.result();
    let reply = client.call("sendMessage", message()).await;
    assert_eq!(reply.status, 502);
    assert!(reply.body.starts_with(b"<html>"));
    let reply = client.call("sendMessage", message()).await;
    assert!(reply.head.contains("HTTP/1.1 429 Too Many Requests") && reply.head.contains("Retry-After: 3"));
    assert_eq!(reply.json()["parameters"], json!({ "retry_after": 3 }));
    let reply = client.call("sendMessage", message()).await;
    assert_eq!(reply.refusal(), (403, "Forbidden: bot was blocked by the user".to_owned()));
    let reply = client.call("sendMessage", message()).await;
    assert_eq!(reply.json()["parameters"], json!({ "migrate_to_chat_id": -1009 }));
    let reply = client.call("sendMessage", message()).await;
    assert_eq!((reply.status, &reply.json()["ok"]), (200, &json!(false)));
    assert!(client.call("sendMessage", message()).await.body.is_empty());
    let reply = client.call("sendMessage", message()).await;
    assert!(serde_json::from_slice::<serde_json::Value>(&reply.body).is_err());
    assert!(server.sent_messages().is_empty());
    assert_eq!(server.remaining_faults(), 0);
    client.call("sendMessage", message()).await.result();
    let statuses: Vec<_> = server.requests("sendMessage").iter().map(|r| r.status.unwrap()).collect();
    assert_eq!(statuses, [500, 500, 502, 429, 403, 400, 200, 200, 200, 200]);
}

#[tokio::test]
async fn a_fault_on_polling_confirms_nothing_unless_told() {
    let server = server().await;
    let mut client = Client::new(&server).await;
    let id = server.unconfirmed_updates()[0];
    server.fault("getUpdates", 1, Fault::conflict());
    let beyond = json!({ "offset": id + 1, "timeout": 0 });
    assert_eq!(client.call("getUpdates", beyond.clone()).await.status, 409);
    assert_eq!(server.unconfirmed_updates(), [id]);
    server.fault("getUpdates", 1, Fault::internal_error().after_effect());
    assert_eq!(client.call("getUpdates", beyond).await.status, 500);
    assert!(server.unconfirmed_updates().is_empty());
}

#[tokio::test]
async fn connections_close_at_every_point() {
    let server = server().await;
    server.fault("sendMessage", 1, Fault::close());
    server.fault("sendMessage", 1, Fault::close().after_effect());
    server.fault("sendMessage", 1, Fault::close_in_head());
    server.fault("sendMessage", 1, Fault::truncated(9));
    let mut rests = Vec::new();
    for sent in [0, 1, 2, 3] {
        let mut client = Client::new(&server).await;
        client.post("sendMessage", message()).await;
        assert!(client.reply().await.is_none());
        rests.push(client.rest().await);
        assert_eq!(server.sent_messages().len(), sent);
    }
    assert_eq!((&*rests[0], &*rests[1]), ("", ""));
    assert!(rests[2].starts_with("HTTP/1.1 200 OK\r\n") && !rests[2].contains("\r\n\r\n"));
    assert!(rests[3].ends_with("\r\n\r\n{\"ok\":tru"), "{}", rests[3]);
    assert_eq!(server.requests("sendMessage")[1].status, None);
}

#[tokio::test]
async fn downloads_are_truncated_overlong_or_of_unknown_length() {
    let server = server().await;
    let download = || Target::download_of("f");
    server.fault(download(), 1, Fault::truncated(u64::MAX));
    server.fault(download(), 1, Fault::overlong(5));
    server.fault(download(), 1, Fault::without_length());
    server.fault(Target::download_of("another"), 1, Fault::internal_error());
    let mut client = Client::new(&server).await;
    client.get_file("documents/file_0").await;
    assert!(client.reply().await.is_none());
    let rest = client.rest().await;
    assert!(rest.contains("Content-Length: 10\r\n") && rest.ends_with("012345678"), "{rest}");
    let mut client = Client::new(&server).await;
    client.get_file("documents/file_0").await;
    assert_eq!(client.reply().await.unwrap().body, b"0123456789     ");
    client.get_file("documents/file_0").await;
    let reply = client.reply().await.unwrap();
    assert_eq!(reply.body, b"0123456789");
    assert!(reply.head.contains("Connection: close") && !reply.head.contains("Content-Length"));
    let mut client = Client::new(&server).await;
    client.get_file("documents/file_0").await;
    assert_eq!(client.reply().await.unwrap().body, b"0123456789");
    assert_eq!(server.remaining_faults(), 1);
    server.clear_faults();
    assert_eq!(server.remaining_faults(), 0);
}

#[tokio::test]
async fn bodies_drip_or_stall() {
    let server = server().await;
    let pause = Duration::from_millis(10);
    server.fault(Target::download(), 1, Fault::drip(2, pause));
    server.fault(Target::download(), 1, Fault::stall_after(4));
    server.fault(Target::download(), 1, Fault::stall());
    let mut client = Client::new(&server).await;
    let started = Instant::now();
    client.get_file("documents/file_0").await;
    assert_eq!(client.reply().await.unwrap().body, b"0123456789");
    assert!(started.elapsed() >= 5 * pause);
    client.get_file("documents/file_0").await;
    assert!(tokio::time::timeout(A_MOMENT, client.reply()).await.is_err());
    drop(client);
    let mut client = Client::new(&server).await;
    client.get_file("documents/file_0").await;
    assert!(tokio::time::timeout(A_MOMENT, client.at_least(1)).await.is_err());
}

#[tokio::test]
async fn a_redirect_leads_to_a_listener_that_remembers() {
    let server = server().await;
    let sink = RedirectSink::start().await.unwrap();
    server.fault(Target::download(), 1, Fault::redirect(&sink.url()));
    let mut client = Client::new(&server).await;
    client.get_file("documents/file_0").await;
    let reply = client.reply().await.unwrap();
    assert_eq!(reply.status, 302);
    assert!(reply.head.contains(&format!("Location: {}\r\n", sink.url())));
    assert!(sink.received().is_empty());
    let address = sink.url();
    let address = address.strip_prefix("http://").unwrap().split_once('/').unwrap().0;
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    client.stream = stream;
    client.send("GET /elsewhere HTTP/1.1\r\nReferer: a secret\r\n\r\n").await;
    assert_eq!(client.reply().await.unwrap().body, b"bytes from elsewhere");
    assert!(sink.received()[0].contains("GET /elsewhere\r\nReferer: a secret\r\n"));
    server.wait_for_request(SOON, Target::download()).await.unwrap();
}
