//! The sign of life: "typing…" from the beginning of a turn to its answer, again before Telegram
//! takes it away, and never behind the answer.

use super::world::{ANN, EVE, GROUP, PATIENCE, World};
use std::time::Duration;
use support::telegram::{Hold, Incoming, Media, Target};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_is_shown_for_as_long_as_a_turn_takes() -> anyhow::Result<()> {
    // Telegram shows an action for five seconds.
    const SHOWN: Duration = Duration::from_secs(5);
    let world = World::running().await?;
    let gate = world.server.gate("getFile", Hold::BeforeEffect);
    let message = Incoming::group(GROUP, ANN).thread(9).document(Media::with_content("d", "x"));
    world.server.push(message.caption("/help"));
    gate.reached().await?;
    let typing = Target::method("sendChatAction").with("chat_id", GROUP).with("message_thread_id", 9);
    let shown = world.server.wait_for_requests(PATIENCE, typing.clone(), 2).await?;
    assert!(shown.iter().all(|request| request.params["action"] == "typing"), "{shown:?}");
    let pause = shown[1].at - shown[0].at;
    assert!(pause > Duration::from_secs(3) && pause < SHOWN, "{pause:?}");
    gate.release();
    let answer = world.texts(1).await?;
    world.server.wait_until_idle(PATIENCE, "sendChatAction").await?;
    // Others are answered without it, and it does not come back.
    world.ask(Incoming::private(EVE).text("hello")).await?;
    let last = world.server.requests(typing).pop().expect("shown");
    let sent = world.server.requests("sendMessage").remove(0);
    assert!(last.at < sent.at, "typing behind the answer {answer:?}");
    assert_eq!(world.server.requests(Target::method("sendChatAction").with("chat_id", EVE)).len(), 0);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_does_not_wait_for_it() -> anyhow::Result<()> {
    let world = World::running().await?;
    // It gets a second to arrive; then it is given up.
    world.server.fault("sendChatAction", 1, support::telegram::Fault::stall());
    let started = std::time::Instant::now();
    world.ask(Incoming::private(ANN).text("hello")).await?;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    world.end(1)
}
