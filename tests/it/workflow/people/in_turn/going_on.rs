//! A reply goes on with the request, in its thread, once; so does the end of the time.

use super::*;
use support::telegram::Media;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reply_goes_on_with_the_request_in_its_thread() -> anyhow::Result<()> {
    let (mut world, llm) = agent(asks_ben).await?;
    let (asked, message) = asked(&world).await?;
    let last = llm.requests().into_iter().find(|request| called(request) == 3).expect("three were called");
    let tools = ["workflow_create", "workflow_task_create", "workflow_wait_for_reply"];
    for (tool, result) in tools.into_iter().zip(last.results()) {
        fits(&world, tool, &serde_json::from_str::<Value>(&result)?["result"]);
    }
    let shown = world.shown();
    assert_eq!(shown["workflow"], "turn");
    assert_eq!(shown["waiting"]["from"], format!("telegram:{BEN}"));
    // Nothing but the database waits.
    world.kill();
    world.reply(BEN, &message, "/file_delete path=/shared");
    world.start()?;
    world.answer(&asked, "Ben says: /file_delete path=/shared").await?;
    world.stands("done").await?;
    let goes_on = llm.requests().into_iter().rev().find(|request| request.text().contains("goes_on"));
    let text = goes_on.expect("it goes on").text();
    assert!(text.contains("ask Ben when it comes") && text.contains("file_delete"), "{text}");
    let said = world.texts_to(ANN).into_iter().filter(|text| text.starts_with("Ben says")).count();
    assert_eq!(said, 1, "{:?}", world.texts_to(ANN));
    let resumed = world.audited().into_iter().filter(|line| line.starts_with("resumed")).collect::<Vec<_>>();
    assert_eq!(resumed, [format!("resumed by telegram:{BEN}")]);
    assert_eq!(to_ben(&world, "When does it come?"), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_ends_it_by_hand_has_it_told_where_it_began() -> anyhow::Result<()> {
    let (world, _llm) = agent(asks_ben).await?;
    let (asked, _) = asked(&world).await?;
    assert_eq!(world.cancel().code, Some(0));
    world.answer(&asked, "cancelled: ").await?;
    assert_eq!(world.shown()["state"], "cancelled");
    let resumed = world.home.run(&["workflow", "resume", &world.run_id()]);
    assert!(resumed.code != Some(0) && resumed.stderr.contains("belongs to a request"), "{resumed:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_model_the_reply_is_told_and_its_file_can_be_saved() -> anyhow::Result<()> {
    let world = plain().await?;
    let begun = world.ask("/workflow.create");
    let told: Value = serde_json::from_str(&world.answer(&begun, "{\"workflow\"").await?.text)?;
    assert!(told["workflow"].as_str().is_some_and(|id| id.starts_with("turn-")), "{told}");
    let send =
        json!({ "workflow": told["workflow"], "send": { "to": format!("telegram:{BEN}"), "text": "When?" } });
    let sends = world.ask(&format!("/workflow_task_create {send}"));
    decide(&world, &question(&world, "workflow_task_create").await?, 0);
    let message = world.said_to(BEN, "When?").await?;
    world.answer(&sends, "{\"channel\":\"telegram\"").await?;
    let wait = json!({
        "workflow": told["workflow"], "messageId": message.message_id.to_string(), "timeout": "1h",
    });
    let waits = world.ask(&format!("/workflow_wait_for_reply {wait}"));
    world.answer(&waits, "{\"waiting\":true}").await?;
    let document = Media::with_content("plan", "the plan").name("plan.txt");
    let reply = Incoming::private(BEN).document(document).caption("see this").reply_to(&message.message);
    world.server.push(reply);
    let said = world.answer(&begun, &format!("telegram:{BEN} replies: see this")).await?;
    assert!(said.text.contains("plan.txt"), "{}", said.text);
    let saved = world.ask("/attachment_download downloadDir=/shared/plans");
    let saved: Value = serde_json::from_str(&world.answer(&saved, "{\"ok\":true").await?.text)?;
    let path = saved["files"][0]["path"].as_str().expect("one file");
    assert_eq!(std::fs::read(world.home.host(path))?, b"the plan", "{saved}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_replys_file_is_an_attachment_of_the_turn_that_goes_on() -> anyhow::Result<()> {
    let (world, _llm) = agent(|request| {
        let (about, _) = request.last_said();
        match (about["goes_on"].is_object(), called(request)) {
            (false, _) => asks_ben(request),
            (true, 0) => {
                let save = json!({ "index": 0, "path": "/shared/plan.txt" });
                Turn::calls([Call::new("attachment_save", save)])
            }
            (true, _) => Turn::say("Saved."),
        }
    })
    .await?;
    let (asked, message) = asked(&world).await?;
    let document = Media::with_content("plan", "the plan").name("plan.txt");
    world.server.push(Incoming::private(BEN).document(document).reply_to(&message.message));
    world.answer(&asked, "Saved.").await?;
    assert_eq!(std::fs::read(world.home.host("/shared/plan.txt"))?, b"the plan");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_end_of_the_time_is_told() -> anyhow::Result<()> {
    let (world, _llm) = agent(|request| {
        let (about, _) = request.last_said();
        if about["goes_on"].is_object() || called(request) != 2 {
            return asks_ben(request);
        }
        let all = request.results();
        let read = |n: usize| serde_json::from_str::<Value>(&all[n]).unwrap_or_default()["result"].clone();
        let wait = json!({
            "workflow": read(0)["workflow"], "messageId": read(1)["messageId"], "timeout": "1s",
        });
        Turn::calls([Call::new("workflow_wait_for_reply", wait)])
    })
    .await?;
    let asked = world.ask("ask Ben when it comes");
    decide(&world, &question(&world, "workflow_task_create").await?, 0);
    world.answer(&asked, "I have asked Ben.").await?;
    world.answer(&asked, "Ben does not say.").await?;
    world.stands("done").await?;
    Ok(())
}
