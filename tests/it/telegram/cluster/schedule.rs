//! A schedule that nodes share: a time that came while its node slept is made up by another one.

use super::*;

const DAILY: &str = "workflow: daily\non: { schedule: \"0 0 * * *\", to: \"telegram:5000000002\" }\n\
    tasks: [{ id: a, tool: file_list, with: { path: /shared } }]\noutput: \"for {{ trigger.kind }}\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_time_that_comes_while_its_node_sleeps_is_made_up_once_by_another() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::schedule") else { return Ok(()) };
    let (world, mut first, schema) = two(server, |home| home.offering("daily.yaml", DAILY)).await?;
    world.server.open_chat(BEN);
    let looked_at = || server.sql(&format!("SELECT looked_at FROM {schema}.run_schedule"));
    let since = Instant::now();
    while looked_at().is_empty() {
        anyhow::ensure!(since.elapsed() < PATIENCE, "{}", first.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    first.signal(Signal::STOP)?;
    // As if nobody had looked for three days.
    server.sql(&format!("UPDATE {schema}.run_schedule SET looked_at = looked_at - 3 * 24 * 3600 * 1000"));
    let is_told = |sent: &SentMessage| sent.chat_id == BEN && sent.text == "for schedule";
    world.server.wait_for_message(PATIENCE, is_told).await?;
    first.signal(Signal::CONT)?;
    first.gives_up(PATIENCE, TAKEN_OVER)?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    let runs = server.sql(&format!("SELECT count(*) || ' ' || min(state) FROM {schema}.run"));
    assert_eq!(runs, "1 done");
    world.end(2)
}

/// A node that tells the end of a run in somebody's session has nothing else to do there.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_tells_what_is_due_begins_nothing_of_a_session_that_another_node_has() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::who_tells_what_is_due") else { return Ok(()) };
    let fit = |home: Home| always(home.offering("daily.yaml", DAILY));
    let (world, first, schema) = two(server, fit).await?;
    let looked_at = || server.sql(&format!("SELECT looked_at FROM {schema}.run_schedule"));
    let since = Instant::now();
    while looked_at().is_empty() {
        anyhow::ensure!(since.elapsed() < PATIENCE, "{}", first.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    give(server, &schema, (&world, BEN), "b");
    world.server.push(Incoming::private(BEN).text(WRITE));
    asked(&world, 0).await?;
    let next = world.server.push(Incoming::private(BEN).text("/file_info path=/shared"));
    server.sql(&format!("UPDATE {schema}.run_schedule SET looked_at = looked_at - 3 * 24 * 3600 * 1000"));
    let is_told = |sent: &SentMessage| sent.chat_id == BEN && sent.text == "for schedule";
    world.server.wait_for_message(PATIENCE, is_told).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let bound = server
        .sql(&format!("SELECT count(*) FROM {schema}.inbox WHERE turn IS NOT NULL AND done_at IS NULL"));
    assert_eq!(bound, "1", "the message behind it waits for its turn");
    world.server.push(Incoming::private(BEN).text("/cancel"));
    answered(&world, "cancelled").await?;
    assert!(world.answer(&next).await?.text.contains("directory"));
    let count = world.server.sent_messages().len();
    end(world, [first], count)
}
