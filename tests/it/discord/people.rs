//! Strangers, codes, and those who are let in while the bot runs.

use super::world::{ANN, EVE, PATIENCE, World, read};
use support::discord::{Command, Incoming};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stranger_is_told_an_id_and_a_code_and_let_in_by_it() -> anyhow::Result<()> {
    let world = World::running().await?;
    let first = world.server.push(Incoming::private(EVE).text("hello"));
    let told = read(&world.answer(&first).await?.content);
    assert!(told.contains(&EVE.to_string()), "{told}");
    let code = told.split("cofferdam allow ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let code = code.expect("a code").to_owned();
    world.server.push(Incoming::private(EVE).text("hello?"));
    // Events are taken in their order: when this is answered, that was heard while she was a
    // stranger.
    world.ask(Incoming::private(ANN).text("/help")).await?;
    let ran = world.home.run(&["allow", &code]);
    assert!(ran.code == Some(0) && ran.stdout.contains(&format!("discord:{EVE}")), "{ran:?}");
    let said = |sent: &support::discord::SentMessage| sent.content.contains("has let you in");
    let welcome = world.server.wait_for_message(PATIENCE, said).await?;
    assert_eq!(welcome.channel_id, first.channel_id);
    world.ask(Incoming::private(EVE).text("/help")).await?;
    let listed = world.home.run(&["allow"]).stdout;
    assert!(listed.contains(&format!("discord:{ANN} from the configuration")), "{listed}");
    assert_eq!(world.home.run(&["allow", "--remove", &EVE.to_string()]).code, Some(0));
    let after = world.server.push(Incoming::private(EVE).text("/help"));
    let told = read(&world.answer(&after).await?.content);
    assert!(told.contains("does not know you"), "{told}");
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_strangers_command_is_answered_to_them_alone_and_not_run() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(super::world::TOWN);
    let write = |command: Command| command.option("path", "/shared/e").option("content", "x");
    for command in [
        write(Command::new("file_write").by(EVE)),
        write(Command::new("file_write").by(EVE).channel(super::world::TOWN)),
    ] {
        let made = world.server.invoke(command);
        let done =
            world.server.wait_for_interaction(PATIENCE, made.id, |one| one.acknowledged.is_some()).await?;
        assert_eq!(done.acknowledged, Some(4));
        let original = done.original.expect("a message");
        let said = |sent: &support::discord::SentMessage| sent.message_id == original;
        let told = world.server.wait_for_message(PATIENCE, said).await?;
        assert!(told.is_ephemeral() && told.content.contains(&EVE.to_string()), "{told:?}");
    }
    world.ask(Incoming::private(ANN).text("/help")).await?;
    assert!(!world.home.host("/shared/e").exists());
    world.end(3)
}

/// Who is served elsewhere is no stranger.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn in_a_guild_where_nobody_is_served_a_command_is_told_that() -> anyhow::Result<()> {
    const CLOSED: u64 = 1_300_000_000_000_000_001;
    let world =
        World::running_with(&format!("guilds = {{ \"{CLOSED}\" = {{ members = \"none\" }} }}")).await?;
    world.server.open_channel_of(CLOSED, super::world::TOWN);
    for (user, words) in [(ANN, "serve nobody in this server"), (EVE, "does not know you")] {
        let made = world.server.invoke(Command::new("help").by(user).channel(super::world::TOWN));
        let done =
            world.server.wait_for_interaction(PATIENCE, made.id, |one| one.acknowledged.is_some()).await?;
        let original = done.original.expect("a message");
        let said = |sent: &support::discord::SentMessage| sent.message_id == original;
        let told = world.server.wait_for_message(PATIENCE, said).await?;
        assert!(told.is_ephemeral() && told.content.contains(words), "{told:?}");
    }
    world.end(2)
}
