//! Two of the files of `docs/examples`, as they are but for the people: over Telegram, in a gateway
//! that serves them.

use super::{ANN, BEN, PATIENCE, World};
use support::telegram::{Incoming, SentMessage};

const ASK: &str = include_str!("../../../../docs/examples/ask-colleague.yaml");
const PUBLISH: &str = include_str!("../../../../docs/examples/publish.yaml");

fn between(text: &str) -> String {
    let (ann, ben) = (format!("\"telegram:{ANN}\""), format!("\"telegram:{BEN}\""));
    text.replace("\"telegram:1001\"", &ann).replace("\"telegram:1002\"", &ben)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_colleague_is_asked_and_answers_in_the_thread_of_the_question() -> anyhow::Result<()> {
    let world = World::running(&[&between(ASK)]).await?;
    let asked = world.ask("/ask question=\"When do we sail?\"");
    let question = world.said_to(BEN, &format!("{ANN} asks: When do we sail?")).await?;
    world.stands("waiting").await?;
    world.reply(BEN, &question, "At noon.");
    world.answer(&asked, "They say: At noon.").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_draft_is_published_once_a_person_has_agreed() -> anyhow::Result<()> {
    let world = World::running(&[&between(PUBLISH)]).await?;
    let draft = world.home.host("/shared/draft.txt");
    std::fs::create_dir_all(draft.parent().expect("a folder"))?;
    std::fs::write(&draft, b"ready")?;
    let asked = world.ask("/publish path=/shared/draft.txt");
    let is_question = |sent: &SentMessage| sent.message["reply_markup"].is_object();
    let question = world.server.wait_for_message(PATIENCE, is_question).await?;
    assert_eq!((question.chat_id, question.text.as_str()), (ANN, "Publish /shared/draft.txt?"));
    let public = world.home.host("/shared/public/latest.txt");
    assert!(!public.exists());
    let yes = &question.message["reply_markup"]["inline_keyboard"][0][0]["callback_data"];
    world.server.push(Incoming::callback(ANN, &question.message, yes.as_str().expect("a button")));
    world.answer(&asked, &format!("published by telegram:{ANN}")).await?;
    assert_eq!(std::fs::read(public)?, b"ready");
    Ok(())
}
