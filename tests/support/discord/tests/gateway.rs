//! The gateway: sessions, resumes, heartbeats and close codes.

use std::io::Read;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::SOON;
use super::client::Gateway;
use crate::discord::{Closed, DiscordServer, Fault, Hold, Incoming};

const DIRECT: u64 = 1 << 12;

#[tokio::test]
async fn wrong_payloads_close_with_their_code() {
    let server = DiscordServer::start().await.unwrap();
    let identify =
        |token: &str, intents: u64| json!({ "op": 2, "d": { "token": token, "intents": intents } });
    let token = server.token();
    let mut sharded = identify(token, DIRECT);
    sharded["d"]["shard"] = json!([1, 1]);
    for (payload, code) in [
        ("{".to_owned(), 4002),
        ("5".to_owned(), 4002),
        (json!({ "op": 1, "d": "x".repeat(5000) }).to_string(), 4002),
        (json!({ "op": 99, "d": null }).to_string(), 4001),
        (json!({ "op": 3, "d": {} }).to_string(), 4003),
        (identify("x", DIRECT).to_string(), 4004),
        (sharded.to_string(), 4010),
        (identify(token, 1 << 30).to_string(), 4013),
        (json!({ "op": 2, "d": { "token": token } }).to_string(), 4013),
        (identify(token, 1 << 15).to_string(), 4014),
        (identify(token, 1 << 1).to_string(), 4014),
        (json!({ "op": 6, "d": { "token": "x", "session_id": "x", "seq": 1 } }).to_string(), 4004),
    ] {
        let (mut gateway, _) = Gateway::new(&server, &server.gateway_url(), "").await;
        gateway.send_text(&payload).await;
        assert_eq!(gateway.closed().await, Some(code), "{payload:.60}");
    }
    server.refuse_identify(4011);
    let (mut gateway, _) = Gateway::new(&server, &server.gateway_url(), "").await;
    gateway.identify(DIRECT).await;
    assert_eq!(gateway.closed().await, Some(4011));
    let (mut gateway, ready) = Gateway::identified(&server, DIRECT).await;
    gateway.identify(DIRECT).await;
    assert_eq!(gateway.closed().await, Some(4005));
    let (mut gateway, _) = Gateway::new(&server, &server.gateway_url(), "").await;
    gateway.resume(&ready["session_id"], 5).await;
    assert_eq!(gateway.closed().await, Some(4007));
    let (mut gateway, _) = Gateway::new(&server, &server.gateway_url(), "").await;
    for _ in 0..121 {
        gateway.send(json!({ "op": 1, "d": null })).await;
    }
    let acks = std::iter::repeat_n(json!({ "op": 11, "d": null, "s": null, "t": null }), 120);
    for ack in acks {
        assert_eq!(gateway.next().await, ack);
    }
    assert_eq!(gateway.closed().await, Some(4008));
    assert!(server.connections().iter().all(|one| matches!(one.closed, Some(Closed::ByServer(_)) | None)));
}

#[tokio::test]
async fn identifies_beyond_the_limit_begin_no_session() {
    let server = DiscordServer::start().await.unwrap();
    let invalid = json!({ "op": 9, "d": false, "s": null, "t": null });
    server.set_start_limit(1, SOON);
    server.set_identify_pace(Some(SOON));
    let _first = Gateway::identified(&server, DIRECT).await;
    server.set_start_limit(5, SOON);
    let (mut early, _) = Gateway::new(&server, &server.gateway_url(), "").await;
    early.identify(DIRECT).await;
    assert_eq!(early.next().await, invalid);
    server.set_identify_pace(None);
    server.set_start_limit(0, SOON);
    early.identify(DIRECT).await;
    assert_eq!(early.next().await, invalid);
    server.set_start_limit(1, SOON);
    early.identify(DIRECT).await;
    early.event("READY").await;
}

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

#[tokio::test]
async fn a_session_ends_with_its_client_or_as_told() {
    type End = fn(&DiscordServer);
    let nothing: End = |_| {};
    // The code that the client closes with, what the server does, and whether a resume works.
    for (code, act, resumes) in [
        (Some(1000), nothing, false),
        (Some(1001), nothing, false),
        (Some(4000), nothing, true),
        (None, nothing, true),
        (Some(4000), DiscordServer::forget_sessions, false),
    ] {
        let server = DiscordServer::start().await.unwrap();
        let (gateway, ready) = Gateway::identified(&server, DIRECT).await;
        match code {
            Some(code) => gateway.close(code).await,
            None => drop(gateway),
        }
        server.wait_for_connection(SOON, |one| one.closed.is_some()).await.unwrap();
        act(&server);
        let (mut gateway, _) = Gateway::new(&server, &server.gateway_url(), "").await;
        gateway.resume(&ready["session_id"], 1).await;
        let answer = gateway.next().await;
        match resumes {
            true => assert_eq!(answer["t"], json!("RESUMED"), "{code:?}"),
            false => assert_eq!((&answer["op"], &answer["d"]), (&json!(9), &json!(false)), "{code:?}"),
        }
    }
}

