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
