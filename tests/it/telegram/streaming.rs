//! A model's answer while it is written: one message that grows, and that the answer takes the
//! place of; whatever comes between, one answer and nothing left standing.

use super::world::{ANN, PATIENCE, World};
use serde_json::json;
use std::time::Duration;
use support::llm::{Call, Dialect, Gate, LlmServer, Turn};
use support::telegram::{Fault, Incoming, Pushed, SentMessage};

async fn agent(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<(World, LlmServer)> {
    let llm = LlmServer::start().await?;
    llm.script(turns);
    let world = World::running_in(|home| home.model(&llm, Dialect::Chat, "")).await?;
    Ok((world, llm))
}

fn ask(world: &World) -> Pushed {
    world.server.push(Incoming::private(ANN).text("go on"))
}

/// The message, once these are the last words of what it shows of an unfinished answer.
async fn written(world: &World, words: &str) -> anyhow::Result<SentMessage> {
    let words = format!("{words} …");
    world.server.wait_for_message(PATIENCE, |sent| sent.text.ends_with(&words)).await
}

/// The answer, and the only message that stands in the chat.
async fn answered(world: &World, text: &str) -> anyhow::Result<SentMessage> {
    let answer = world.server.wait_for_message(PATIENCE, |sent| sent.text == text).await?;
    let standing: Vec<_> = world.server.sent_messages().into_iter().filter(|sent| !sent.deleted).collect();
    assert_eq!(standing.len(), 1, "{standing:#?}");
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_is_shown_as_it_is_written_and_becomes_the_answer() -> anyhow::Result<()> {
    let (first, second) = (Gate::new(), Gate::new());
    let said = "**Bold** & more\n```py\nimport os";
    let turn = Turn::say(said).in_pieces(31).pauses_after(12, &first).pauses_after(29, &second);
    let (world, _llm) = agent([turn]).await?;
    let question = ask(&world);
    let shown = written(&world, "Bold &").await?;
    assert_eq!((shown.reply_to, shown.parse_mode.as_deref()), (Some(question.message_id), Some("HTML")));
    first.open();
    let later = written(&world, "import").await?;
    let styles = later.message["entities"].to_string();
    assert!(styles.contains(r#""type":"bold""#) && styles.contains(r#""language":"py""#), "{styles}");
    second.open();
    let answer = answered(&world, "Bold & more\n\nimport os").await?;
    assert_eq!((answer.message_id, answer.reply_to), (shown.message_id, Some(question.message_id)));
    assert_eq!(answer.earlier_texts.len(), 2, "{answer:?}");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn only_the_newest_text_counts_and_edits_do_not_queue() -> anyhow::Result<()> {
    let gates: Vec<Gate> = (0..3).map(|_| Gate::new()).collect();
    let said: Vec<String> = (0..400).map(|n| format!("word{n}")).collect();
    let mut turn = Turn::say(&said.join(" ")).in_pieces(400);
    for (n, gate) in gates.iter().enumerate() {
        turn = turn.pauses_after(100 * (n + 1), gate);
    }
    let (world, _llm) = agent([turn]).await?;
    ask(&world);
    for (n, gate) in gates.iter().enumerate() {
        world
            .server
            .wait_for_message(PATIENCE, |sent| sent.earlier_texts.len() == n && sent.text.ends_with(" …"))
            .await?;
        gate.open();
    }
    let answer = world.server.wait_for_message(PATIENCE, |sent| sent.text.ends_with("word399")).await?;
    assert!(answer.earlier_texts.len() <= 5, "an edit a second at most: {}", answer.earlier_texts.len());
    let edits = world.server.requests("editMessageText");
    for pair in edits[..edits.len() - 1].windows(2) {
        assert!(pair[1].at - pair[0].at >= Duration::from_millis(900), "{pair:?}");
    }
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_that_comes_at_once_is_one_message_and_no_edit() -> anyhow::Result<()> {
    let (world, _llm) = agent([Turn::say("Quick as that.").in_pieces(10)]).await?;
    assert_eq!(world.ask(Incoming::private(ANN).text("go on")).await?, "Quick as that.");
    assert!(world.server.requests("editMessageText").is_empty());
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_in_the_middle_leaves_one_message() -> anyhow::Result<()> {
    let (more, never) = (Gate::new(), Gate::new());
    let turn = Turn::say("half of it").in_pieces(10).pauses_after(5, &more).pauses_after(8, &never);
    let (mut world, llm) = agent([turn]).await?;
    ask(&world);
    let shown = written(&world, "half").await?;
    more.open();
    // Written down by the time that it is edited.
    written(&world, "half of").await?;
    world.kill();
    llm.script([Turn::say("All of it.")]);
    world.start()?;
    assert_eq!(answered(&world, "All of it.").await?.message_id, shown.message_id);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_that_breaks_off_is_replaced_by_an_honest_word() -> anyhow::Result<()> {
    let gate = Gate::new();
    let turn = Turn::say("half of it").in_pieces(2).pauses_after(2, &gate).breaks_after(2);
    let (world, _llm) = agent([turn]).await?;
    ask(&world);
    let shown = written(&world, "half").await?;
    gate.open();
    let told = world.server.wait_for_message(PATIENCE, |sent| !sent.text.ends_with('…')).await?;
    assert_eq!((told.message_id, told.text.contains("half")), (shown.message_id, false), "{told:?}");
    world.end(1)
}

/// A message that may have to go carries no files.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_follow_the_message_that_grew() -> anyhow::Result<()> {
    let gate = Gate::new();
    let add = Call::new("attachment_add", json!({ "path": "/shared/a.txt" }));
    let said = Turn::say("here it is").in_pieces(2).pauses_after(2, &gate);
    let (world, _llm) = agent([Turn::calls([add]), said]).await?;
    std::fs::create_dir_all(world.home.host("/shared"))?;
    std::fs::write(world.home.host("/shared/a.txt"), "x")?;
    ask(&world);
    let shown = written(&world, "here").await?;
    gate.open();
    let file = world.server.wait_for_message(PATIENCE, |sent| sent.file.is_some()).await?;
    let text = world.server.sent_messages().remove(0);
    assert_eq!((text.message_id, text.text.as_str()), (shown.message_id, "here it is"));
    assert_eq!((file.reply_to, file.text.as_str()), (Some(text.message_id), ""));
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_fault_while_it_grows_costs_the_answer() -> anyhow::Result<()> {
    let unparsed = Fault::api_error(400, "Bad Request: can't parse entities: no");
    for (method, fault, messages) in [
        ("sendMessage", unparsed, 1),
        ("sendMessage", Fault::internal_error(), 1),
        ("editMessageText", Fault::too_many_requests(1), 1),
        // Of this one nobody knows whether it will still arrive, so the message goes.
        ("editMessageText", Fault::close().after_effect(), 2),
    ] {
        let (first, second) = (Gate::new(), Gate::new());
        let turn =
            Turn::say("**one** two three").in_pieces(17).pauses_after(9, &first).pauses_after(12, &second);
        let (world, _llm) = agent([turn]).await?;
        world.server.fault(method, 1, fault);
        ask(&world);
        world.server.wait_for_request(PATIENCE, "sendMessage").await?;
        world.server.wait_until_idle(PATIENCE, "sendMessage").await?;
        first.open();
        if method == "editMessageText" {
            world.server.wait_for_request(PATIENCE, method).await?;
            world.server.wait_until_idle(PATIENCE, method).await?;
        }
        second.open();
        answered(&world, "one two three").await?;
        world.end(messages)?;
    }
    Ok(())
}