#[tokio::test]
async fn the_server_interrupts_as_told() {
    let server = DiscordServer::start().await.unwrap();
    let (mut gateway, ready) = Gateway::identified(&server, DIRECT).await;
    for (act, op, data) in [
        (DiscordServer::request_heartbeat as fn(&DiscordServer), 1, Value::Null),
        (DiscordServer::request_reconnect, 7, Value::Null),
        (|server| server.invalidate_sessions(true), 9, json!(true)),
    ] {
        act(&server);
        let payload = gateway.next().await;
        assert_eq!((&payload["op"], &payload["d"]), (&json!(op), &data));
    }
    // The session is still there, and can be taken up on the same connection.
    server.push(Incoming::private(7).text("one"));
    gateway.resume(&ready["session_id"], 1).await;
    gateway.event("MESSAGE_CREATE").await;
    gateway.event("RESUMED").await;
    server.invalidate_sessions(false);
    assert_eq!(gateway.next().await["d"], json!(false));
    gateway.identify(DIRECT).await;
    let again = gateway.event("READY").await;
    // Another connection takes the session: the first one ends.
    let (mut second, _) = Gateway::new(&server, &server.gateway_url(), "").await;
    second.resume(&again["session_id"], 1).await;
    second.event("RESUMED").await;
    assert_eq!(gateway.closed().await, None);
    server.close_gateway(4009);
    assert_eq!(second.closed().await, Some(4009));
    drop(second);
    server.wait_for_connection(SOON, |one| one.closed == Some(Closed::ByServer(4009))).await.unwrap();
    let (mut third, _) = Gateway::new(&server, &server.gateway_url(), "").await;
    server.break_gateway();
    assert_eq!(third.closed().await, None);
    assert!(server.sessions().is_empty(), "4009 ends them");
}

#[tokio::test]
async fn heartbeats_are_recorded_and_acknowledged_or_not() {
    let server = DiscordServer::start().await.unwrap();
    server.set_heartbeat_interval(Duration::from_millis(1234));
    let (mut gateway, hello) = Gateway::new(&server, &server.gateway_url(), "").await;
    assert_eq!(hello["d"]["heartbeat_interval"], json!(1234));
    gateway.send(json!({ "op": 1, "d": null })).await;
    assert_eq!(gateway.next().await["op"], json!(11));
    server.withhold_acks(true);
    gateway.send(json!({ "op": 1, "d": 5 })).await;
    let beaten = server.wait_for_connection(SOON, |one| one.heartbeats.len() == 2).await.unwrap();
    assert_eq!(beaten.heartbeats.iter().map(|beat| beat.seq).collect::<Vec<_>>(), [None, Some(5)]);
    server.withhold_acks(false);
    gateway.send(json!({ "op": 1, "d": 6 })).await;
    assert_eq!(gateway.next().await["op"], json!(11), "one was never answered");
}

#[tokio::test]
async fn addresses_and_handshakes_go_wrong_as_told() {
    let server = DiscordServer::start().await.unwrap();
    server.set_resume_url(Some("ws://127.0.0.1:1"));
    let (_, ready) = Gateway::identified(&server, DIRECT).await;
    assert_eq!(ready["resume_gateway_url"], json!("ws://127.0.0.1:1"));
    server.set_resume_url(None);
    let (_, ready) = Gateway::identified(&server, DIRECT).await;
    assert_eq!(ready.get("resume_gateway_url"), None);
    server.fault("gateway", 1, Fault::server_error(503));
    let url = server.gateway_url();
    let stream = tokio::net::TcpStream::connect(url.strip_prefix("ws://").unwrap()).await.unwrap();
    assert!(tokio_tungstenite::client_async(&url, stream).await.is_err());
    server.withhold_hello(true);
    let stream = tokio::net::TcpStream::connect(url.strip_prefix("ws://").unwrap()).await.unwrap();
    let (mut silent, _) = tokio_tungstenite::client_async(&url, stream).await.unwrap();
    let heard = tokio::time::timeout(super::A_MOMENT, silent.next()).await;
    assert!(heard.is_err(), "{heard:?}");
    server.withhold_hello(false);
    let gate = server.gate("gateway", Hold::BeforeAnswer);
    let connecting = Gateway::new(&server, &url, "");
    let (gateway, ()) = tokio::join!(connecting, async {
        let record = gate.reached().await.unwrap();
        assert_eq!((record.status, record.params["v"].as_str()), (None, Some("10")));
        gate.release();
    });
    assert_eq!(gateway.1["op"], json!(10));
    assert_eq!(
        server.requests("gateway").iter().map(|one| one.status).collect::<Vec<_>>(),
        [101, 101, 503, 101, 101].map(Some)
    );
}

#[tokio::test]
async fn payloads_are_packed_as_the_client_asks() {
    let server = DiscordServer::start().await.unwrap();
    // The second message refers back to the first: it is one stream.
    let long = "many words, again and again, ".repeat(60);
    for compress in ["zlib-stream", "zstd-stream"] {
        let (mut gateway, _) =
            Gateway::new(&server, &server.gateway_url(), &format!("&compress={compress}")).await;
        gateway.identify(DIRECT).await;
        server.wait_for_connection(SOON, |one| one.established && one.query[2].1 == compress).await.unwrap();
        server.push(Incoming::private(7).text(&long));
        server.push(Incoming::private(7).text(&long));
        let mut packed = Vec::new();
        for _ in 0..4 {
            let message = gateway.socket.next().await.unwrap().unwrap().into_data();
            assert!(compress == "zstd-stream" || message.ends_with(b"\x00\x00\xff\xff"));
            packed.extend_from_slice(&message);
        }
        let text = match compress {
            "zlib-stream" => {
                let mut text = String::new();
                // The stream has no end yet.
                let _ = flate2::read::ZlibDecoder::new(&packed[..]).read_to_string(&mut text);
                text
            }
            _ => {
                assert_eq!(packed[..6], [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x68]);
                String::from_utf8_lossy(&packed).into_owned()
            }
        };
        assert_eq!(text.matches(&long).count(), 2, "{compress}");
        assert!(compress == "zstd-stream" || packed.len() < text.len() / 2);
    }
}
