//! Another configuration while the bot runs: the rules of guilds hold from the next message on, as
//! a whole or not at all.

use super::approvals::ask_before_writing;
use super::world::{ANN, EVE, PATIENCE, TOWN, World, read};
use support::discord::{GUILD_ID, Incoming, SentMessage};

const APPLIED: &str = "the configuration was reloaded and is in force";
const REFUSED: &str = "the configuration is not reloaded, the one before stays in force";

/// Has the program read its configuration again with these lines in the channel's section.
async fn reload(world: &World, lines: &str, (said, times): (&str, usize)) -> anyhow::Result<()> {
    let file = world.home.config_file();
    let text = std::fs::read_to_string(&file)?;
    let kept: Vec<_> = text.lines().filter(|line| !line.ends_with("# reloaded")).collect();
    let lines = lines.lines().map(|line| format!("{line} # reloaded"));
    std::fs::write(file, kept.into_iter().map(str::to_owned).chain(lines).collect::<Vec<_>>().join("\n"))?;
    world.serving().signal(rustix::process::Signal::USR1)?;
    world.logs_times(said, times).await
}

fn rules(of: &str) -> String {
    format!("guilds = {{ \"{GUILD_ID}\" = {{ {of} }} }}")
}

fn mention(user: u64, text: &str) -> Incoming {
    Incoming::guild(TOWN, user).mention_bot().text(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_rules_of_a_guild_hold_from_the_next_message_on() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.server.open_channel(TOWN);
    world.ask(mention(ANN, "/help")).await?;
    world.server.push(mention(EVE, "/help"));
    // Nobody is served there any more.
    reload(&world, &rules("members = \"none\""), (APPLIED, 1)).await?;
    world.server.push(mention(ANN, "/help"));
    world.ask(Incoming::private(ANN).text("/help")).await?;
    // Everybody is, with some tools.
    let open = rules("members = \"all\", profiles = [\"file-read-only\"]");
    reload(&world, &open, (APPLIED, 2)).await?;
    let listed = read(&world.ask(mention(EVE, "/file_list path=/shared")).await?);
    assert!(listed.contains("entries"), "{listed}");
    let written = read(&world.ask(mention(EVE, "/file_write path=/shared/a content=x")).await?);
    assert!(written.contains("tool_unavailable") || written.contains("unknown_tool"), "{written}");
    // What is wrong changes nothing, and what needs a restart is named.
    let refused = [
        (rules("members = \"all\""), "profiles"),
        (rules("mention_required = false"), "message_content"),
        (rules("members = \"nobody\""), "nobody"),
        ("guilds = { \"-5\" = {} }".to_owned(), "guilds"),
        ("message_content = true".to_owned(), "channels.discord.message_content"),
        ("other_guilds = \"all\"".to_owned(), "other_guilds"),
    ];
    for (n, (lines, word)) in refused.iter().enumerate() {
        reload(&world, lines, (REFUSED, n + 1)).await?;
        let log = world.log();
        let line = log.lines().rfind(|line| line.contains(REFUSED)).expect("it says so");
        assert!(line.contains(word), "{lines}: {line}");
        world.ask(mention(EVE, "/help")).await?;
    }
    // Without rules it is as it was.
    reload(&world, "", (APPLIED, 3)).await?;
    world.server.push(mention(EVE, "/help"));
    world.ask(mention(ANN, "/help")).await?;
    // Other guilds may be closed.
    reload(&world, "other_guilds = \"none\"", (APPLIED, 4)).await?;
    world.server.push(mention(ANN, "/help"));
    world.ask(Incoming::private(ANN).text("/help")).await?;
    world.end(6 + refused.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_is_removed_is_a_stranger_from_the_next_message_on() -> anyhow::Result<()> {
    let world = World::running_with("pairing = false").await?;
    world.ask(Incoming::private(ANN).text("/help")).await?;
    let file = world.home.config_file();
    let text = std::fs::read_to_string(&file)?;
    std::fs::write(&file, text.replace(&format!("[{ANN}, "), "["))?;
    reload(&world, "", (APPLIED, 1)).await?;
    let told = read(&world.ask(Incoming::private(ANN).text("/help")).await?);
    assert!(told.contains("does not know you") && told.contains(&ANN.to_string()), "{told}");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nothing_is_approved_for_whoever_is_not_served_any_more() -> anyhow::Result<()> {
    let world = World::running_in(ask_before_writing, "").await?;
    world.server.open_channel(TOWN);
    let pushed = world.server.push(mention(ANN, "/file_write path=/shared/a content=x"));
    let asks = |sent: &SentMessage| sent.buttons().len() == 2;
    let asked = world.server.wait_for_message(PATIENCE, asks).await?;
    reload(&world, &rules("members = \"none\""), (APPLIED, 1)).await?;
    let withdrawn = |sent: &SentMessage| {
        sent.message_id == asked.message_id && sent.buttons().is_empty() && sent.content.contains("Withdrawn")
    };
    world.server.wait_for_message(PATIENCE, withdrawn).await?;
    let told = |sent: &SentMessage| {
        sent.reply_to == Some(pushed.message_id) && read(&sent.content).starts_with("cancelled: ")
    };
    world.server.wait_for_message(PATIENCE, told).await?;
    assert!(!world.home.host("/shared/a").exists());
    world.end(2)
}
