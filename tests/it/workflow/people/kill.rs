//! `kill -9` at each step of a wait: one message, one answer, whatever was under way.

use super::{ANN, ASK, BEN, PATIENCE, World};
use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::telegram::{Hold, Target};

fn to(person: i64) -> Target {
    Target::method("sendMessage").with("chat_id", person)
}

/// What is said to Ann in the end: an acknowledgement and one answer.
async fn answered(world: &World, asked: &support::telegram::Pushed) -> anyhow::Result<()> {
    world.answer(asked, "They say: noon").await?;
    world.stands("done").await?;
    let answers = world.texts_to(ANN).into_iter().filter(|text| text.starts_with("They say")).count();
    assert_eq!(answers, 1, "{:?}", world.texts_to(ANN));
    let resumed = world.audited().into_iter().filter(|line| line.starts_with("resumed")).count();
    assert_eq!(resumed, 1, "{:?}", world.audited());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn before_the_message_is_out() -> anyhow::Result<()> {
    let mut world = World::running(&[ASK]).await?;
    let gate = world.server.gate(to(BEN), Hold::BeforeEffect);
    let asked = world.ask("/ask question=one");
    world.kill_at(gate).await?;
    world.start()?;
    let question = world.said_to(BEN, "5000000001 asks: one").await?;
    world.stands("waiting").await?;
    assert_eq!(world.texts_to(BEN).len(), 1);
    world.reply(BEN, &question, "noon");
    answered(&world, &asked).await
}

/// Its turn is run again, and goes on with the run that it has begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn before_the_message_is_out_of_a_file_that_has_another_id_afterwards() -> anyhow::Result<()> {
    let mut world = World::running(&[ASK]).await?;
    let gate = world.server.gate(to(BEN), Hold::BeforeEffect);
    let asked = world.ask("/ask question=one");
    world.kill_at(gate).await?;
    let renamed = ASK.replace("workflow: ask-colleague", "workflow: ask-somebody");
    std::fs::write(world.home.dir().join("offered/0.yaml"), renamed)?;
    world.start()?;
    world.answer(&asked, "ask-colleague-").await?;
    let question = world.said_to(BEN, "5000000001 asks: one").await?;
    world.reply(BEN, &question, "noon");
    answered(&world, &asked).await?;
    assert_eq!(world.texts_to(BEN).len(), 1);
    let listed = world.home.run(&["workflow", "list", "--json"]).json();
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(1), "{listed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn after_the_message_is_out_and_before_its_id_is_noted() -> anyhow::Result<()> {
    for replies_before in [true, false] {
        let mut world = World::running(&[ASK]).await?;
        let gate = world.server.gate(to(BEN), Hold::BeforeAnswer);
        let asked = world.ask("/ask question=one");
        gate.reached().await?;
        let first = world.said_to(BEN, "5000000001 asks: one").await?;
        if replies_before {
            let reply = world.reply(BEN, &first, "noon");
            world.server.wait_until_confirmed(PATIENCE, reply.update_id).await?;
        }
        world.kill();
        gate.discard();
        if !replies_before {
            // To the copy whose id nobody could note.
            world.reply(BEN, &first, "noon");
        }
        world.start()?;
        answered(&world, &asked).await?;
        assert!(world.texts_to(BEN).len() <= 2, "{:?}", world.texts_to(BEN));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_it_waits_and_a_reply_comes_meanwhile() -> anyhow::Result<()> {
    let mut world = World::running(&[ASK]).await?;
    let (asked, question) = world.asked().await?;
    world.stands("waiting").await?;
    world.kill();
    assert_eq!(world.shown()["state"], "waiting", "whoever serves or not");
    world.reply(BEN, &question, "noon");
    world.start()?;
    answered(&world, &asked).await?;
    assert_eq!(world.texts_to(BEN).len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn after_the_reply_is_kept_and_before_the_answer_is_out() -> anyhow::Result<()> {
    for hold in [Hold::BeforeEffect, Hold::BeforeAnswer] {
        let mut world = World::running(&[ASK]).await?;
        let (asked, question) = world.asked().await?;
        let gate = world.server.gate(to(ANN), hold);
        let reply = world.reply(BEN, &question, "noon");
        world.kill_at(gate).await?;
        world.start()?;
        world.stands("done").await?;
        world.answer(&asked, "They say: noon").await?;
        let resumed = world.audited().into_iter().filter(|line| line.starts_with("resumed")).count();
        assert_eq!(resumed, 1, "{:?}", world.audited());
        world.server.redeliver(reply.update_id)?;
        let next = world.server.push(support::telegram::Incoming::private(BEN).text("/help file_read"));
        world.answer(&next, "").await?;
        let answers = world.texts_to(ANN).into_iter().filter(|text| text.starts_with("They say")).count();
        // A message may go out twice only where the platform's yes could not be noted.
        let most = if hold == Hold::BeforeEffect { 1 } else { 2 };
        assert!((1..=most).contains(&answers), "{answers} {:?}", world.texts_to(ANN));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn before_and_after_the_acknowledgement() -> anyhow::Result<()> {
    for hold in [Hold::BeforeEffect, Hold::BeforeAnswer] {
        let mut world = World::running(&[ASK]).await?;
        let gate = world.server.gate("editMessageText", hold);
        let asked = world.ask("/ask question=one");
        let question = world.said_to(BEN, "5000000001 asks: one").await?;
        // What stands for the answer while it is awaited may be shown, or not: Ann's own message is
        // what is answered.
        world.stands("waiting").await?;
        world.kill();
        gate.discard();
        world.start()?;
        world.answer(&asked, "ask-colleague-").await?;
        world.reply(BEN, &question, "noon");
        answered(&world, &asked).await?;
        assert_eq!(world.texts_to(BEN).len(), 1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_a_file_goes_out_with_the_message() -> anyhow::Result<()> {
    let text = ASK.replace("\" } }\n", "\", files: [/shared/plan.txt] } }\n");
    let mut world = World::stopped(&[&text]).await?;
    std::fs::create_dir_all(world.home.host("/shared"))?;
    std::fs::write(world.home.host("/shared/plan.txt"), "the plan")?;
    world.start()?;
    let gate = world.server.gate(Target::method("sendDocument").with("chat_id", BEN), Hold::BeforeEffect);
    let asked = world.ask("/ask question=one");
    world.kill_at(gate).await?;
    // The file as it was when the message was kept.
    std::fs::write(world.home.host("/shared/plan.txt"), "another")?;
    world.start()?;
    let question = world.said_to(BEN, "5000000001 asks: one").await?;
    assert_eq!(question.file.as_ref().map(|file| file.bytes.as_ref()), Some(&b"the plan"[..]));
    world.reply(BEN, &question, "noon");
    answered(&world, &asked).await?;
    assert_eq!(world.texts_to(BEN).len(), 1);
    Ok(())
}

/// While the audit can take nothing in, whoever cancels comes as far as the database and no
/// further.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn between_a_cancel_and_its_record() -> anyhow::Result<()> {
    for serves in [false, true] {
        let mut world = World::running(&[ASK]).await?;
        let (asked, _) = world.asked().await?;
        world.stands("waiting").await?;
        if !serves {
            world.kill();
        }
        let audit = File::open(world.home.state().join("audit.jsonl"))?;
        // Shared, it can be opened beside.
        audit.lock_shared()?;
        let mut cancelling = world.home.command(&["workflow", "cancel", &world.run_id()]);
        let mut cancelling = cancelling.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        world.stands("cancelled").await?;
        cancelling.kill()?;
        cancelling.wait()?;
        audit.unlock()?;
        let ends = |world: &World| -> Vec<String> {
            world.audited().into_iter().filter(|line| line.starts_with("cancelled")).collect()
        };
        assert!(ends(&world).is_empty(), "it was killed before");
        if serves {
            let began = Instant::now();
            while ends(&world).is_empty() {
                anyhow::ensure!(began.elapsed() < PATIENCE, "{}", world.log());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        } else {
            // Whoever does it again writes it down.
            assert_eq!(world.cancel().code, Some(1), "it has ended already");
            assert_eq!(ends(&world).len(), 1, "{:?}", world.audited());
            world.start()?;
        }
        // Told after everything that was owed.
        world.answer(&asked, "cancelled: ").await?;
        let ends = ends(&world);
        assert!(ends.len() == 1 && ends[0].starts_with("cancelled by cli:"), "{ends:?}");
    }
    Ok(())
}
