//! Edited messages: what waits is answered as it reads when its turn comes; what ran, and what was
//! not for the bot, stays as it is, in silence.

use super::world::{ANN, EVE, GROUP, PATIENCE, World, save};
use support::telegram::{Gate, Hold, Incoming, Media, Pushed, Target};

/// A turn of Ann's that is under way until the gate is released.
async fn busy(world: &World) -> anyhow::Result<(Gate, Pushed)> {
    let gate = world.server.gate(Target::download_of("slow"), Hold::BeforeEffect);
    let slow = Incoming::private(ANN).document(Media::with_content("slow", "x")).caption("/help");
    let slow = world.server.push(slow);
    gate.reached().await?;
    Ok((gate, slow))
}

fn edit(of: &Pushed, text: &str) -> Incoming {
    Incoming::private(ANN).message_id(of.message_id).text(text).edited()
}

fn write(name: &str) -> String {
    format!("/file_write path=/shared/{name} content=x")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_that_waits_is_answered_as_it_was_edited_last() -> anyhow::Result<()> {
    let world = World::running().await?;
    let (gate, _) = busy(&world).await?;
    let waiting = world.server.push(Incoming::private(ANN).text(&write("first")));
    world.server.push(edit(&waiting, &write("second")));
    let last = world.server.push(edit(&waiting, &write("third")));
    world.server.wait_until_confirmed(PATIENCE, last.update_id).await?;
    gate.release();
    let answer = world.answer(&waiting).await?;
    assert!(answer.text.contains("/shared/third"), "{}", answer.text);
    let written =
        ["first", "second", "third"].map(|name| world.home.host(&format!("/shared/{name}")).exists());
    assert_eq!(written, [false, false, true]);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_edit_outlives_a_kill() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let (gate, slow) = busy(&world).await?;
    // Both come in one answer, the message and its edit.
    let waiting = Incoming::private(ANN).message_id(50).text(&write("first"));
    let waiting = world
        .server
        .push_all([waiting, Incoming::private(ANN).message_id(50).text(&write("second")).edited()]);
    world.server.wait_until_confirmed(PATIENCE, waiting[1].update_id).await?;
    world.kill();
    gate.discard();
    world.start()?;
    let answer = world.answer(&waiting[0]).await?;
    assert!(answer.text.contains("/shared/second") && !world.home.host("/shared/first").exists());
    world.answer(&slow).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_ran_or_was_never_meant_for_the_bot_is_not_answered_for_an_edit() -> anyhow::Result<()> {
    let world = World::running().await?;
    let (gate, slow) = busy(&world).await?;
    // What runs now keeps its caption.
    let caption =
        Incoming::private(ANN).message_id(slow.message_id).document(Media::with_content("slow", "x"));
    let under_way = world.server.push(caption.caption(&save(0, "/shared/edited")).edited());
    world.server.wait_until_confirmed(PATIENCE, under_way.update_id).await?;
    gate.release();
    assert!(world.answer(&slow).await?.text.contains("/file_read "));
    assert!(!world.home.host("/shared/edited").exists());
    let talk = world.server.push(Incoming::group(GROUP, ANN).text("lunch?"));
    world.server.push(Incoming::group(GROUP, ANN).message_id(talk.message_id).text("/help").edited());
    // A stranger's, and one of a message that nobody has seen.
    world.server.push(Incoming::private(EVE).message_id(9).text("hello").edited());
    world.server.push(Incoming::private(ANN).message_id(99).text("/help").edited());
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.ask(Incoming::group(GROUP, ANN).text("/nope")).await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_question_in_a_group_can_be_taken_back_while_it_waits() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate(Target::download_of("slow"), Hold::BeforeEffect);
    world
        .server
        .push(Incoming::group(GROUP, ANN).document(Media::with_content("slow", "x")).caption("/help"));
    gate.reached().await?;
    let asked = world.server.push(Incoming::group(GROUP, ANN).text(&write("a")));
    let taken_back = Incoming::group(GROUP, ANN).message_id(asked.message_id).text("never mind").edited();
    let taken_back = world.server.push(taken_back);
    world.server.wait_until_confirmed(PATIENCE, taken_back.update_id).await?;
    gate.release();
    let behind = world.server.push(Incoming::group(GROUP, ANN).text("/nope"));
    world.answer(&behind).await?;
    assert!(!world.home.host("/shared/a").exists());
    world.end(2)
}
