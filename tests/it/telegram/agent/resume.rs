//! `kill -9` in the middle of a turn of a model: the next start goes on where it was.

use super::*;
use crate::telegram::world::PATIENCE;
use support::llm::Gate;
use support::telegram::{Hold, Media};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_between_two_steps_goes_on_with_one_answer() -> anyhow::Result<()> {
    let gate = Gate::new();
    let step = Turn::calls([write("/shared/a", "once"), write("/shared/b", "once")]);
    let (mut world, llm) = agent([step, Turn::say("lost").held_by(&gate)]).await?;
    let question = world.server.push(text("write"));
    llm.wait_for_requests(PATIENCE, 2).await?;
    world.kill();
    llm.script([Turn::say("Both are written.")]);
    world.start()?;
    assert_eq!(world.answer(&question).await?.text, "Both are written.");
    let requests = llm.requests();
    assert_eq!(requests.len(), 3, "the first step is not decided again");
    assert_eq!(requests[2].messages(), requests[1].messages());
    assert_eq!(outcomes(&world, "file_write"), [None, None], "nothing is done twice");
    end(world, &llm, 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_before_the_answer_goes_out_asks_nobody_again() -> anyhow::Result<()> {
    let (mut world, llm) = agent([Turn::calls([write("/shared/a", "once")]), Turn::say("Written.")]).await?;
    let hold = world.server.gate("sendMessage", Hold::BeforeEffect);
    let question = world.server.push(text("write"));
    hold.reached().await?;
    world.kill();
    hold.discard();
    world.start()?;
    assert_eq!(world.answer(&question).await?.text, "Written.");
    assert_eq!(llm.requests().len(), 2);
    end(world, &llm, 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_in_the_middle_of_a_turn_leaves_it_to_the_next_start() -> anyhow::Result<()> {
    let gate = Gate::new();
    let (mut world, llm) =
        agent([Turn::calls([write("/shared/a", "x")]), Turn::say("no").held_by(&gate)]).await?;
    let question = world.server.push(text("write"));
    llm.wait_for_requests(PATIENCE, 2).await?;
    world.stop()?;
    assert!(world.server.sent_messages().is_empty(), "a turn that is cut off says nothing");
    llm.script([Turn::say("Written.")]);
    world.start()?;
    assert_eq!(world.answer(&question).await?.text, "Written.");
    assert_eq!(outcomes(&world, "file_write"), [None]);
    end(world, &llm, 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_that_kills_the_gateway_is_given_up() -> anyhow::Result<()> {
    const ATTEMPTS_MAX: usize = 16;
    let mut world = World::stopped(|home| home).await?;
    let file = Media::with_content("d", "x");
    let question = world.server.push(Incoming::private(ANN).document(file).caption("/help"));
    for _ in 0..ATTEMPTS_MAX {
        let hold = world.server.gate("getFile", Hold::BeforeEffect);
        world.start()?;
        hold.reached().await?;
        world.kill();
        hold.discard();
    }
    world.start()?;
    let said = world.answer(&question).await?.text;
    assert!(said.starts_with("internal: this message made the gateway fail 16 times"), "{said}");
    assert_eq!(world.ask(text("hello")).await?, "I run commands, not conversations. /help lists them.");
    world.end(2)
}
