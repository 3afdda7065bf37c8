//! `kill -9` in the middle of a turn of a model: the next start goes on where it was.

use super::*;
use crate::telegram::world::PATIENCE;
use rusqlite::Connection;
use std::time::Duration;
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

/// Changes the time that a turn has, for the next start.
fn set_deadline(world: &World, from: &str, to: &str) -> anyhow::Result<()> {
    let file = world.home.config_file();
    let config = std::fs::read_to_string(&file)?;
    anyhow::ensure!(config.contains(from), "{config}");
    Ok(std::fs::write(file, config.replace(from, to))?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_gives_a_turn_no_time_back_and_a_retry_has_its_own() -> anyhow::Result<()> {
    let gate = Gate::new();
    let turns = [Turn::calls([write("/shared/a", "once")]), Turn::say("lost").held_by(&gate)];
    let (usual, short) = ("deadline = \"800s\"", "deadline = \"1s\"");
    let (mut world, llm) = agent_in(|home| home.config(&format!("[turns]\n{usual}\n")), turns).await?;
    let question = world.server.push(text("write"));
    llm.wait_for_requests(PATIENCE, 2).await?;
    world.kill();
    // So long ago, at least, the turn has begun when it goes on.
    tokio::time::sleep(Duration::from_secs(1)).await;
    set_deadline(&world, usual, short)?;
    world.start()?;
    let said = world.answer(&question).await?.text;
    assert_eq!(said, "The turn took longer than 1s and was stopped. Write /retry to go on from here.");
    assert_eq!(llm.requests().len(), 2, "nobody is asked any more");
    world.stop()?;
    set_deadline(&world, short, usual)?;
    world.start()?;
    llm.script([Turn::say("Written.")]);
    assert_eq!(world.ask(text("/retry")).await?, "Written.");
    assert_eq!(outcomes(&world, "file_write"), [None], "nothing is done twice");
    end(world, &llm, 2)
}

/// Sets everything that the database knows of a turn back by 31 days.
fn a_month_passes(world: &World) -> anyhow::Result<()> {
    let database = Connection::open(world.home.state().join("cofferdam.db"))?;
    for of in [
        "inbox SET received_at = received_at",
        "attempt SET begun_at = begun_at - ?1, last_at = last_at",
        "journal SET recorded_at = recorded_at",
        "line SET said_at = said_at",
    ] {
        let rows = database.execute(&format!("UPDATE {of} - ?1"), [31_i64 * 24 * 60 * 60 * 1000])?;
        anyhow::ensure!(rows > 0, "nothing of the turn is there: {of}");
    }
    Ok(())
}

/// The start forgets what is that old, and not this.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_start_a_month_after_a_kill_does_nothing_twice() -> anyhow::Result<()> {
    let append = json!({ "path": "/shared/a", "content": "X", "append": true });
    let step = Turn::calls([Call::new("file_write", append)]);
    let (mut world, llm) = agent([step, Turn::say("lost").held_by(&Gate::new())]).await?;
    let question = world.server.push(text("write"));
    llm.wait_for_requests(PATIENCE, 2).await?;
    world.kill();
    a_month_passes(&world)?;
    world.start()?;
    let said = world.answer(&question).await?.text;
    assert!(said.starts_with("The turn took longer than "), "{said}");
    llm.script([Turn::say("Written.")]);
    assert_eq!(world.ask(text("/retry")).await?, "Written.");
    let asked = llm.requests();
    assert_eq!((asked.len(), asked[2].results()), (3, asked[1].results()), "it knows what is done");
    assert_eq!((world.saved("/shared/a"), outcomes(&world, "file_write")), (b"X".to_vec(), vec![None]));
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_before_the_answer_goes_out_asks_nobody_again() -> anyhow::Result<()> {
    let (mut world, llm) = agent([Turn::calls([write("/shared/a", "once")]), Turn::say("Written.")]).await?;
    let hold = world.server.gate("sendMessage", Hold::BeforeEffect);
    let question = world.server.push(text("write"));
    world.kill_at(hold).await?;
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
        world.kill_at(hold).await?;
    }
    world.start()?;
    let said = world.answer(&question).await?.text;
    assert!(said.starts_with("internal: this message made the gateway fail 16 times"), "{said}");
    assert_eq!(world.ask(text("hello")).await?, "I run commands, not conversations. /help lists them.");
    world.end(2)
}
