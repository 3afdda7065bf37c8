//! While the list of those who were let in cannot be read nobody is let in by it, and nobody is
//! taken for removed either: what was begun for them waits.

use super::removed::{database, ended, eve, let_in, looked_at, set_back};
use super::{ASK, BEN, EVE, PATIENCE, World};
use std::time::{Duration, Instant};

/// Has the list be what no release writes; what it was.
fn spoil(world: &World) -> anyhow::Result<Vec<u8>> {
    let sound = std::fs::read(world.home.state().join("people.json"))?;
    put(world, b"{\"paired\":")?;
    Ok(sound)
}

fn put(world: &World, bytes: &[u8]) -> anyhow::Result<()> {
    let new = world.home.dir().join("new-people");
    std::fs::write(&new, bytes)?;
    Ok(std::fs::rename(new, world.home.state().join("people.json"))?)
}

/// Waits for one more look at what runs have to do; those that wait for the list had theirs.
async fn is_looked_at(world: &World) -> anyhow::Result<()> {
    let began = Instant::now();
    while !world.log().contains("only people whom the configuration names are served") {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let asked = world.ask("/help file_read");
    world.answer(&asked, "").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_goes_on_once_the_people_can_be_read_again() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    let_in(&world).await?;
    let asked = eve(&world, "/ask question=one");
    let question = world.said_to(BEN, "6660000000 asks: one").await?;
    world.answer(&asked, "ask-colleague-").await?;
    world.stands("waiting").await?;
    let sound = spoil(&world)?;
    world.reply(BEN, &question, "noon");
    is_looked_at(&world).await?;
    assert_eq!(world.audited().last().map(String::as_str), Some("waiting"), "it stays where it is");
    put(&world, &sound)?;
    world.said_to(EVE, "They say: noon").await?;
    world.stands("done").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_was_removed_meanwhile_is_so_once_the_people_can_be_read_again() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    let_in(&world).await?;
    let asked = eve(&world, "/ask question=one");
    let question = world.said_to(BEN, "6660000000 asks: one").await?;
    world.answer(&asked, "ask-colleague-").await?;
    world.stands("waiting").await?;
    spoil(&world)?;
    world.reply(BEN, &question, "noon");
    is_looked_at(&world).await?;
    assert_eq!(world.audited().last().map(String::as_str), Some("waiting"), "it stays where it is");
    put(&world, br#"{"paired":[],"waiting":[]}"#)?;
    ended(&world).await?;
    assert_eq!(world.audited().last().map(String::as_str), Some("cancelled"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_end_is_told_once_the_people_can_be_read_again() -> anyhow::Result<()> {
    let mut world = World::running(&[ASK]).await?;
    let_in(&world).await?;
    let asked = eve(&world, "/ask question=one");
    world.said_to(BEN, "6660000000 asks: one").await?;
    world.answer(&asked, "ask-colleague-").await?;
    world.stands("waiting").await?;
    world.kill();
    assert_eq!(world.cancel().code, Some(0));
    let sound = spoil(&world)?;
    world.start()?;
    is_looked_at(&world).await?;
    let untold = "SELECT answered_at IS NULL FROM run";
    assert!(database(&world)?.query_row(untold, [], |row| row.get::<_, bool>(0))?, "{}", world.log());
    put(&world, &sound)?;
    world.said_to(EVE, "cancelled: ").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_schedule_waits_until_the_people_can_be_read_again() -> anyhow::Result<()> {
    let text = "workflow: daily\non: { schedule: \"0 0 * * *\", to: \"telegram:6660000000\" }\n\
        tasks: [{ id: a, tool: file_list, with: { path: /shared } }]\noutput: \"for {{ trigger.kind }}\"\n";
    let world = World::running(&[text]).await?;
    let_in(&world).await?;
    let sound = spoil(&world)?;
    let missed = set_back(&world).await?;
    is_looked_at(&world).await?;
    assert_eq!(looked_at(&world)?, Some(missed), "it is due still");
    put(&world, &sound)?;
    world.said_to(EVE, "for schedule").await?;
    Ok(())
}
