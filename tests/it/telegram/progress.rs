//! A long call as the person sees it: one message that says what it does, and that the answer takes
//! the place of; whatever happens to that message, one answer and nothing left standing.

use super::world::{ANN, PATIENCE, World};
use std::time::Duration;
use support::home::Home;
use support::telegram::{Fault, Hold, Incoming, Pushed, SentMessage, Target};

/// What the tool ends with when it is let go.
const ANSWER: &str = r#"{"let_go":true}"#;

fn slow(home: Home) -> Home {
    home.hostile("memory = \"16 MiB\"\ndeadline = \"120s\"")
}

/// Asks for a call that reports until [`let_go`].
fn begin(world: &World) -> Pushed {
    let command = "/hostile behaviour=report_until:step path=/shared/go";
    world.server.push(Incoming::private(ANN).text(command))
}

fn let_go(world: &World) -> anyhow::Result<()> {
    Ok(std::fs::write(world.home.host("/shared/go"), "")?)
}

/// The message that stands for the answer.
async fn shown(world: &World) -> anyhow::Result<SentMessage> {
    world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("⏳ step ")).await
}

/// The answer, and the only message that stands in the chat.
async fn answered(world: &World) -> anyhow::Result<SentMessage> {
    let answer = world.server.wait_for_message(PATIENCE, |sent| sent.text == ANSWER).await?;
    let standing: Vec<_> = world.server.sent_messages().into_iter().filter(|sent| !sent.deleted).collect();
    assert_eq!(standing.len(), 1, "{standing:#?}");
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_message_tells_what_a_long_call_does_and_becomes_the_answer() -> anyhow::Result<()> {
    let world = World::running_in(slow).await?;
    let question = begin(&world);
    let first = shown(&world).await?;
    assert_eq!((first.chat_id, first.reply_to), (ANN, Some(question.message_id)));
    let edits = world.server.wait_for_requests(PATIENCE, "editMessageText", 2).await?;
    assert!(
        edits[1].at - edits[0].at > Duration::from_secs(2),
        "a person reads at leisure, and so does Telegram"
    );
    let_go(&world)?;
    let answer = answered(&world).await?;
    assert_eq!((answer.message_id, answer.reply_to), (first.message_id, Some(question.message_id)));
    assert!(answer.earlier_texts.len() >= 3, "{answer:?}");
    assert!(answer.earlier_texts.iter().all(|text| text.starts_with("⏳ step ")), "{answer:?}");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_short_call_is_not_worth_a_message() -> anyhow::Result<()> {
    let world = World::running_in(slow).await?;
    std::fs::create_dir_all(world.home.host("/shared"))?;
    let_go(&world)?;
    begin(&world);
    answered(&world).await?;
    assert!(world.server.requests("editMessageText").is_empty());
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_tool_says_stays_one_short_line() -> anyhow::Result<()> {
    let world = World::running_in(slow).await?;
    let said = format!("step \\n\\u202e{}", "x".repeat(5000));
    let command = format!(r#"/hostile {{"behaviour":"report_until:{said}","path":"/shared/go"}}"#);
    world.server.push(Incoming::private(ANN).text(&command[..command.len().min(4000)]));
    // Cut above: the JSON is then broken and refused at once, which shows that it was no report.
    let refused = world.texts(1).await?.remove(0);
    assert!(refused.starts_with("invalid_arguments: "), "{refused}");
    let said = format!("step \\n\\u202e{}", "x".repeat(3000));
    let command = format!(r#"/hostile {{"behaviour":"report_until:{said}","path":"/shared/go"}}"#);
    world.server.push(Incoming::private(ANN).text(&command));
    let shown = shown(&world).await?;
    assert!(shown.text.len() <= 220 && !shown.text.contains(['\n', '\u{202e}']), "{shown:?}");
    let_go(&world)?;
    world.server.wait_for_message(PATIENCE, |sent| sent.text == ANSWER).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_while_it_stands_leaves_one_message() -> anyhow::Result<()> {
    let mut world = World::running_in(slow).await?;
    begin(&world);
    let first = shown(&world).await?;
    // Written down by the time that it is edited.
    world.server.wait_for_request(PATIENCE, "editMessageText").await?;
    world.kill();
    let seen = world.server.requests("editMessageText").len();
    world.start()?;
    world.server.wait_for_requests(PATIENCE, "editMessageText", seen + 1).await?;
    let_go(&world)?;
    assert_eq!(answered(&world).await?.message_id, first.message_id, "the same message, after the kill");
    assert_eq!(world.server.requests("sendMessage").len(), 1);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_around_the_last_edit_leaves_one_answer() -> anyhow::Result<()> {
    for hold in [Hold::BeforeEffect, Hold::BeforeAnswer] {
        let mut world = World::running_in(slow).await?;
        begin(&world);
        let first = shown(&world).await?;
        let last = world.server.gate(Target::method("editMessageText").with("text", ANSWER), hold);
        let_go(&world)?;
        world.kill_at(last).await?;
        world.start()?;
        assert_eq!(answered(&world).await?.message_id, first.message_id);
        world.ask(Incoming::private(ANN).text("hello")).await?;
        world.end(2)?;
    }
    Ok(())
}

/// The window that cannot be closed: whether it was sent, nobody knows. Then there is no second
/// one.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_while_it_is_sent_never_sends_another() -> anyhow::Result<()> {
    for (hold, messages) in [(Hold::BeforeEffect, 1), (Hold::BeforeAnswer, 2)] {
        let mut world = World::running_in(slow).await?;
        let sending = world.server.gate("sendMessage", hold);
        begin(&world);
        world.kill_at(sending).await?;
        world.start()?;
        // It would come after two seconds; typing comes every four.
        let typing = world.server.requests("sendChatAction").len();
        world.server.wait_for_requests(PATIENCE, "sendChatAction", typing + 2).await?;
        assert_eq!(world.server.requests("sendMessage").len(), 1);
        let_go(&world)?;
        world.server.wait_for_message(PATIENCE, |sent| sent.text == ANSWER).await?;
        world.end(messages)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_comes_anew_where_the_message_was_deleted() -> anyhow::Result<()> {
    let world = World::running_in(slow).await?;
    let question = begin(&world);
    let first = shown(&world).await?;
    world.server.delete_message(ANN, first.message_id);
    let_go(&world)?;
    let answer = answered(&world).await?;
    assert_eq!(answer.reply_to, Some(question.message_id));
    assert_ne!(answer.message_id, first.message_id);
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_fault_of_the_message_costs_the_answer() -> anyhow::Result<()> {
    // Not sent: nothing stands there. Flood limits are kept.
    for fault in
        [Fault::too_many_requests(1), Fault::internal_error(), Fault::api_error(400, "Bad Request: no")]
    {
        let world = World::running_in(slow).await?;
        world.server.fault("sendMessage", 1, fault);
        begin(&world);
        world.server.wait_for_request(PATIENCE, "sendMessage").await?;
        world.server.wait_until_idle(PATIENCE, "sendMessage").await?;
        let_go(&world)?;
        answered(&world).await?;
        world.end(1)?;
    }
    // An edit of which nobody knows: the message goes, so that no late edit takes the answer's
    // place.
    let world = World::running_in(slow).await?;
    world.server.fault("editMessageText", 1, Fault::close().after_effect());
    begin(&world);
    let first = shown(&world).await?;
    world.server.wait_for_request(PATIENCE, "editMessageText").await?;
    world.server.wait_until_idle(PATIENCE, "editMessageText").await?;
    let_go(&world)?;
    assert_ne!(answered(&world).await?.message_id, first.message_id);
    assert!(world.server.sent_messages()[0].deleted);
    world.end(2)?;
    // One that Telegram wants later is just late.
    let world = World::running_in(slow).await?;
    world.server.fault("editMessageText", 1, Fault::too_many_requests(4));
    begin(&world);
    let first = shown(&world).await?;
    let edits = world.server.wait_for_requests(PATIENCE, "editMessageText", 2).await?;
    assert!(edits[1].at - edits[0].at >= Duration::from_secs(4), "{edits:?}");
    let_go(&world)?;
    assert_eq!(answered(&world).await?.message_id, first.message_id);
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_leaves_it_for_the_next_start() -> anyhow::Result<()> {
    let mut world = World::running_in(slow).await?;
    begin(&world);
    let first = shown(&world).await?;
    assert!(world.stop()? < Duration::from_secs(10));
    let_go(&world)?;
    world.start()?;
    assert_eq!(answered(&world).await?.message_id, first.message_id);
    world.end(1)
}
