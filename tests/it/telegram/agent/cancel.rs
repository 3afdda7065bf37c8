//! `/cancel`: what runs is stopped at once, however long it would take.

use super::*;
use crate::telegram::world::{BEN, GROUP, PATIENCE};
use support::llm::Gate;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_slow_model_is_dropped() -> anyhow::Result<()> {
    let gate = Gate::new();
    let (world, llm) = agent([Turn::say("too late").held_by(&gate), Turn::say("second")]).await?;
    let slow = world.server.push(text("think"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let next = world.server.push(text("the next"));
    world.server.push(text("/cancel"));
    let said = world.answer(&slow).await?.text;
    assert_eq!(
        said,
        "Cancelled: nothing had been done yet. Write /retry to go on from here. 1 message is waiting and comes next."
    );
    assert_eq!(world.answer(&next).await?.text, "second");
    llm.wait_until_idle(PATIENCE).await?;
    assert_eq!(world.ask(text("/cancel")).await?, "Nothing is running here.");
    end(world, &llm, 3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_slow_tool_is_cancelled() -> anyhow::Result<()> {
    let wait = Call::new("hostile", json!({ "behaviour": "poll_never" }));
    let hostile = |home: Home| home.hostile("deadline = \"120s\"");
    let (world, llm) = agent_in(hostile, [Turn::calls([wait])]).await?;
    let slow = world.server.push(text("wait"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    llm.wait_until_idle(PATIENCE).await?;
    world.server.push(text("/cancel"));
    let said = world.answer(&slow).await?.text;
    assert!(said.starts_with("Cancelled: "), "{said}");
    llm.script([Turn::say("I was stopped.")]);
    assert_eq!(world.ask(text("/retry")).await?, "I was stopped.");
    end(world, &llm, 2)
}

/// Whoever is served there may stop it, and nothing beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_a_topic_it_stops_what_runs_there() -> anyhow::Result<()> {
    let (first, second) = (Gate::new(), Gate::new());
    let (world, llm) =
        agent([Turn::say("too late").held_by(&first), Turn::say("Here.").held_by(&second)]).await?;
    let in_topic = |who: i64, topic: i64, text: &str| Incoming::group(GROUP, who).thread(topic).text(text);
    let stopped = world.server.push(in_topic(ANN, 5, "@cofferdam_test_bot think"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    let beside = world.server.push(in_topic(ANN, 6, "@cofferdam_test_bot think"));
    llm.wait_for_requests(PATIENCE, 2).await?;
    let nothing = world.ask(Incoming::group(GROUP, ANN).text("/cancel")).await?;
    assert_eq!(nothing, "Nothing is running here.", "the topic General is another one");
    world.server.push(in_topic(BEN, 5, "/cancel@cofferdam_test_bot"));
    let said = world.answer(&stopped).await?;
    assert!(said.text.starts_with("Cancelled: ") && said.thread_id == Some(5), "{said:?}");
    second.open();
    assert_eq!(world.answer(&beside).await?.text, "Here.");
    end(world, &llm, 3)
}
