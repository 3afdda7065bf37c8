//! While a turn takes long: typing until the reply, one message that stands for it and that the
//! reply takes the place of, below a message and below a command; whatever happens to it, one reply
//! and nothing left standing.

use super::world::{ANN, PATIENCE, TOWN, World, read};
use serde_json::json;
use std::time::Duration;
use support::discord::{Command, Fault, Hold, Incoming, Media, Pushed, Scope, SentMessage, Target};
use support::home::Home;
use support::llm::{Call, Dialect, Gate, LlmServer, Turn};

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
    std::fs::create_dir_all(world.home.host("/shared"))?;
    Ok(std::fs::write(world.home.host("/shared/go"), "")?)
}

/// The message that stands for the answer.
async fn shown(world: &World) -> anyhow::Result<SentMessage> {
    let found = world.server.wait_for_message(PATIENCE, |sent| sent.content.starts_with("⏳ step ")).await;
    found.map_err(|error| anyhow::anyhow!("{error}\n{}", world.tail()))
}

/// The answer, and the only message that stands there.
async fn answered(world: &World, text: &str) -> anyhow::Result<SentMessage> {
    let found = world.server.wait_for_message(PATIENCE, |sent| read(&sent.content) == text).await;
    let answer = found.map_err(|error| anyhow::anyhow!("{error}\n{}", world.tail()))?;
    let standing: Vec<_> = world.server.sent_messages().into_iter().filter(|sent| !sent.deleted).collect();
    assert_eq!(standing.len(), 1, "{standing:#?}");
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn typing_is_shown_in_time_and_again_and_ends_with_the_reply() -> anyhow::Result<()> {
    // Discord shows it for ten seconds.
    const SHOWN: Duration = Duration::from_secs(10);
    let world = World::running().await?;
    world.server.open_thread(TOWN, TOWN + 1);
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let asked = Incoming::guild(TOWN + 1, ANN).mention_bot().text("/help");
    let asked = world.server.push(asked.attachment(Media::new("d", "x")));
    let held = gate.reached().await?;
    let typing = Target::method("typing").with("channel_id", TOWN + 1);
    let shown = world.server.wait_for_requests(PATIENCE, typing.clone(), 3).await?;
    assert!(shown[0].at.saturating_duration_since(held.at) < Duration::from_secs(5), "at once");
    for pair in shown.windows(2) {
        let pause = pair[1].at - pair[0].at;
        assert!(pause > Duration::from_secs(3) && pause < SHOWN, "{pause:?}");
    }
    gate.release();
    world.answer(&asked).await?;
    world.server.wait_until_idle(PATIENCE, "typing").await?;
    // Another is answered without it, and it does not come back.
    world.ask(Incoming::private(ANN).text("/help")).await?;
    let last = world.server.requests(typing).pop().expect("shown");
    let sent = world.server.requests("create_message").remove(0);
    assert!(last.at < sent.at, "typing behind the reply");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reply_does_not_wait_for_typing() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.fault("typing", 1, Fault::stall());
    world.server.fault("typing", 1, Fault::server_error(503));
    let started = std::time::Instant::now();
    world.ask(Incoming::private(ANN).text("/help")).await?;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_message_tells_what_a_long_call_does_and_becomes_the_reply() -> anyhow::Result<()> {
    let world = World::running_in(slow, "").await?;
    let question = begin(&world);
    let first = shown(&world).await?;
    assert_eq!((first.reply_to, first.files.len()), (Some(question.message_id), 0));
    world.server.wait_for_requests(PATIENCE, "edit_message", 2).await?;
    let_go(&world)?;
    let answer = answered(&world, ANSWER).await?;
    assert_eq!((answer.message_id, answer.reply_to), (first.message_id, Some(question.message_id)));
    assert!(answer.earlier_contents.iter().all(|text| text.starts_with("⏳ step ")), "{answer:?}");
    world.end(1)
}

/// What a turn would show may be left out: its answer does not wait for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_long_call_does_is_left_out_where_discord_takes_no_message() -> anyhow::Result<()> {
    let world = World::running_in(slow, "").await?;
    world.server.fault("create_message", 1, Fault::rate_limited(Duration::from_secs(10), Scope::User));
    begin(&world);
    world.logs("a turn is not shown for now").await?;
    let_go(&world)?;
    answered(&world, ANSWER).await?;
    let refused = world.server.journal().iter().filter(|one| one.status == Some(429)).count();
    assert_eq!(refused, 1, "only the one that told of it");
    world.end(1)
}

/// Nothing newer comes while a file is fetched.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_left_out_is_shown_once_discord_takes_messages_again() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.fault("create_message", 1, Fault::rate_limited(Duration::from_secs(1), Scope::User));
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let asked = Incoming::private(ANN).text("/help");
    let asked = world.server.push(asked.attachment(Media::new("a", "x")).attachment(Media::new("b", "y")));
    gate.reached().await?;
    world.logs("a turn is not shown for now").await?;
    world.server.wait_for_message(PATIENCE, |sent| sent.content.starts_with("⏳ fetching ")).await?;
    gate.release();
    world.answer(&asked).await?;
    world.end(1)
}

