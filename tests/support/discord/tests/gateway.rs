//! The gateway: sessions, resumes, heartbeats and close codes.

use serde_json::json;

use super::SOON;
use super::client::Gateway;
use crate::discord::{Closed, DiscordServer, Incoming};

const DIRECT: u64 = 1 << 12;

#[tokio::test]
async fn a_resume_replays_everything_after_the_number() {
    let server = DiscordServer::start().await.unwrap();
    let (mut gateway, ready) = Gateway::identified(&server, DIRECT).await;
    server.push(Incoming::private(7).text("one"));
    assert_eq!(gateway.event("MESSAGE_CREATE").await["content"], json!("one"));
    gateway.close(4000).await;
    let first = server.wait_for_connection(SOON, |one| one.closed.is_some()).await.unwrap();
    assert_eq!(first.closed, Some(Closed::ByClient(Some(4000))));
    server.push(Incoming::private(7).text("two"));
    let (mut gateway, _) = Gateway::new(&server, &server.resume_url(), "").await;
    gateway.resume(&ready["session_id"], 1).await;
    for content in ["one", "two"] {
        assert_eq!(gateway.event("MESSAGE_CREATE").await["content"], json!(content));
    }
    let resumed = gateway.next().await;
    assert_eq!((&resumed["t"], &resumed["s"]), (&json!("RESUMED"), &json!(4)));
    server.push(Incoming::private(7).text("three"));
    assert_eq!(gateway.event("MESSAGE_CREATE").await["content"], json!("three"));
    let second = server.wait_until_connected(SOON).await.unwrap();
    assert_eq!(format!("ws://{}", second.host), server.resume_url());
}
