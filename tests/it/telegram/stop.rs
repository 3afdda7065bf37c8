//! Stopping: at once where nothing is under way; what is under way gets five seconds, and what does
//! not make it is answered once by the next start.

use super::world::{ANN, BEN, PATIENCE, World, save};
use rustix::process::Signal;
use std::time::Duration;
use support::samples;
use support::telegram::{Fault, Hold, Incoming, Media, Target};

/// A stop with nothing to wait for, on a busy machine.
const FAST: Duration = Duration::from_secs(3);

fn photo(bytes: &[u8]) -> Incoming {
    Incoming::private(ANN).photo(Media::with_content("p", bytes.to_vec())).caption(&save(0, "/shared/a.jpg"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn idle_it_is_fast() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    for signal in [Signal::TERM, Signal::INT] {
        world.ask(Incoming::private(ANN).text("hello")).await?;
        let took = world.stop_by(signal)?;
        assert!(took < FAST, "{signal:?} took {took:?}");
        world.start()?;
    }
    // Right after the start, and while Telegram is silent from the start.
    let took = world.stop()?;
    assert!(took < FAST, "{took:?}");
    world.server.fault("getMe", 1, Fault::stall());
    world.launch(&[], &[])?;
    world.server.wait_for_requests(PATIENCE, "getMe", 4).await?;
    let took = world.stop()?;
    assert!(took < FAST, "{took:?}");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_finishes_in_time_is_answered_before_the_end() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let bytes = samples::jpeg(300_000);
    let gate = world.server.gate(Target::download(), Hold::InBody(100_000));
    let question = world.server.push(photo(&bytes));
    gate.reached().await?;
    let behind = world.server.push(Incoming::private(ANN).text("hello"));
    world.server.wait_until_confirmed(PATIENCE, behind.update_id).await?;
    world.serving().signal(Signal::TERM)?;
    // It polls no more: the stop has begun.
    world.server.wait_until_idle(PATIENCE, "getUpdates").await?;
    let meanwhile = world.server.push(Incoming::private(BEN).text("hello"));
    gate.release();
    assert_eq!(world.ended()?, Some(0));
    let sent = world.server.sent_messages();
    assert_eq!((sent.len(), sent[0].reply_to), (1, Some(question.message_id)), "no new turn has begun");
    assert!(sent[0].text.contains(r#""saved":true"#) && world.saved("/shared/a.jpg") == bytes);
    assert!(world.server.unconfirmed_updates().contains(&meanwhile.update_id));
    world.start()?;
    world.answer(&behind).await?;
    world.answer(&meanwhile).await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_does_not_is_left_whole_for_the_next_start() -> anyhow::Result<()> {
    let mut world = World::running_in(|home| home.hostile("deadline = \"120s\"")).await?;
    let bytes = samples::jpeg(300_000);
    let gate = world.server.gate(Target::download(), Hold::InBody(100_000));
    let spinning = world.server.push(Incoming::private(BEN).text("/hostile behaviour=spin"));
    let question = world.server.push(photo(&bytes));
    gate.reached().await?;
    let behind = world.server.push(Incoming::private(ANN).text("hello"));
    world.server.wait_until_confirmed(PATIENCE, behind.update_id).await?;
    world.server.wait_for_request(PATIENCE, Target::method("sendChatAction").with("chat_id", BEN)).await?;
    let took = world.stop_by(Signal::INT)?;
    assert!(took >= Duration::from_secs(5), "turns get five seconds: {took:?}");
    assert!(world.server.sent_messages().is_empty() && !world.home.host("/shared/a.jpg").exists());
    assert!(world.server.unconfirmed_updates().is_empty(), "they are kept here, not there");
    gate.discard();
    world.refit(|home| home.hostile("deadline = \"200ms\""));
    world.start()?;
    assert!(world.answer(&question).await?.text.contains(r#""saved":true"#));
    assert!(world.saved("/shared/a.jpg") == bytes);
    world.answer(&behind).await?;
    assert!(world.answer(&spinning).await?.text.starts_with("timed_out: "));
    world.server.redeliver(question.update_id)?;
    world.server.redeliver(spinning.update_id)?;
    for person in [ANN, BEN] {
        let last = world.server.push(Incoming::private(person).text("hello"));
        world.answer(&last).await?;
    }
    let saved = world.home.audit().iter().filter(|record| record["event"] == "intent").count();
    assert_eq!(saved, 1);
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_that_cannot_be_sent_now_is_sent_by_the_next_start() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let to = |chat: i64| Target::method("sendMessage").with("chat_id", chat);
    world.server.fault(to(ANN), usize::MAX, Fault::internal_error());
    world.server.fault(to(BEN), usize::MAX, Fault::stall());
    let questions = world.server.push_all([photo(b"x"), Incoming::private(BEN).text("hello")]);
    world.server.wait_for_requests(PATIENCE, to(ANN), 2).await?;
    world.server.wait_for_request(PATIENCE, to(BEN)).await?;
    world.stop()?;
    assert!(world.server.sent_messages().is_empty());
    world.server.clear_faults();
    world.start()?;
    for question in &questions {
        world.answer(question).await?;
    }
    assert_eq!(world.home.audit().len(), 2, "the turn itself does not run again");
    world.end(2)
}
