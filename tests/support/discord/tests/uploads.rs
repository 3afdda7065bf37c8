//! Files that the bot sends: what arrives is what was sent, and what is too much is refused.

use serde_json::json;

use super::client::Rest;
use super::refusal;
use crate::discord::DiscordServer;

#[tokio::test]
async fn too_many_and_too_large_files_are_refused() {
    let server = DiscordServer::start().await.unwrap();
    server.open_channel(5);
    let mut rest = Rest::new(&server).await;
    let large = vec![b'x'; 10 * 1024 * 1024 + 1];
    let most = &large[1..];
    let fields: Vec<_> = (0..11).map(|n| format!("files[{n}]")).collect();
    let named = |count: usize, bytes| -> Vec<(&str, &str, &[u8])> {
        fields[..count].iter().map(|field| (&**field, "a.bin", bytes)).collect()
    };
    for (files, expected) in [
        (named(11, b"x"), (400, 30015)),
        (named(1, &large), (413, 40005)),
        (named(3, most), (413, 40005)),
        (vec![("file", "a.bin", &b"x"[..])], (400, 0)),
    ] {
        let reply = rest.upload("POST", "/channels/5/messages", json!({ "content": "x" }), &files).await;
        assert_eq!(refusal(&reply), expected);
    }
    assert!(server.sent_messages().is_empty());
    for files in [named(10, b"x"), named(2, most)] {
        assert_eq!(rest.upload("POST", "/channels/5/messages", json!({}), &files).await.status, 200);
    }
}

#[tokio::test]
async fn what_arrives_is_what_was_sent() {
    let server = DiscordServer::start().await.unwrap();
    server.open_channel(5);
    let mut rest = Rest::new(&server).await;
    // A boundary that is not one, and every kind of line end.
    let odd = b"\r\n--b0undar\n\r\r\n--\x00\xff\r\n";
    let files = [("files[1]", "second \\\"2\\\".bin", &odd[..]), ("files[0]", "é.txt", b"")];
    let attachments = json!([{ "id": 0, "description": "first" }, { "id": "1", "filename": "named.bin" }]);
    let message = rest
        .upload("POST", "/channels/5/messages", json!({ "attachments": attachments }), &files)
        .await
        .json();
    let sent = &server.sent_messages()[0];
    let seen: Vec<_> =
        sent.files.iter().map(|file| (&*file.name, &file.bytes[..], file.description.as_deref())).collect();
    assert_eq!(seen, [("é.txt", &b""[..], Some("first")), ("named.bin", &odd[..], None)]);
    assert_eq!(message["attachments"][0]["filename"], json!("txt"));
    let url = message["attachments"][1]["url"].as_str().unwrap();
    assert_eq!(rest.download(url).await.body, odd);
}
