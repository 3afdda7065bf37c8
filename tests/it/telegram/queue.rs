//! Many messages at once: every one is answered, those of a chat in their order, and no chat holds
//! another one up.

use super::world::{ANN, BEN, CAT, PATIENCE, World, save};
use std::collections::BTreeSet;
use support::telegram::{Hold, Incoming, Media, Target};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn thirty_messages_of_three_people() -> anyhow::Result<()> {
    let world = World::running().await?;
    let message = |n: usize| {
        let (who, id) = ([ANN, BEN, CAT][n % 3], format!("d{n}"));
        let media = Media::with_content(&id, format!("file {n}"));
        Incoming::private(who).document(media).caption(&save(0, &format!("/shared/{n}")))
    };
    let pushed = world.server.push_all((0..30).map(message));
    world.server.wait_for_messages(PATIENCE, 30).await?;
    let sent = world.server.sent_messages();
    for who in [ANN, BEN, CAT] {
        let asked: Vec<_> = pushed.iter().filter(|p| p.chat_id == who).map(|p| Some(p.message_id)).collect();
        let answered: Vec<_> = sent.iter().filter(|s| s.chat_id == who).map(|s| s.reply_to).collect();
        assert_eq!(answered, asked, "in order");
    }
    for n in 0..30 {
        assert_eq!(world.saved(&format!("/shared/{n}")), format!("file {n}").into_bytes());
    }
    world.end(30)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn more_than_the_memory_holds_and_some_twice() -> anyhow::Result<()> {
    let world = World::running().await?;
    let message = |n: i64| Incoming::private([ANN, BEN][n as usize % 2]).thread(n % 7 + 1).text("hello");
    let pushed = world.server.push_all((0..400).map(message));
    for again in pushed.iter().step_by(20) {
        world.server.redeliver(again.update_id)?;
    }
    world.server.wait_for_messages(PATIENCE, 400).await?;
    for again in pushed.iter().step_by(50) {
        world.server.redeliver(again.update_id)?;
    }
    world.ask(Incoming::private(ANN).text("hello")).await?;
    let answered: BTreeSet<_> =
        world.server.sent_messages().iter().map(|s| (s.chat_id, s.reply_to)).collect();
    assert_eq!(answered.len(), 401);
    world.end(401)
}

/// As many turns at once as are configured, and no more.
async fn works_on(world: World, at_once: usize) -> anyhow::Result<()> {
    let file = |n: i64| {
        let message = Incoming::private(ANN).thread(n).document(Media::with_content(&format!("d{n}"), "x"));
        message.caption("/help")
    };
    let gates: Vec<_> = (0..at_once).map(|_| world.server.gate("getFile", Hold::BeforeEffect)).collect();
    let pushed = world.server.push_all((1..=at_once as i64 + 4).map(file));
    for gate in &gates {
        gate.reached().await?;
    }
    world.server.wait_until_confirmed(PATIENCE, pushed[at_once + 3].update_id).await?;
    drop(gates);
    world.server.wait_for_messages(PATIENCE, pushed.len()).await?;
    assert_eq!(world.server.max_concurrent("getFile"), at_once);
    world.end(pushed.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn eight_turns_at_once_and_no_more() -> anyhow::Result<()> {
    works_on(World::running().await?, 8).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn as_many_turns_at_once_as_are_configured() -> anyhow::Result<()> {
    for at_once in [2, 20] {
        let set = format!("[turns]\nat_once = {at_once}\n");
        works_on(World::running_in(|home| home.config(&set)).await?, at_once).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_tool_that_spins_in_one_chat_delays_no_other() -> anyhow::Result<()> {
    // It would spin for two minutes: whatever is answered is answered beside it.
    let mut world = World::running_in(|home| home.hostile("deadline = \"120s\"")).await?;
    world.server.push(Incoming::private(ANN).text("/hostile behaviour=spin"));
    world.server.wait_for_request(PATIENCE, Target::method("sendChatAction").with("chat_id", ANN)).await?;
    for n in 0..3 {
        let file = Incoming::private(BEN).document(Media::with_content(&format!("d{n}"), "content"));
        let said = world.ask(file.caption(&save(0, &format!("/shared/{n}")))).await?;
        assert!(said.contains(r#""saved":true"#), "{said}");
    }
    world.kill();
    world.end(3)
}
