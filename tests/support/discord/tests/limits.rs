//! Rate limits: the headers that announce them, and the refusals of who does not listen.

use std::time::Duration;

use serde_json::json;

use super::client::Rest;
use crate::discord::{Command, DiscordServer, Fault, Scope};

#[tokio::test]
async fn a_bucket_is_a_channels_own_and_fills_again() {
    let server = DiscordServer::start().await.unwrap();
    server.open_channel(5);
    server.open_channel(6);
    let mut rest = Rest::new(&server).await;
    let body = || json!({ "content": "x" });
    let free = rest.post("/channels/6/messages", body()).await;
    assert_eq!(free.header("x-ratelimit-remaining"), Some("9999"));
    server.set_rate("create_message", (2, Duration::from_millis(400)));
    let first = rest.post("/channels/6/messages", body()).await;
    assert_eq!(
        (first.header("x-ratelimit-limit"), first.header("x-ratelimit-remaining")),
        (Some("2"), Some("1"))
    );
    let bucket = first.header("x-ratelimit-bucket").unwrap();
    assert_eq!(free.header("x-ratelimit-bucket"), Some(bucket));
    let after: f64 = first.header("x-ratelimit-reset-after").unwrap().parse().unwrap();
    assert!(after > 0.0 && after <= 0.4, "{after}");
    assert_eq!(rest.post("/channels/6/messages", body()).await.status, 200);
    let refused = rest.post("/channels/6/messages", body()).await;
    assert_eq!((refused.status, refused.header("x-ratelimit-scope")), (429, Some("user")));
    assert_eq!((refused.header("retry-after"), refused.header("via").is_some()), (Some("1"), true));
    let json = refused.json();
    assert_eq!((&json["global"], refused.header("x-ratelimit-global")), (&json!(false), None));
    assert_eq!(rest.get("/channels/6").await.status, 200, "another route");
    assert_eq!(rest.post("/channels/5/messages", body()).await.status, 200, "another channel");
    let wait = json["retry_after"].as_f64().unwrap();
    tokio::time::sleep(Duration::from_secs_f64(wait)).await;
    assert_eq!(rest.post("/channels/6/messages", body()).await.status, 200);
    assert_eq!(server.sent_messages().len(), 5);
}

#[tokio::test]
async fn the_limit_over_all_spares_interactions() {
    let server = DiscordServer::start().await.unwrap();
    let interaction = server.invoke(Command::new("help"));
    server.set_global_rate(Some((1, Duration::from_secs(60))));
    let mut rest = Rest::new(&server).await;
    assert_eq!(rest.get("/users/@me").await.status, 200);
    let refused = rest.get("/gateway/bot").await;
    assert_eq!((refused.status, refused.header("x-ratelimit-scope")), (429, Some("global")));
    assert_eq!(
        (&refused.json()["global"], refused.header("x-ratelimit-global")),
        (&json!(true), Some("true"))
    );
    let path = format!("/interactions/{}/{}/callback", interaction.id, interaction.token);
    assert_eq!(rest.post(&path, json!({ "type": 5 })).await.status, 204);
}

#[tokio::test]
async fn refusals_come_as_planned() {
    let server = DiscordServer::start().await.unwrap();
    let mut rest = Rest::new(&server).await;
    server.fault("get_current_user", 1, Fault::rate_limited(Duration::from_millis(1500), Scope::Shared));
    server.fault("get_current_user", 1, Fault::banned_by_proxy(7));
    server.fault("get_current_user", 1, Fault::server_error(500));
    server.fault("get_current_user", 1, Fault::server_error(502));
    server.fault("get_current_user", 1, Fault::discord_error(403, 50013, "Missing Permissions"));
    let shared = rest.get("/users/@me").await;
    assert_eq!((&shared.json()["retry_after"], shared.header("retry-after")), (&json!(1.5), Some("2")));
    assert_eq!(shared.header("x-ratelimit-scope"), Some("shared"));
    let banned = rest.get("/users/@me").await;
    assert_eq!((banned.status, banned.header("via"), banned.header("retry-after")), (429, None, Some("7")));
    assert!(serde_json::from_slice::<serde_json::Value>(&banned.body).is_err());
    for (status, code) in [(500, Some(0)), (502, None), (403, Some(50013))] {
        let reply = rest.get("/users/@me").await;
        let json = serde_json::from_slice::<serde_json::Value>(&reply.body).ok();
        assert_eq!((reply.status, json.and_then(|json| json["code"].as_u64())), (status, code));
    }
    assert_eq!((rest.get("/users/@me").await.status, server.remaining_faults()), (200, 0));
}
