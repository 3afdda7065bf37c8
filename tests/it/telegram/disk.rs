//! A disk that takes no more: nothing is acknowledged, run or lost meanwhile, and it goes on by
//! itself.

use super::world::{ANN, PATIENCE, World, save};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use support::home::Home;
use support::llm::{Dialect, Gate, LlmServer, Turn};
use support::samples;
use support::telegram::{Hold, Incoming, Media};

/// Over its limit a process is killed, unless it ignores the signal: then writing fails.
const IGNORING: [&str; 4] = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];

/// Files of the running program may grow to so many bytes.
fn allow(world: &mut World, bytes: Option<u64>) -> anyhow::Result<()> {
    let pid = Pid::from_raw(i32::try_from(world.serving().pid())?);
    let unlimited = prlimit(pid, Resource::Fsize, Rlimit { current: bytes, maximum: None })?;
    assert_eq!(unlimited.maximum, None, "this test may raise the limit again");
    Ok(())
}

/// A gateway that polls, and has nothing else to do.
async fn ignoring() -> anyhow::Result<World> {
    ignoring_in(|home| home).await
}

/// The same with more in its configuration.
async fn ignoring_in(fit: impl FnOnce(Home) -> Home) -> anyhow::Result<World> {
    let mut world = World::stopped(fit).await?;
    world.launch(&IGNORING, &[])?;
    world.logs("polling as ").await?;
    Ok(world)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_kept_is_not_acknowledged() -> anyhow::Result<()> {
    let mut world = ignoring().await?;
    allow(&mut world, Some(0))?;
    let question = world.server.push(Incoming::private(ANN).text("hello"));
    world.logs("the store fails; waiting for it").await?;
    assert!(world.server.unconfirmed_updates().contains(&question.update_id));
    allow(&mut world, None)?;
    world.answer(&question).await?;
    world.server.wait_until_confirmed(PATIENCE, question.update_id).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_does_not_wait_for_the_disk() -> anyhow::Result<()> {
    let mut world = ignoring().await?;
    allow(&mut world, Some(0))?;
    let question = world.server.push(Incoming::private(ANN).text("hello"));
    world.logs("the store fails; waiting for it").await?;
    let took = world.stop()?;
    assert!(took.as_secs() < 5, "{took:?}");
    world.start()?;
    world.answer(&question).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_that_cannot_be_marked_as_sent_is_not_sent_again() -> anyhow::Result<()> {
    let mut world = ignoring().await?;
    let gate = world.server.gate("sendMessage", Hold::BeforeAnswer);
    world.server.push(Incoming::private(ANN).text("hello"));
    gate.reached().await?;
    allow(&mut world, Some(0))?;
    gate.release();
    world.logs("note what became of a message").await?;
    allow(&mut world, None)?;
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_that_cannot_be_stored_is_told() -> anyhow::Result<()> {
    let mut world = ignoring().await?;
    // The audit and the database are shorter than that, the file is longer.
    allow(&mut world, Some(4 << 20))?;
    let media = Media::with_content("d", samples::jpeg(5 << 20)).name("a.jpg");
    let said = world.ask(Incoming::private(ANN).document(media).caption(&save(0, "/shared/a"))).await?;
    assert!(said.starts_with("[0] a.jpg: the gateway could not store it ("), "{said}");
    assert!(said.contains("\nattachment_unavailable: "), "{said}");
    allow(&mut world, None)?;
    world.ask(Incoming::private(ANN).text("hello")).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_that_cannot_be_counted_waits_for_room() -> anyhow::Result<()> {
    // It is in the inbox when the disk is full.
    let mut world = World::running().await?;
    let hold = world.server.gate("getFile", Hold::BeforeEffect);
    let file = Media::with_content("d", "x");
    let question = world.server.push(Incoming::private(ANN).document(file).caption("what is it?"));
    world.kill_at(hold).await?;
    let asked = world.server.gate("getMe", Hold::BeforeAnswer);
    world.launch(&IGNORING, &[])?;
    asked.reached().await?;
    allow(&mut world, Some(0))?;
    asked.release();
    world.logs("count an attempt").await?;
    allow(&mut world, None)?;
    let said = world.answer(&question).await?.text;
    assert!(said.starts_with("1 file came:\n"), "{said}");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_asked_of_a_model_waits_for_room_before_anybody_is_asked() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let mut world = ignoring_in(|home| home.model(&llm, Dialect::Chat, "")).await?;
    // By then the turn was counted; what it is about is yet to be kept.
    let fetched = world.server.gate("getFile", Hold::BeforeAnswer);
    let file = Media::with_content("d", "x");
    let question = world.server.push(Incoming::private(ANN).document(file).caption("what is it?"));
    fetched.reached().await?;
    allow(&mut world, Some(0))?;
    fetched.release();
    world.logs("keep what is asked").await?;
    assert_eq!(llm.requests().len(), 0);
    llm.script([Turn::say("An x.")]);
    allow(&mut world, None)?;
    assert_eq!(world.answer(&question).await?.text, "An x.");
    assert_eq!((llm.requests().len(), llm.violations()), (1, vec![]));
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_that_cannot_be_kept_is_told_and_can_be_retried() -> anyhow::Result<()> {
    let (llm, gate) = (LlmServer::start().await?, Gate::new());
    llm.script([Turn::say("lost").held_by(&gate), Turn::say("An answer.")]);
    let mut world = ignoring_in(|home| home.model(&llm, Dialect::Chat, "")).await?;
    let question = world.server.push(Incoming::private(ANN).text("what is it?"));
    llm.wait_for_requests(PATIENCE, 1).await?;
    allow(&mut world, Some(0))?;
    gate.open();
    world.logs("a turn was not answered").await?;
    allow(&mut world, None)?;
    let said = world.answer(&question).await?.text;
    assert!(said.starts_with("internal: the conversation cannot be kept: "), "{said}");
    assert!(
        said.ends_with("; the operator finds more in the log. Write /retry to go on from here."),
        "{said}"
    );
    assert_eq!(world.ask(Incoming::private(ANN).text("/retry")).await?, "An answer.");
    assert_eq!((llm.left(), llm.violations()), (0, vec![]));
    world.end(2)
}
