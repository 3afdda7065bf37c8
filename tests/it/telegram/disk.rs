//! A disk that takes no more: nothing is acknowledged, run or lost meanwhile, and it goes on by itself.

use super::world::{ANN, PATIENCE, World, save};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
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
    let mut world = World::stopped(|home| home).await?;
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
    world.logs("the store cannot be written").await?;
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
