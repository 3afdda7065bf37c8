//! Application commands: registered from the tools' schemas, acknowledged in time, answered in
//! their own message.

use super::world::{ANN, PATIENCE, TOWN, World, read, result};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::time::Duration;
use support::discord::{Command, Fault, Hold, Incoming, Interaction, Media, SentMessage, Target};
use support::workers::until;

/// Makes a command and waits for the text that its message has in the end.
async fn answered(world: &World, command: Command) -> anyhow::Result<(Interaction, SentMessage)> {
    let made = world.server.invoke(command);
    answer_to(world, made).await
}

async fn answer_to(world: &World, made: Interaction) -> anyhow::Result<(Interaction, SentMessage)> {
    let mine = |sent: &SentMessage| {
        sent.interaction == Some(made.id) && !sent.is_loading() && !sent.content.starts_with('⏳')
    };
    let sent = world.server.wait_for_message(PATIENCE, mine).await;
    let sent = sent.map_err(|error| anyhow::anyhow!("{error}\n{}", world.tail()))?;
    let made = world.server.interaction(made.id).expect("it was made");
    Ok((made, sent))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn they_are_set_once_and_only_where_they_differ() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    world.server.wait_for_request(PATIENCE, "put_commands").await?;
    world.server.wait_until_idle(PATIENCE, "put_commands").await?;
    let commands = world.server.commands();
    let named = |name: &str| commands.iter().find(|command| command["name"] == name).cloned();
    let save = named("attachment_save").expect("registered");
    let options: Vec<_> = save["options"].as_array().expect("options").iter().collect();
    let of = |name: &str| options.iter().find(|option| option["name"] == name).map(|o| o["type"].clone());
    assert_eq!((of("index"), of("path"), of("overwrite")), (Some(json!(4)), Some(json!(3)), Some(json!(5))));
    assert_eq!(of("file"), Some(json!(11)));
    assert!(named("help").is_some() && named("attachment_download").is_some());
    let read = named("file_read").expect("registered");
    assert!(!read["options"].to_string().contains("\"type\":11"), "it uses no files: {read}");
    world.stop()?;
    world.start().await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.server.wait_for_requests(PATIENCE, "get_commands", 2).await?;
    world.server.wait_until_idle(PATIENCE, "get_commands").await?;
    assert_eq!(world.server.requests("put_commands").len(), 1, "they are as they should be");
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_is_deferred_run_and_answered_in_its_message() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    let command = Command::new("attachment_save").by(ANN).channel(TOWN).option("index", 0);
    let command = command.option("path", "/shared/c.txt").file("file", Media::new("c.txt", "by command"));
    let (made, sent) = answered(&world, command).await?;
    assert_eq!((made.acknowledged, made.original), (Some(5), Some(sent.message_id)));
    assert!(made.acknowledged_after_ms < Some(3000), "{made:?}");
    assert_eq!(result(&sent.content)["saved"], true);
    assert_eq!(world.saved("/shared/c.txt"), b"by command");
    assert!(!sent.is_ephemeral());
    let (_, help) = answered(&world, Command::new("help").by(ANN)).await?;
    assert!(read(&help.content).contains("file_read"));
    let (_, gone) = answered(&world, Command::new("no_such_tool").by(ANN).option("a", 1)).await?;
    assert!(read(&gone.content).starts_with("unknown_tool"), "{}", gone.content);
    let count = world.server.sent_messages().len();
    world.end(count)
}

/// A command's token is good for a quarter of an hour, by Discord's clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_is_answered_in_its_message_though_the_machines_clock_is_ahead() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.server.set_back(Duration::from_secs(60 * 60));
    world.start().await?;
    let (made, sent) = answered(&world, Command::new("help").by(ANN)).await?;
    assert_eq!((made.acknowledged, made.original), (Some(5), Some(sent.message_id)));
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_answer_goes_on_in_messages_of_the_channel() -> anyhow::Result<()> {
    let world = World::running().await?;
    std::fs::create_dir_all(world.home.host("/shared"))?;
    std::fs::write(world.home.host("/shared/l"), "word ".repeat(700))?;
    let (_, first) = answered(&world, Command::new("file_read").by(ANN).option("path", "/shared/l")).await?;
    let rest = |sent: &SentMessage| sent.channel_id == first.channel_id && sent.interaction.is_none();
    let rest = world.server.wait_for_message(PATIENCE, rest).await?;
    assert!(rest.enforce_nonce && rest.content.contains("word"));
    world.server.wait_for_messages(PATIENCE, 2).await?;
    let count = world.server.sent_messages().len();
    world.end(count)
}

/// Who was told of a failure is not surprised by a file.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_whose_acknowledgement_came_too_late_is_not_run() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let late = Fault::discord_error(404, 10062, "Unknown interaction");
    world.server.fault("create_response", 1, late);
    let write = Command::new("file_write").by(ANN).option("path", "/shared/late").option("content", "x");
    world.server.invoke(write);
    world.logs("a command is not run").await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    assert!(!world.home.host("/shared/late").exists());
    // It was acknowledged by a run that was killed.
    world.server.fault("create_response", 1, Fault::server_error(502));
    let (made, _) = answered(&world, Command::new("file_list").by(ANN).option("path", "/shared")).await?;
    assert_eq!(made.acknowledged, Some(5));
    world.stop()?;
    let count = world.server.sent_messages().len();
    world.end(count)
}

