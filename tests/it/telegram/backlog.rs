//! Hundreds of messages behind a turn that waits for a person: what would free it gets through,
//! nobody else waits, and every one of them is answered once, in order, through kills.

use super::approvals::{APPROVE, WRITE, always, answered, asked, press};
use super::world::{ANN, BEN, PATIENCE, World};
use support::telegram::{Hold, Incoming, Pushed, SentMessage};

/// Far more than a chat has in memory.
const MANY: usize = 300;

/// A call that waits for its approval, and the messages behind it, all of them fetched.
async fn waiting(world: &World) -> anyhow::Result<(SentMessage, Vec<Pushed>)> {
    world.server.push(Incoming::private(ANN).text(WRITE));
    let approval = asked(world, 0).await?;
    let pushed = world.server.push_all((0..MANY).map(|_| Incoming::private(ANN).text("hello")));
    world.server.wait_until_confirmed(PATIENCE, pushed[MANY - 1].update_id).await?;
    Ok((approval, pushed))
}

/// Which of the messages were answered, in the order of the answers.
fn replied(world: &World, pushed: &[Pushed]) -> Vec<usize> {
    let at = |sent: &SentMessage| {
        let answers = |p: &Pushed| (p.chat_id, Some(p.message_id)) == (sent.chat_id, sent.reply_to);
        pushed.iter().position(answers)
    };
    world.server.sent_messages().iter().filter_map(at).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_press_gets_through_and_others_are_answered() -> anyhow::Result<()> {
    let world = World::running_in(always).await?;
    let (approval, pushed) = waiting(&world).await?;
    let bens = world.server.push(Incoming::private(BEN).text("hello"));
    world.answer(&bens).await?;
    assert_eq!(replied(&world, &pushed), [0; 0], "they wait for what was asked before");
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    world.server.wait_for_messages(PATIENCE, MANY + 3).await?;
    assert_eq!(replied(&world, &pushed), (0..MANY).collect::<Vec<_>>());
    world.end(MANY + 3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_press_gets_through_after_a_kill_and_another_kill_doubles_nothing() -> anyhow::Result<()> {
    let mut world = World::running_in(always).await?;
    let (approval, pushed) = waiting(&world).await?;
    world.kill();
    world.start()?;
    let bens = world.server.push(Incoming::private(BEN).text("hello"));
    world.answer(&bens).await?;
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    world.server.wait_for_messages(PATIENCE, MANY / 3).await?;
    let gate = world.server.gate("sendMessage", Hold::BeforeEffect);
    world.kill_at(gate).await?;
    for again in pushed.iter().step_by(40) {
        world.server.redeliver(again.update_id)?;
    }
    world.start()?;
    world.server.wait_for_messages(PATIENCE, MANY + 3).await?;
    assert_eq!(replied(&world, &pushed), (0..MANY).collect::<Vec<_>>());
    world.end(MANY + 3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_cancel_gets_through_and_counts_what_waits() -> anyhow::Result<()> {
    let world = World::running_in(always).await?;
    let (_, pushed) = waiting(&world).await?;
    world.server.push(Incoming::private(ANN).text("/cancel"));
    let said = answered(&world, "cancelled").await?;
    assert!(said.text.ends_with(" 300 messages are waiting and come next."), "{}", said.text);
    world.server.wait_for_messages(PATIENCE, MANY + 2).await?;
    assert_eq!(replied(&world, &pushed), (0..MANY).collect::<Vec<_>>());
    world.end(MANY + 2)
}
