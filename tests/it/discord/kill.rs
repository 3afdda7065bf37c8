//! `kill -9` at steps of a message's way that are Discord's own: it is answered once, and its file
//! is there once.

use super::world::{ANN, PATIENCE, World, save};
use support::discord::{Command, Hold, Incoming, Media, SentMessage, Target};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_answer_is_there_and_nobody_has_heard_of_it() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let gate = world.server.gate("create_message", Hold::BeforeAnswer);
    let message = Incoming::private(ANN).text(&save(0, "/shared/once"));
    let pushed = world.server.push(message.attachment(Media::new("a", "once")));
    world.kill_at(gate).await?;
    world.start().await?;
    world.answer(&pushed).await?;
    assert_eq!(world.saved("/shared/once"), b"once");
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_a_command_is_acknowledged_and_while_it_is_answered() -> anyhow::Result<()> {
    for (target, hold) in [
        ("create_response", Hold::BeforeAnswer),
        ("edit_response", Hold::BeforeEffect),
        ("edit_response", Hold::BeforeAnswer),
    ] {
        let mut world = World::running().await?;
        let gate = world.server.gate(target, hold);
        let write = Command::new("file_write").by(ANN).option("path", "/shared/c").option("content", "x");
        let made = world.server.invoke(write);
        world.kill_at(gate).await?;
        world.start().await?;
        let answered =
            |sent: &SentMessage| sent.interaction == Some(made.id) && sent.content.contains("bytes");
        world.server.wait_for_message(PATIENCE, answered).await?;
        assert_eq!(world.saved("/shared/c"), b"x");
        world.ask(Incoming::private(ANN).text("/help")).await?;
        world.end(2)?;
    }
    Ok(())
}

/// Many messages, killed again and again: each is answered once.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_the_middle_of_a_crowd() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let mut pushed = Vec::new();
    for round in 0..4 {
        pushed.extend((0..6).map(|_| world.server.push(Incoming::private(ANN).text("/help file_read"))));
        world.server.wait_for_messages(PATIENCE, round * 6 + 2).await?;
        world.kill();
        world.start().await?;
    }
    for one in &pushed {
        world.answer(one).await?;
    }
    world.end(pushed.len())
}

/// The link was good when the message came, and is over when it is fetched: the message is asked
/// for a fresh one.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn for_longer_than_a_link_is_good() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let message = Incoming::private(ANN).text(&save(0, "/shared/late"));
    let pushed = world.server.push(message.attachment(Media::new("a", "late")));
    world.kill_at(gate).await?;
    world.server.expire_links();
    world.start().await?;
    world.answer(&pushed).await?;
    assert_eq!(world.saved("/shared/late"), b"late");
    assert_eq!(world.server.requests("get_message").len(), 1);
    world.end(1)
}
