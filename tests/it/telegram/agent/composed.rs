//! Files that a model composes in its call: they come with its words, once, and are kept nowhere
//! else.

use super::*;
use crate::telegram::world::PATIENCE;
use support::llm::Gate;

const TABLE: &str = "month,visits\nMay,12\nJune,17\n";

fn add() -> Turn {
    Turn::calls([Call::new("attachment_add", json!({ "content": TABLE, "filename": "visits.csv" }))])
}

/// The table has come with these words, once.
async fn came(world: &World, words: &str) -> anyhow::Result<()> {
    let sent = world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    let file = sent.file.expect("a file");
    assert_eq!((sent.text.as_str(), sent.chat_id, file.name.as_str()), (words, ANN, "visits.csv"));
    assert_eq!((file.kind.to_string(), &file.bytes[..]), ("document".into(), TABLE.as_bytes()));
    let files = world.server.sent_messages().iter().filter(|sent| sent.file.is_some()).count();
    assert_eq!((files, outcomes(world, "attachment_add")), (1, vec![None]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_table_comes_with_the_answer_and_stays_nowhere() -> anyhow::Result<()> {
    let (world, llm) = agent([add(), Turn::say("Here are the visits.")]).await?;
    world.server.push(text("how many came? as a table"));
    came(&world, "Here are the visits.").await?;
    let result = llm.requests().pop().expect("requests").results().pop().expect("a result");
    assert!(result.contains("visits.csv") && !result.contains("June"), "{result}");
    let shared = std::fs::read_dir(world.home.host("/shared")).into_iter().flatten().count();
    assert_eq!(shared, 0, "nothing is left in the workspace");
    let audit = std::fs::read_to_string(world.home.state().join("audit.jsonl"))?;
    assert!(audit.contains(&support::guests::sha256(TABLE.as_bytes())) && !audit.contains("June"), "{audit}");
    end(world, &llm, 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_that_runs_again_sends_it_once() -> anyhow::Result<()> {
    let (mut world, llm) = agent([add(), Turn::say("lost").held_by(&Gate::new())]).await?;
    world.server.push(text("how many came? as a table"));
    // Added, and the answer is being written.
    llm.wait_for_requests(PATIENCE, 2).await?;
    world.kill();
    llm.script([Turn::say("Here they are.")]);
    world.start()?;
    came(&world, "Here they are.").await?;
    end(world, &llm, 1)
}
