//! Questions with two buttons: one person decides, once, through `kill -9`.

use super::{ANN, BEN, CAT, PATIENCE, World};
use rustix::process::Signal;
use support::telegram::{Incoming, SentMessage};

pub(super) const PUBLISH: &str = "workflow: publish\non: { command: publish }\ntasks:\n\
    \x20 - { id: ok, approve: { from: \"telegram:5000000002\", text: \"Publish it?\", timeout: 1h } }\n\
    \x20 - { id: out, tool: file_write, with: { path: /shared/latest.txt, content: by } }\n\
    output: \"published by {{ tasks.ok.output.by }}\"\n";

/// The question, while it has its buttons.
pub(super) async fn question(world: &World) -> anyhow::Result<SentMessage> {
    let is_it = |sent: &SentMessage| sent.message["reply_markup"].is_object();
    let found = world.server.wait_for_message(PATIENCE, is_it).await;
    found.map_err(|error| anyhow::anyhow!("{error}\n{}", world.log()))
}

pub(super) fn press(user: i64, question: &SentMessage, button: usize) -> Incoming {
    let data = &question.message["reply_markup"]["inline_keyboard"][0][button]["callback_data"];
    Incoming::callback(user, &question.message, data.as_str().expect("a button"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_person_agrees_first_and_nobody_else_can() -> anyhow::Result<()> {
    let mut world = World::running(&[PUBLISH]).await?;
    let asked = world.ask("/publish");
    let shown = question(&world).await?;
    assert_eq!((shown.chat_id, shown.text.as_str()), (BEN, "Publish it?"));
    world.answer(&asked, "publish-").await?;
    let waiting = world.stands("waiting").await?;
    assert_eq!(waiting["waiting"]["from"], "telegram:5000000002");
    // The same question stands after a kill.
    world.kill();
    world.start()?;
    world.stands("waiting").await?;
    for other in [ANN, CAT] {
        let pressed = world.server.push(press(other, &shown, 0));
        world.server.wait_until_confirmed(PATIENCE, pressed.update_id).await?;
    }
    assert!(!world.home.host("/shared/latest.txt").exists());
    world.server.push(press(BEN, &shown, 0));
    world.answer(&asked, "published by telegram:5000000002").await?;
    assert!(world.home.host("/shared/latest.txt").exists());
    assert_eq!(world.texts_to(BEN).len(), 1, "{:?}", world.texts_to(BEN));
    assert_eq!(
        world.audited(),
        ["started by telegram:5000000001", "waiting", "resumed by telegram:5000000002", "done"]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whoever_says_no_or_nothing_ends_the_run() -> anyhow::Result<()> {
    let world = World::running(&[PUBLISH]).await?;
    let asked = world.ask("/publish");
    let shown = question(&world).await?;
    world.server.push(press(BEN, &shown, 1));
    world.answer(&asked, "approval_denied: telegram:5000000002 denied it").await?;

    let world = World::running(&[&PUBLISH.replace("timeout: 1h", "timeout: 300ms")]).await?;
    let asked = world.ask("/publish");
    world.answer(&asked, "timed_out: telegram:5000000002 did not decide within 300ms").await?;
    assert!(!world.home.host("/shared/latest.txt").exists());

    // Withdrawn with its run, whose question then has no buttons.
    let world = World::running(&[PUBLISH]).await?;
    let asked = world.ask("/publish");
    let shown = question(&world).await?;
    world.answer(&asked, "publish-").await?;
    assert_eq!(world.cancel().code, Some(0));
    world.answer(&asked, "cancelled: ").await?;
    let is_over = |sent: &SentMessage| {
        sent.message_id == shown.message_id && sent.chat_id == BEN && sent.message["reply_markup"].is_null()
    };
    world.server.wait_for_message(PATIENCE, is_over).await?;
    Ok(())
}

/// A question stands for days, and a policy is tightened meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_comes_after_a_decision_is_judged_by_what_holds_then() -> anyhow::Result<()> {
    let mut world = World::stopped(&[PUBLISH]).await?;
    world.home = std::mem::take(&mut world.home).own_policies();
    world.start()?;
    let asked = world.ask("/publish");
    let shown = question(&world).await?;
    world.answer(&asked, "publish-").await?;
    std::fs::remove_file(world.home.policies_dir().join("tools/file_write.toml"))?;
    world.served().1.signal(Signal::USR1)?;
    world.logs("the configuration was reloaded and is in force").await?;
    world.server.push(press(BEN, &shown, 0));
    world.answer(&asked, "unknown_tool: ").await?;
    assert!(!world.home.host("/shared/latest.txt").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_question_of_a_task_holds_no_secret_of_the_gateway() -> anyhow::Result<()> {
    let input = "input: { type: object, properties: { what: { type: string } }, required: [what] }\ntasks:\n";
    let asks = PUBLISH.replace("tasks:\n", input).replace("Publish it?", "Publish {{ input.what }}?");
    let world = World::running(&[&asks]).await?;
    world.ask(&format!("/publish what=\"{}, then\"", world.server.token()));
    assert_eq!(question(&world).await?.text, "Publish ***, then?");
    Ok(())
}