/// As long as nobody answers it, Discord shows that the bot thinks.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_that_stops_something_is_answered_as_well() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let save = Command::new("attachment_save").by(ANN).option("index", 0).option("path", "/shared/c.txt");
    let stopped = world.server.invoke(save.file("file", Media::new("c.txt", "never")));
    gate.reached().await?;
    let acknowledging = world.server.gate("create_response", Hold::BeforeEffect);
    let stopping = world.server.invoke(Command::new("cancel").by(ANN));
    acknowledging.reached().await?;
    let mine =
        |sent: &SentMessage| sent.interaction == Some(stopped.id) && sent.content.starts_with("Cancelled");
    world.server.wait_for_message(PATIENCE, mine).await?;
    acknowledging.release();
    let (_, said) = answer_to(&world, stopping).await?;
    assert!(said.content.starts_with("Stopped: "), "{}", said.content);
    gate.discard();
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_that_waits_for_its_acknowledgement_is_sent_by_the_next_start() -> anyhow::Result<()> {
    let mut world = World::running().await?;
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let save = Command::new("attachment_save").by(ANN).option("index", 0).option("path", "/shared/c.txt");
    world.server.invoke(save.file("file", Media::new("c.txt", "never")));
    gate.reached().await?;
    let acknowledging = world.server.gate("create_response", Hold::BeforeEffect);
    world.server.invoke(Command::new("cancel").by(ANN));
    acknowledging.reached().await?;
    // What it stopped is known from then on; a stop before that would have it read again.
    until("both have a turn", || bound_turns(&world).is_ok_and(|bound| bound == 2));
    world.stop()?;
    acknowledging.discard();
    gate.discard();
    world.start().await?;
    let said = |sent: &SentMessage| sent.content.starts_with("Stopped: ");
    world.server.wait_for_message(PATIENCE, said).await?;
    world.end(2)
}

fn bound_turns(world: &World) -> rusqlite::Result<i64> {
    let database = world.home.state().join("cofferdam.db");
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.query_row("SELECT count(*) FROM inbox WHERE turn IS NOT NULL", [], |row| row.get(0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn when_the_token_is_over_the_answer_is_a_message() -> anyhow::Result<()> {
    let world = World::running().await?;
    let over = Fault::discord_error(401, 50027, "Invalid Webhook Token");
    world.server.fault("edit_response", 9, over);
    let made = world.server.invoke(Command::new("help").by(ANN));
    let channel = made.channel_id;
    let plain = |sent: &SentMessage| sent.interaction.is_none() && sent.channel_id == channel;
    let sent = world.server.wait_for_message(PATIENCE, plain).await?;
    assert!(read(&sent.content).contains("file_read"));
    // The bot's own token is as good as before.
    world.ask(Incoming::private(ANN).text("/help")).await?;
    let _ = (Value::Null, Duration::ZERO);
    let count = world.server.sent_messages().len();
    world.end(count)
}

/// Registering that fails costs nothing but the commands; one that was acknowledged already is run.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_registration_that_fails_stops_nothing() -> anyhow::Result<()> {
    for (route, fault) in [
        ("get_commands", Fault::server_error(500)),
        ("put_commands", Fault::discord_error(400, 50035, "Invalid Form Body")),
        ("get_current_application", Fault::discord_error(403, 0, "Forbidden")),
    ] {
        let mut world = World::stopped_with("").await?;
        world.server.fault(route, usize::MAX, fault);
        world.start().await?;
        world.logs("the application commands are not set").await?;
        world.ask(Incoming::private(ANN).text("/help")).await?;
        world.server.clear_faults();
        let twice =
            Fault::discord_error(400, 40060, "Interaction has already been acknowledged.").after_effect();
        world.server.fault("create_response", 1, twice);
        let (_, help) = answered(&world, Command::new("help").by(ANN)).await?;
        assert!(read(&help.content).contains("file_read"));
        world.end(2)?;
    }
    Ok(())
}

/// However long it waits for its turn, Discord is told in time that an answer comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_that_waits_for_its_turn_is_acknowledged_at_once() -> anyhow::Result<()> {
    let world = World::running().await?;
    let gate = world.server.gate(Target::download(), Hold::BeforeEffect);
    let slow = world.server.push(Incoming::private(ANN).text("/help").attachment(Media::new("a", "x")));
    gate.reached().await?;
    let made: Vec<_> = (0..5).map(|_| world.server.invoke(Command::new("help").by(ANN))).collect();
    for one in &made {
        let done = |one: &Interaction| one.acknowledged.is_some();
        let done = world.server.wait_for_interaction(PATIENCE, one.id, done).await?;
        assert!(done.acknowledged == Some(5) && done.acknowledged_after_ms < Some(3000), "{done:?}");
    }
    assert!(world.server.requests("edit_response").is_empty(), "they wait");
    gate.release();
    world.answer(&slow).await?;
    for one in &made {
        let answers = |sent: &SentMessage| sent.interaction == Some(one.id) && !sent.is_loading();
        world.server.wait_for_message(PATIENCE, answers).await?;
    }
    world.end(6)
}
