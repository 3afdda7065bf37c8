//! `kill -9` at each stage of a turn as Telegram sees it: after the next start there is one answer,
//! the file is whole, and the answer says "saved", also where it was saved before the kill.

use super::world::{ANN, PATIENCE, World, save};
use support::samples;
use support::telegram::{Fault, Gate, Hold, Incoming, Media, Target};

/// One message with a file, the kill, the next start; and what must be true then. `messages` is
/// what the person may have got.
async fn killed(
    overwrite: bool,
    messages: std::ops::RangeInclusive<usize>,
    hold: impl FnOnce(&World) -> Gate,
) -> anyhow::Result<()> {
    let mut world = World::stopped(|home| home).await?;
    // Spooled to disk, not held in memory.
    let bytes = samples::jpeg(400_000);
    let command = format!("{} overwrite={overwrite}", save(0, "/shared/new/folder/a.jpg"));
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone())).caption(&command);
    let gate = hold(&world);
    let question = world.server.push(photo);
    world.start()?;
    world.kill_at(gate).await?;
    world.start()?;
    world.server.wait_for_messages(PATIENCE, *messages.start()).await?;
    // Telegram delivers it once more, and another message comes behind it in the same chat.
    world.server.redeliver(question.update_id)?;
    let next = world.server.push(Incoming::private(ANN).text("hello"));
    world.answer(&next).await?;
    let answers = world.server.sent_messages();
    let count = answers.len() - 1;
    assert!(messages.contains(&count), "{count} answers: {answers:#?}");
    assert!(answers[..count].iter().all(|answer| answer.text.contains(r#""saved":true"#)), "{answers:#?}");
    assert!(world.saved("/shared/new/folder/a.jpg") == bytes);
    let published =
        world.home.audit().iter().filter(|r| r["event"] == "outcome" && r["code"].is_null()).count();
    assert!(published >= 1);
    world.end(count + 1)
}

/// At each stage with one answer at most, since none has gone out.
async fn once(target: impl Into<Target>, hold: Hold) -> anyhow::Result<()> {
    let target = target.into();
    killed(false, 1..=1, |world| world.server.gate(target, hold)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_updates_are_on_their_way() -> anyhow::Result<()> {
    once("getUpdates", Hold::BeforeAnswer).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn before_and_after_the_offset_confirms_them() -> anyhow::Result<()> {
    let confirming = || Target::method("getUpdates").with("offset", 700_000_002);
    once(confirming(), Hold::BeforeEffect).await?;
    once("sendChatAction", Hold::BeforeEffect).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_file_is_asked_for() -> anyhow::Result<()> {
    once("getFile", Hold::BeforeEffect).await?;
    once("getFile", Hold::BeforeAnswer).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_file_is_downloaded() -> anyhow::Result<()> {
    for hold in
        [Hold::BeforeEffect, Hold::InBody(0), Hold::InBody(1), Hold::InBody(300_000), Hold::InBody(399_999)]
    {
        once(Target::download(), hold).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn before_the_answer_goes_out() -> anyhow::Result<()> {
    for overwrite in [false, true] {
        killed(overwrite, 1..=1, |world| world.server.gate("sendMessage", Hold::BeforeEffect)).await?;
    }
    Ok(())
}

/// The one window in which an answer may be repeated: silence would be worse.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn before_the_answer_is_acknowledged() -> anyhow::Result<()> {
    for overwrite in [false, true] {
        killed(overwrite, 1..=2, |world| world.server.gate("sendMessage", Hold::BeforeAnswer)).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_an_answer_is_tried_again() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.fault("sendMessage", 1, Fault::internal_error());
    let first = world.server.gate("sendMessage", Hold::BeforeAnswer);
    let question = world.server.push(Incoming::private(ANN).text("hello"));
    first.reached().await?;
    let second = world.server.gate("sendMessage", Hold::BeforeEffect);
    first.release();
    world.kill_at(second).await?;
    world.start()?;
    world.answer(&question).await?;
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn between_two_messages_of_one_answer() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    std::fs::write(world.home.host("/shared/a"), "x".repeat(10_000))?;
    let first = world.server.gate("sendMessage", Hold::BeforeAnswer);
    let question = world.server.push(Incoming::private(ANN).text("/file_read path=/shared/a"));
    first.reached().await?;
    let second = world.server.gate("sendMessage", Hold::BeforeEffect);
    first.release();
    world.kill_at(second).await?;
    world.start()?;
    let texts = world.texts(3).await?;
    assert!(
        serde_json::from_str::<serde_json::Value>(&texts.concat())?["bytes"] == 10_000,
        "the rest, in order"
    );
    assert_eq!(world.server.sent_messages()[0].reply_to, Some(question.message_id));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stranger_is_told_at_most_once() -> anyhow::Result<()> {
    use super::world::EVE;
    let mut world = World::stopped(|home| home).await?;
    let gate = world.server.gate("sendMessage", Hold::BeforeEffect);
    world.server.push(Incoming::private(EVE).text("hello"));
    world.start()?;
    world.kill_at(gate).await?;
    world.start()?;
    world.texts(1).await?;
    world.server.push(Incoming::private(EVE).text("hello"));
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(2)
}