/// The message that Discord shows below a command is the one that is edited.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn below_a_command_its_own_message_tells_it_and_becomes_the_reply() -> anyhow::Result<()> {
    let world = World::running_in(slow, "").await?;
    let command = Command::new("hostile").by(ANN).option("behaviour", "report_until:step");
    let made = world.server.invoke(command.option("path", "/shared/go"));
    let first = shown(&world).await?;
    assert_eq!(first.interaction, Some(made.id));
    let_go(&world)?;
    let answer = answered(&world, ANSWER).await?;
    assert_eq!((answer.message_id, answer.interaction), (first.message_id, Some(made.id)));
    assert!(world.server.requests("create_message").is_empty());
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_kill_around_the_last_edit_leaves_one_reply() -> anyhow::Result<()> {
    for hold in [Hold::BeforeEffect, Hold::BeforeAnswer] {
        let mut world = World::running_in(slow, "").await?;
        begin(&world);
        let first = shown(&world).await?;
        let last = world.server.gate(Target::method("edit_message").with("content", ANSWER_WRITTEN), hold);
        let_go(&world)?;
        world.kill_at(last).await?;
        world.start().await?;
        assert_eq!(answered(&world, ANSWER).await?.message_id, first.message_id);
        world.ask(Incoming::private(ANN).text("/help")).await?;
        world.end(2)?;
    }
    Ok(())
}

/// [`ANSWER`] as it goes out.
const ANSWER_WRITTEN: &str = r#"{"let\_go":true}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_that_somebody_deletes_is_followed_by_a_reply_of_its_own() -> anyhow::Result<()> {
    let world = World::running_in(slow, "").await?;
    let question = begin(&world);
    let first = shown(&world).await?;
    world.server.delete(first.channel_id, first.message_id)?;
    let_go(&world)?;
    let answer = answered(&world, ANSWER).await?;
    assert!(answer.message_id != first.message_id && answer.reply_to == Some(question.message_id));
    world.end(1)
}

async fn agent(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<(World, LlmServer)> {
    let llm = LlmServer::start().await?;
    llm.script(turns);
    Ok((World::running_in(|home| home.model(&llm, Dialect::Chat, ""), "").await?, llm))
}

/// A message that may have to go carries no files: they follow it, and answer it.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_model_writes_grows_and_files_follow_it() -> anyhow::Result<()> {
    let gate = Gate::new();
    let add = Call::new("attachment_add", json!({ "path": "/shared/a.txt" }));
    let said = Turn::say("here it is").in_pieces(2).pauses_after(2, &gate);
    let (world, _llm) = agent([Turn::calls([add]), said]).await?;
    std::fs::create_dir_all(world.home.host("/shared"))?;
    std::fs::write(world.home.host("/shared/a.txt"), "x")?;
    let asked = world.server.push(Incoming::private(ANN).text("go on"));
    let grows = |sent: &SentMessage| sent.content.starts_with("here") && sent.content.ends_with(" …");
    let shown = world.server.wait_for_message(PATIENCE, grows).await?;
    assert_eq!((shown.reply_to, shown.files.len()), (Some(asked.message_id), 0));
    gate.open();
    let file = world.server.wait_for_message(PATIENCE, |sent| !sent.files.is_empty()).await?;
    let text = world.server.sent_messages().remove(0);
    assert_eq!((text.message_id, text.content.as_str()), (shown.message_id, "here it is"));
    assert_eq!((file.reply_to, file.content.as_str()), (Some(text.message_id), ""));
    world.end(2)
}

/// Of an edit that broke off nobody knows whether it will still arrive, so its message goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_fault_while_it_grows_costs_the_reply() -> anyhow::Result<()> {
    for (route, fault) in [
        ("create_message", Fault::server_error(500)),
        ("create_message", Fault::discord_error(403, 50013, "Missing Permissions")),
        ("edit_message", Fault::rate_limited(Duration::from_secs(1), Scope::User)),
        ("edit_message", Fault::close().after_effect()),
    ] {
        let (first, second) = (Gate::new(), Gate::new());
        let turn =
            Turn::say("**one** two three").in_pieces(17).pauses_after(9, &first).pauses_after(12, &second);
        let (world, _llm) = agent([turn]).await?;
        world.server.fault(route, 1, fault);
        world.server.push(Incoming::private(ANN).text("go on"));
        world.server.wait_for_request(PATIENCE, "create_message").await?;
        world.server.wait_until_idle(PATIENCE, "create_message").await?;
        first.open();
        if route == "edit_message" {
            world.server.wait_for_request(PATIENCE, route).await?;
            world.server.wait_until_idle(PATIENCE, route).await?;
        }
        second.open();
        answered(&world, "**one** two three").await?;
        world.end(1)?;
    }
    Ok(())
}
