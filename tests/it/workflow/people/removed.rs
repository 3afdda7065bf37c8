//! Runs of files do nothing more for somebody who is removed, and tell them nothing; nor does a
//! schedule begin one for somebody who is not served.

use super::approve::{PUBLISH, press, question};
use super::{ANN, ASK, BEN, EVE, PATIENCE, World};
use serde_json::json;
use std::time::{Duration, Instant};
use support::serving::Serving;
use support::telegram::{Fault, Incoming, Media, Pushed, SentMessage};

pub(super) fn database(world: &World) -> anyhow::Result<rusqlite::Connection> {
    Ok(rusqlite::Connection::open(world.home.state().join("cofferdam.db"))?)
}

pub(super) fn eve(world: &World, text: &str) -> Pushed {
    world.server.push(Incoming::private(EVE).text(text))
}

/// Lets Eve in by a code; she is told.
pub(super) async fn let_in(world: &World) -> anyhow::Result<()> {
    eve(world, "hello");
    let has_code = |sent: &SentMessage| sent.chat_id == EVE && sent.text.contains("cofferdam allow ");
    let told = world.server.wait_for_message(PATIENCE, has_code).await?;
    let (_, rest) = told.text.split_once("cofferdam allow ").expect("a code");
    let allowed = world.home.run(&["allow", rest.lines().next().expect("a line")]);
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    world.said_to(EVE, "The operator has let you in").await?;
    Ok(())
}

