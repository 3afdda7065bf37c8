//! What a conversation remembers, and what it must not.

use super::*;
use crate::telegram::world::{BEN, PATIENCE};
use support::containing;
use support::samples;
use support::telegram::Media;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_photo_is_saved_by_the_model_and_remembered_without_its_bytes() -> anyhow::Result<()> {
    let save = Call::new("attachment_save", json!({ "index": 0, "path": "/shared/photo.jpg" }));
    let turns = [Turn::calls([save]), Turn::say("It is saved as photo.jpg."), Turn::say("A photo.")];
    let (world, llm) = agent(turns).await?;
    let bytes = samples::jpeg(300_000);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone())).caption("save this");
    assert_eq!(world.ask(photo).await?, "It is saved as photo.jpg.");
    assert!(world.saved("/shared/photo.jpg") == bytes);
    let record = world.home.audit().pop().expect("recorded");
    assert_eq!((&record["tool"], &record["sender"]), (&json!("attachment_save"), &json!(ANN.to_string())));
    assert_eq!(world.ask(text("what did I send?")).await?, "A photo.");
    let requests = llm.requests();
    assert!(requests[0].text().contains("User sent 1 attachment: [0] image/jpeg"), "{}", requests[0].text());
    let last = requests[2].text();
    assert!(last.contains("save this") && last.contains("It is saved as photo.jpg."), "{last}");
    assert!(!last.contains("User sent"), "what was said of earlier files is not said again: {last}");
    assert!(requests.iter().all(|request| request.bytes < bytes.len() / 2));
    assert_eq!(containing(&world.home.state(), &bytes[..200]), Vec::<std::path::PathBuf>::new());
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nobody_sees_anothers_conversation_and_new_forgets_it() -> anyhow::Result<()> {
    let (mut world, llm) = agent([Turn::say("Noted."), Turn::say("I do not know you.")]).await?;
    world.ask(text("my cat is called Tiger")).await?;
    world.ask(Incoming::private(BEN).text("hello")).await?;
    assert!(!llm.requests()[1].text().contains("Tiger"));
    llm.script([Turn::say("Tiger.")]);
    world.stop()?;
    world.start()?;
    world.ask(text("what is it called?")).await?;
    assert!(llm.requests()[2].text().contains("Tiger"), "a restart forgets nothing");
    let said = world.ask(text("/new")).await?;
    assert_eq!(said, "A new conversation begins here. What was said before is forgotten.");
    llm.script([Turn::say("What is called what?")]);
    world.ask(text("and now?")).await?;
    assert!(!llm.requests()[3].text().contains("Tiger"));
    world.stop()?;
    assert_eq!(containing(&world.home.state(), b"cat is called"), Vec::<std::path::PathBuf>::new());
    end(world, &llm, 5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_message_that_failed_is_retried_with_its_file() -> anyhow::Result<()> {
    let (world, llm) = agent([Turn::status(401)]).await?;
    let photo = Incoming::private(ANN).photo(Media::with_content("p", samples::jpeg(0))).caption("save it");
    let failed = world.ask(photo).await?;
    let save = Call::new("attachment_save", json!({ "index": 0, "path": "/shared/photo.jpg" }));
    llm.script([Turn::calls([save]), Turn::say("Saved.")]);
    assert_eq!(world.ask(text("/retry")).await?, "Saved.", "after: {failed}");
    assert!(world.saved("/shared/photo.jpg") == samples::jpeg(0));
    assert!(llm.requests()[1].text().contains("save it"));
    let said = world.ask(text("/retry")).await?;
    assert!(said.starts_with("There is nothing to retry"), "{said}");
    end(world, &llm, 3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_conversation_is_summarized() -> anyhow::Result<()> {
    let turns = [Turn::say("first"), Turn::say("They spoke of cats."), Turn::say("second")];
    let config = "[turns]\nhistory_tokens = 300\n";
    let (world, llm) = agent_in(|home| home.config(config), turns).await?;
    world.ask(text(&"cats ".repeat(240))).await?;
    assert_eq!(world.ask(text("go on")).await?, "second");
    let requests = llm.requests();
    assert!(requests[1].body["tools"].is_null(), "a summary calls no tool");
    let last = requests[2].text();
    assert!(last.contains("They spoke of cats.") && !last.contains("cats cats"), "{last}");
    end(world, &llm, 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_that_was_added_before_a_failure_comes_with_the_retry() -> anyhow::Result<()> {
    let add = Call::new("attachment_add", json!({ "path": "/shared/a.txt" }));
    let turns = [Turn::calls([write("/shared/a.txt", "here"), add]), Turn::status(401)];
    let (mut world, llm) = agent(turns).await?;
    let failed = world.ask(text("send it")).await?;
    // Blobs that nobody needs go with the next delivery, and with the start.
    world.ask(Incoming::private(BEN).text("/help")).await?;
    world.stop()?;
    world.start()?;
    llm.script([Turn::say("Here it is.")]);
    world.server.push(text("/retry"));
    let sent = world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    assert_eq!((sent.text.as_str(), sent.chat_id), ("Here it is.", ANN), "after: {failed}");
    assert_eq!(outcomes(&world, "attachment_add"), [None], "it was not added again");
    end(world, &llm, 3)
}
