//! A request that goes on does so by the rules of that moment: for who is served where it was made,
//! with the tools that may be called from there.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A supergroup.
const GROUP: i64 = -1_001_234_567_890;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_does_not_go_on_for_whoever_was_removed_before_its_turn() -> anyhow::Result<()> {
    // What goes on is under way when the program is killed: it is what is left of the inbox.
    let (gate, begun) = (support::llm::Gate::new(), Arc::new(AtomicUsize::new(0)));
    let (held, count) = (gate.clone(), begun.clone());
    let (mut world, _llm) = agent(move |request| {
        let (about, _) = request.last_said();
        if !about["goes_on"].is_object() {
            return asks_ben(request);
        }
        count.fetch_add(1, Ordering::Relaxed);
        Turn::say("Ben says something.").held_by(&held)
    })
    .await?;
    let (_, message) = asked(&world).await?;
    world.reply(BEN, &message, "noon");
    let began = Instant::now();
    while begun.load(Ordering::Relaxed) == 0 {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.kill();
    gate.open();
    let api_url = world.server.api_url();
    world.home = std::mem::take(&mut world.home).telegram(&api_url, &[BEN, CAT]);
    world.start()?;
    world.stands("cancelled").await?;
    // Others are answered by then, and the model was not asked again.
    let other = world.server.push(Incoming::private(BEN).text("/help file_read"));
    world.answer(&other, "").await?;
    assert_eq!(begun.load(Ordering::Relaxed), 1);
    let texts = world.texts_to(ANN);
    assert!(texts.iter().all(|text| !text.starts_with("Ben says")), "{texts:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_goes_on_with_the_tools_of_its_place_at_that_moment() -> anyhow::Result<()> {
    let (mut world, _llm) = agent(|request| {
        let (about, _) = request.last_said();
        if !about["goes_on"].is_object() {
            return asks_ben(request);
        }
        if called(request) == 0 {
            let write = json!({ "path": "/shared/noon", "content": "noon" });
            return Turn::calls([Call::new("file_write", write)]);
        }
        let came = request.results().pop().unwrap_or_default();
        Turn::say(if came.contains("tool_unavailable") { "It may not be." } else { "Written." })
    })
    .await?;
    let question_of_ann = Incoming::group(GROUP, ANN).text("@cofferdam_test_bot ask Ben when it comes");
    let asked = world.server.push(question_of_ann);
    decide(&world, &question(&world, "workflow_task_create").await?, 0);
    let message = world.said_to(BEN, "When does it come?").await?;
    world.answer(&asked, "I have asked Ben.").await?;
    world.stands("waiting").await?;
    world.kill();
    let rules = format!("[channels.telegram.groups.\"{GROUP}\"]\nprofiles = [\"file-read-only\"]\n");
    world.home = std::mem::take(&mut world.home).telegram_more(&rules);
    world.start()?;
    world.reply(BEN, &message, "noon");
    world.answer(&asked, "It may not be.").await?;
    assert!(!world.home.host("/shared/noon").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_request_whose_channel_is_gone_is_open_no_longer_than_its_time() -> anyhow::Result<()> {
    let (mut world, _llm) = agent(asks_ben).await?;
    let (_, message) = asked(&world).await?;
    world.kill();
    // As if it had come over Discord, which is not configured.
    let database = super::super::removed::database(&world)?;
    database.execute("UPDATE run SET channel = 'discord'", [])?;
    let deadline = ("COFFERDAM_WORKFLOWS_RUN_DEADLINE", "1s");
    world.serving = Some(Serving::launch(&world.home, world.server.token(), &[], &[deadline])?);
    world.reply(BEN, &message, "noon");
    world.stands("cancelled").await?;
    Ok(())
}
