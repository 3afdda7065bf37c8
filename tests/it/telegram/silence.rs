//! Silence never lasts: a sign of life from the beginning, whatever a turn waits for, and where several things are
//! done, how far they are.

use super::world::{ANN, BEN, PATIENCE, World};
use serde_json::json;
use std::time::Duration;
use support::llm::{Call, Dialect, LlmServer, Turn};
use support::telegram::{Fault, Hold, Incoming, Media, Target};

/// Telegram shows an action for so long.
const SHOWN: Duration = Duration::from_secs(5);

fn typing(topic: i64) -> Target {
    Target::method("sendChatAction").with("message_thread_id", topic)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_that_is_not_answered_does_not_keep_the_next_from_coming() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate("getFile", Hold::BeforeEffect);
    world.server.fault("sendChatAction", 2, Fault::stall());
    world.server.push(Incoming::private(ANN).document(Media::with_content("d", "x")).caption("/help"));
    gate.reached().await?;
    let shown = world.server.wait_for_requests(PATIENCE, "sendChatAction", 3).await?;
    for pair in shown.windows(2) {
        assert!(pair[1].at - pair[0].at < SHOWN, "{pair:?}");
    }
    gate.release();
    world.texts(1).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_waits_for_a_place_sees_a_sign_of_life() -> anyhow::Result<()> {
    const TURNS_AT_ONCE_MAX: i64 = 8;
    let world = World::running().await?;
    let mut gates = Vec::new();
    for topic in 1..=TURNS_AT_ONCE_MAX {
        let gate = world.server.gate("getFile", Hold::BeforeEffect);
        let file = Media::with_content(&format!("d{topic}"), "x");
        world.server.push(Incoming::private(ANN).thread(topic).document(file).caption("/help"));
        gate.reached().await?;
        gates.push(gate);
    }
    world.server.push(Incoming::private(BEN).thread(9).text("/help"));
    world.server.wait_for_request(PATIENCE, typing(9)).await?;
    assert!(world.server.sent_messages().is_empty(), "nothing else can run");
    drop(gates);
    world.texts(9).await?;
    world.end(9)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn several_calls_tell_how_far_they_are() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let write = |path: &str| Call::new("file_write", json!({ "path": path, "content": "x" }));
    let wait = Call::new("hostile", json!({ "behaviour": "report_until:step", "path": "/shared/go" }));
    llm.script([Turn::calls([write("/shared/a"), wait, write("/shared/b")]), Turn::say("All three.")]);
    let world = World::running_in(|home| {
        home.model(&llm, Dialect::Chat, "").hostile("memory = \"16 MiB\"\ndeadline = \"120s\"")
    })
    .await?;
    world.server.push(Incoming::private(ANN).text("go on"));
    let told = world.server.wait_for_message(PATIENCE, |sent| sent.text.contains(" 2 of 3: step ")).await?;
    assert!(told.text.starts_with("⏳ hostile 2 of 3: step "), "{told:?}");
    std::fs::write(world.home.host("/shared/go"), "")?;
    world.server.wait_for_message(PATIENCE, |sent| sent.text == "All three.").await?;
    assert_eq!(llm.violations(), [""; 0]);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn several_files_tell_how_many_are_there() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate(Target::download_of("f1"), Hold::BeforeEffect);
    let album = (0..3).map(|n| {
        let file = Media::with_content(&format!("f{n}"), "x").name(&format!("{n}.txt"));
        Incoming::private(ANN).document(file).media_group("g")
    });
    world.server.push_all(album);
    gate.reached().await?;
    let told = world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("⏳ ")).await?;
    assert_eq!(told.text, "⏳ fetching 3 of 3");
    gate.release();
    let answer = world.server.wait_for_message(PATIENCE, |sent| !sent.text.starts_with("⏳ ")).await?;
    assert_eq!(answer.message_id, told.message_id);
    world.end(1)
}
