//! Schedules: of times that were missed one is made up, once.

use super::{BEN, PATIENCE, World};
use std::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_missed_time_is_made_up_once() -> anyhow::Result<()> {
    // The last hour of a day that nobody waits for here, but the one that was missed.
    let text = "workflow: daily\non: { schedule: \"0 0 * * *\", to: \"telegram:5000000002\" }\n\
        tasks: [{ id: a, tool: file_list, with: { path: /shared } }]\noutput: \"for {{ trigger.kind }}\"\n";
    let mut world = World::running(&[text]).await?;
    let file = world.home.state().join("cofferdam.db");
    let looked_at = || -> anyhow::Result<Option<i64>> {
        let connection = rusqlite::Connection::open(&file)?;
        let mut found = connection.prepare("SELECT looked_at FROM run_schedule")?;
        Ok(found.query_row([], |row| row.get(0)).ok())
    };
    let began = Instant::now();
    while looked_at()?.is_none() {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
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
