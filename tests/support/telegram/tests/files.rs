//! `getFile` and downloads.

use serde_json::json;

use super::client::{BotApi, Client};
use crate::telegram::{Incoming, Media, StoredFile, Target, TelegramServer};

const MIB: u64 = 1024 * 1024;

#[tokio::test]
async fn a_file_is_found_by_its_encoded_path() {
    let server = TelegramServer::start().await.unwrap();
    server.push(Incoming::private(7).document(Media::with_content("d", "hello").name("a.PDF")));
    let mut client = Client::new(&server).await;
    let file = client.call("getFile", json!({ "file_id": "d" })).await.result();
    assert_eq!(file["file_path"], json!("documents/file_0.PDF"));
    assert_eq!(file["file_size"], json!(5));
    for path in ["documents/file_0.PDF", "documents%2Ffile_0.PDF", "documents%2ffile_0.PDF"] {
        client.get_file(path).await;
        let reply = client.reply().await.unwrap();
        assert_eq!((reply.status, &*reply.body), (200, &b"hello"[..]));
        assert!(reply.head.contains("Content-Type: application/octet-stream"));
    }
    client.get_file("documents/file_1").await;
    assert_eq!(client.reply().await.unwrap().refusal(), (404, "Not Found".to_owned()));
    assert_eq!(server.requests(Target::download()).len(), 4);
    assert_eq!(server.requests(Target::download_of("d")).len(), 3);
    client.send("GET /file/bot1:no/documents/file_0.PDF HTTP/1.1\r\n\r\n").await;
    assert_eq!(client.reply().await.unwrap().status, 401);
}

#[tokio::test]
async fn what_is_declared_need_not_be_true() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    server.put_file("lies", StoredFile::new("longer than three").declared_size(3).at("x/../ä b"));
    let file = client.call("getFile", json!({ "file_id": "lies" })).await.result();
    assert_eq!((&file["file_size"], &file["file_path"]), (&json!(3), &json!("x/../ä b")));
    client.get_file("x%2F..%2F%C3%A4%20b").await;
    assert_eq!(client.reply().await.unwrap().body, b"longer than three");
    server.put_file("bare", StoredFile::new("x").without_path().without_size());
    let file = client.call("getFile", json!({ "file_id": "bare" })).await.result();
    assert!(file.get("file_size").is_none() && file.get("file_path").is_none());
}

#[tokio::test]
async fn twenty_mebibytes_are_the_limit() {
    let server = TelegramServer::start().await.unwrap();
    let mut client = Client::new(&server).await;
    server.put_file("fits", StoredFile::repeated(b'x', 20 * MIB));
    server.put_file("large", StoredFile::repeated(b'x', 20 * MIB + 1));
    server.put_file("endless", StoredFile::repeated(b'x', 1 << 40).declared_size(3).at("endless"));
    client.call("getFile", json!({ "file_id": "fits" })).await.result();
    let refusal = client.call("getFile", json!({ "file_id": "large" })).await.refusal();
    assert_eq!(refusal, (400, "Bad Request: file is too big".to_owned()));
    assert_eq!(client.call("getFile", json!({ "file_id": "other" })).await.status, 400);
    assert_eq!(client.call("getFile", json!({})).await.status, 400);
    client.get_file("endless").await;
    client.at_least(MIB as usize).await;
}
