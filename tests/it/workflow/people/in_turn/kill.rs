//! `kill -9` while a turn writes to somebody, and while its request is about to go on: each once.

use super::*;
use support::telegram::{Hold, Target};

fn to(person: i64) -> Target {
    Target::method("sendMessage").with("chat_id", person)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_goes_out_once_through_a_kill() -> anyhow::Result<()> {
    let mut world = plain().await?;
    let gate = world.server.gate(to(BEN), Hold::BeforeEffect);
    let asked = world.ask("/message_send to=telegram:5000000002 text=once");
    decide(&world, &question(&world, "message_send").await?, 0);
    world.kill_at(gate).await?;
    world.start()?;
    // The call is the same, and was agreed to.
    world.answer(&asked, "{\"channel\":\"telegram\"").await?;
    assert_eq!(to_ben(&world, "once"), 1, "{:?}", world.texts_to(BEN));
    let written = world.home.audit().into_iter().filter(|record| record["event"] == "message").count();
    assert_eq!(written, 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_goes_on_once_through_a_kill() -> anyhow::Result<()> {
    for hold in [Hold::BeforeEffect, Hold::BeforeAnswer] {
        let (mut world, _llm) = agent(asks_ben).await?;
        let (asked, message) = asked(&world).await?;
        let gate = world.server.gate(to(ANN), hold);
        world.reply(BEN, &message, "noon");
        world.kill_at(gate).await?;
        world.start()?;
        world.answer(&asked, "Ben says: noon").await?;
        world.stands("done").await?;
        let resumed = world.audited().into_iter().filter(|line| line.starts_with("resumed")).count();
        assert_eq!(resumed, 1, "{:?}", world.audited());
        assert_eq!(to_ben(&world, "When does it come?"), 1);
    }
    Ok(())
}