fn remove(world: &World) {
    let removed = world.home.run(&["allow", "--remove", &EVE.to_string()]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
}

/// Waits until the one run was cancelled, that is in the audit, and nobody is to be told any more.
pub(super) async fn ended(world: &World) -> anyhow::Result<()> {
    world.stands("cancelled").await?;
    let database = database(world)?;
    let is_settled = "SELECT answered_at IS NOT NULL AND unnoted = 0 FROM run";
    let began = Instant::now();
    while !database.query_row(is_settled, [], |row| row.get::<_, bool>(0))? {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_that_waits_goes_no_further_for_whoever_was_removed() -> anyhow::Result<()> {
    let world = World::running(&[ASK]).await?;
    let_in(&world).await?;
    let asked = eve(&world, "/ask question=one");
    let question = world.said_to(BEN, "6660000000 asks: one").await?;
    world.answer(&asked, "ask-colleague-").await?;
    world.stands("waiting").await?;
    remove(&world);
    let texts = world.texts_to(EVE);
    world.reply(BEN, &question, "noon");
    ended(&world).await?;
    let expected = [
        "started by telegram:6660000000",
        "sends to telegram:5000000002",
        "waiting",
        // Nobody has cancelled it.
        "cancelled",
    ];
    assert_eq!(world.audited(), expected);
    assert_eq!(world.texts_to(EVE), texts, "nothing more is said to her");
    Ok(())
}

/// A question holds its run in memory, which is not taken up anew when somebody has decided.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_somebody_agrees_to_is_not_done_for_whoever_was_removed() -> anyhow::Result<()> {
    let world = World::running(&[PUBLISH]).await?;
    let_in(&world).await?;
    let asked = eve(&world, "/publish");
    let shown = question(&world).await?;
    world.answer(&asked, "publish-").await?;
    remove(&world);
    let texts = world.texts_to(EVE);
    world.server.push(press(BEN, &shown, 0));
    ended(&world).await?;
    assert_eq!(world.audited().last().map(String::as_str), Some("cancelled"));
    assert!(!world.home.host("/shared/latest.txt").exists());
    assert_eq!(world.texts_to(EVE), texts, "nothing more is said to her");
    Ok(())
}

/// What has ended before, and is not told yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_end_of_a_run_is_not_told_to_whoever_was_removed() -> anyhow::Result<()> {
    let mut world = World::running(&[ASK]).await?;
    let_in(&world).await?;
    let asked = eve(&world, "/ask question=one");
    world.said_to(BEN, "6660000000 asks: one").await?;
    world.answer(&asked, "ask-colleague-").await?;
    world.stands("waiting").await?;
    world.kill();
    assert_eq!(world.cancel().code, Some(0));
    remove(&world);
    world.start()?;
    ended(&world).await?;
    let asked = world.ask("/help file_read");
    world.answer(&asked, "").await?;
    // The kill may have had the acknowledgement sent twice.
    let texts = world.texts_to(EVE);
    assert!(texts.iter().all(|text| !text.starts_with("cancelled: ")), "{texts:?}");
    Ok(())
}

/// Since when the times of the one schedule are looked for.
pub(super) fn looked_at(world: &World) -> anyhow::Result<Option<i64>> {
    let found = database(world)?.query_row("SELECT looked_at FROM run_schedule", [], |row| row.get(0));
    Ok(found.ok())
}

/// Sets that time back; to which one.
pub(super) async fn set_back(world: &World) -> anyhow::Result<i64> {
    let began = Instant::now();
    loop {
        if let Some(at) = looked_at(world)? {
            let missed = at - 3 * 24 * 3600 * 1000;
            database(world)?.execute("UPDATE run_schedule SET looked_at = ?1", [missed])?;
            return Ok(missed);
        }
        anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The same, and waits until the times since then were looked for.
async fn miss_times(world: &World) -> anyhow::Result<()> {
    let missed = set_back(world).await?;
    let began = Instant::now();
    while looked_at(world)? == Some(missed) {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_schedule_begins_nothing_for_somebody_who_is_not_served_and_says_so_once() -> anyhow::Result<()> {
    let text = "workflow: daily\non: { schedule: \"0 0 * * *\", to: \"telegram:6660000000\" }\n\
        tasks: [{ id: a, tool: file_list, with: { path: /shared } }]\noutput: \"for {{ trigger.kind }}\"\n";
    let world = World::running(&[text]).await?;
    world.server.open_chat(EVE);
    for _ in 0..2 {
        miss_times(&world).await?;
    }
    assert_eq!(world.home.run(&["workflow", "list", "--json"]).json()["runs"], json!([]));
    assert_eq!(world.audited(), [""; 0]);
    assert!(world.texts_to(EVE).is_empty(), "{:?}", world.texts_to(EVE));
    let said = world.log().matches("the person whom it is for is not served").count();
    assert_eq!(said, 1, "{}", world.log());
    // Nothing is made up for whom the operator lets in, and the next time is theirs.
    let_in(&world).await?;
    assert_eq!(world.audited(), [""; 0]);
    miss_times(&world).await?;
    world.said_to(EVE, "for schedule").await?;
    assert_eq!(world.stands("done").await?["by"], "telegram:6660000000");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_whose_channel_is_not_configured_any_more_fails_and_can_be_resumed() -> anyhow::Result<()> {
    let mut world = World::running(&[ASK]).await?;
    let (_, question) = world.asked().await?;
    world.stands("waiting").await?;
    world.kill();
    // As if it had come over Discord, which is not configured.
    database(&world)?.execute("UPDATE run SET channel = 'discord'", [])?;
    world.start()?;
    world.reply(BEN, &question, "noon");
    let failed = world.stands("failed").await?;
    assert_eq!(failed["error"]["code"], "recipient_denied");
    let message = failed["error"]["message"].as_str().expect("words");
    assert!(message.contains("[channels.discord] is not configured any more"), "{message}");
    world.kill();
    database(&world)?.execute("UPDATE run SET channel = 'telegram'", [])?;
    assert_eq!(world.home.run(&["workflow", "resume", &world.run_id()]).code, Some(4));
    world.start()?;
    assert_eq!(world.stands("done").await?["output"], "They say: noon");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_tool_of_a_run_has_no_files_of_a_channel_that_is_gone_until_it_is_back() -> anyhow::Result<()> {
    let workflow = "workflow: collect\non: { command: collect }\ntasks:\n\
        \x20 - { id: ask, send: { to: \"telegram:5000000002\", text: \"The plan, please.\" } }\n\
        \x20 - { id: answer, wait: { reply_to: ask, timeout: 1h } }\n\
        \x20 - { id: ok, approve: { text: \"Keep it?\", timeout: 1h } }\n\
        \x20 - { id: keep, tool: attachment_save, with: { index: 0, path: /shared/plan.txt } }\n";
    let mut world = World::running(&[workflow]).await?;
    world.ask("/collect");
    let message = world.said_to(BEN, "The plan, please.").await?;
    let plan = Media::with_content("plan", "the plan").name("plan.txt");
    world.server.push(Incoming::private(BEN).document(plan).reply_to(&message.message));
    let shown = question(&world).await?;
    world.kill();
    // As if the reply had come over Discord, which is not configured.
    let came_over = "SELECT channel FROM run_message";
    let channel: String = database(&world)?.query_row(came_over, [], |row| row.get(0))?;
    database(&world)?.execute("UPDATE run_message SET channel = 'discord-1'", [])?;
    world.start()?;
    world.server.push(press(ANN, &shown, 0));
    let failed = world.stands("failed").await?;
    let error = &failed["error"];
    assert_eq!((&error["code"], &error["task"]), (&json!("recipient_denied"), &json!("keep")));
    let message = error["message"].as_str().expect("words");
    assert!(message.contains("[channels.discord] is not configured any more"), "{message}");
    assert!(!world.home.host("/shared/plan.txt").exists());
    world.kill();
    database(&world)?.execute("UPDATE run_message SET channel = ?1", [channel])?;
    assert_eq!(world.home.run(&["workflow", "resume", &world.run_id()]).code, Some(4));
    world.start()?;
    world.stands("done").await?;
    assert_eq!(std::fs::read(world.home.host("/shared/plan.txt"))?, b"the plan");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_whose_channel_does_not_come_up_ends_at_its_deadline_and_is_told_later() -> anyhow::Result<()> {
    let mut world = World::running(&[ASK]).await?;
    let (asked, _) = world.asked().await?;
    world.stands("waiting").await?;
    world.kill();
    world.server.fault("getMe", usize::MAX, Fault::bad_gateway());
    let deadline = ("COFFERDAM_WORKFLOWS_RUN_DEADLINE", "1s");
    world.serving = Some(Serving::launch(&world.home, world.server.token(), &[], &[deadline])?);
    let failed = world.stands("failed").await?;
    assert_eq!(failed["error"]["code"], "timed_out", "{failed}");
    world.server.clear_faults();
    world.answer(&asked, "timed_out: the run took longer than").await?;
    Ok(())
}
