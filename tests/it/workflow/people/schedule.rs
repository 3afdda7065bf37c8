//! Schedules: of times that were missed one is made up, once.

use super::{BEN, PATIENCE, World};
use rusqlite::OptionalExtension;
use rustix::fs::{FlockOperation, flock};
use std::time::Instant;

/// The last hour of a day that nobody waits for here, but the one that was missed.
const DAILY: &str = "workflow: daily\non: { schedule: \"0 0 * * *\", to: \"telegram:5000000002\" }\n\
    tasks: [{ id: a, tool: file_list, with: { path: /shared } }]\noutput: \"for {{ trigger.kind }}\"\n";

impl World {
    /// Waits until the times of the one schedule have been looked for up to such a time.
    async fn looked_at(&self, is_it: impl Fn(Option<i64>) -> bool) -> anyhow::Result<()> {
        let file = self.home.state().join("cofferdam.db");
        let began = Instant::now();
        loop {
            let connection = rusqlite::Connection::open(&file)?;
            let noted = connection.query_row("SELECT looked_at FROM run_schedule", [], |row| row.get(0));
            if is_it(noted.optional()?) {
                return Ok(());
            }
            anyhow::ensure!(began.elapsed() < PATIENCE, "{}", self.log());
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_missed_time_is_made_up_once() -> anyhow::Result<()> {
    let mut world = World::running(&[DAILY]).await?;
    let file = world.home.state().join("cofferdam.db");
    world.looked_at(|at| at.is_some()).await?;
    assert!(world.texts_to(BEN).is_empty(), "what was before it was offered is nobody's");
    world.kill();
    // As if it had been away for three days.
    rusqlite::Connection::open(&file)?
        .execute("UPDATE run_schedule SET looked_at = looked_at - 3 * 24 * 3600 * 1000", [])?;
    world.start()?;
    world.said_to(BEN, "for schedule").await?;
    assert_eq!(world.stands("done").await?["by"], "telegram:5000000002");
    world.kill();
    world.start()?;
    let asked = world.ask("/help file_read");
    world.answer(&asked, "").await?;
    assert_eq!(world.texts_to(BEN), ["for schedule"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_that_is_taken_away_for_a_while_has_missed_nothing() -> anyhow::Result<()> {
    let mut world = World::running(&[DAILY]).await?;
    let file = world.home.state().join("cofferdam.db");
    world.looked_at(|at| at.is_some()).await?;
    world.kill();
    rusqlite::Connection::open(&file)?
        .execute("UPDATE run_schedule SET looked_at = looked_at - 3 * 24 * 3600 * 1000", [])?;
    let (offered, away) = (world.home.dir().join("offered/0.yaml"), world.home.dir().join("0.yaml"));
    std::fs::rename(&offered, &away)?;
    world.start()?;
    world.looked_at(|at| at.is_none()).await?;
    world.kill();
    std::fs::rename(&away, &offered)?;
    world.start()?;
    world.looked_at(|at| at.is_some()).await?;
    let asked = world.ask("/help file_read");
    world.answer(&asked, "").await?;
    assert!(world.texts_to(BEN).is_empty(), "{:?}", world.texts_to(BEN));
    Ok(())
}

/// Such as where its disk is full, and the store is elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_time_waits_for_an_audit_that_does_not_take_its_beginning_in() -> anyhow::Result<()> {
    let world = World::running(&[DAILY]).await?;
    world.looked_at(|at| at.is_some()).await?;
    let audit = std::fs::File::open(world.home.state().join("audit.jsonl"))?;
    flock(&audit, FlockOperation::LockExclusive)?;
    rusqlite::Connection::open(world.home.state().join("cofferdam.db"))?
        .execute("UPDATE run_schedule SET looked_at = looked_at - 3 * 24 * 3600 * 1000", [])?;
    world.logs("a scheduled run waits for the audit").await?;
    assert!(world.texts_to(BEN).is_empty(), "{:?}", world.texts_to(BEN));
    drop(audit);
    world.said_to(BEN, "for schedule").await?;
    assert_eq!(world.audited()[0], "started by telegram:5000000002");
    Ok(())
}
