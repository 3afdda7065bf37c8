//! Two channels in one program: both are served, a fault of one does not slow the other, and nothing of one is the
//! other's.

use super::world::{ANN, PATIENCE, section};
use support::discord::{DiscordServer, Fault, Incoming};
use support::home::Home;
use support::serving::Serving;
use support::telegram::{self, TelegramServer};

const TELEGRAM_ANN: i64 = 5_000_000_001;

fn launch(home: &Home, discord: &DiscordServer, telegram: &TelegramServer) -> anyhow::Result<Serving> {
    let environment = [("COFFERDAM_LOG", "debug"), ("DISCORD_BOT_TOKEN", discord.token())];
    Serving::launch(home, telegram.token(), &[], &environment)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn both_are_served_and_one_that_fails_does_not_slow_the_other() -> anyhow::Result<()> {
    let (discord, telegram) = (DiscordServer::start().await?, TelegramServer::start().await?);
    let home = Home::new().telegram(&telegram.api_url(), &[TELEGRAM_ANN]).config(&section(&discord, ""));
    discord.fault("get_current_user", 10_000, Fault::server_error(503));
    let serving = launch(&home, &discord, &telegram)?.polling()?;
    let pushed = telegram.push(telegram::Incoming::private(TELEGRAM_ANN).text("/help"));
    let answers = |sent: &telegram::SentMessage| sent.reply_to == Some(pushed.message_id);
    telegram.wait_for_message(PATIENCE, answers).await?;
    discord.clear_faults();
    let serving = serving.says("listening on Discord as")?;
    let pushed = discord.push(Incoming::private(ANN).text("/help"));
    let answers = |sent: &support::discord::SentMessage| sent.reply_to == Some(pushed.message_id);
    discord.wait_for_message(PATIENCE, answers).await?;
    // Who is served on one is nobody on the other.
    let ann = u64::try_from(TELEGRAM_ANN)?;
    let stranger = discord.push(Incoming::private(ann).text("/help"));
    let told = |sent: &support::discord::SentMessage| sent.channel_id == stranger.channel_id;
    assert!(discord.wait_for_message(PATIENCE, told).await?.content.contains("does not know you"));
    let status = home.run(&["status", "--json"]).json();
    for channel in ["telegram", "discord"] {
        assert!(status["channels"][channel]["bot"].is_string(), "{status}");
    }
    let doctor = home.command(&["doctor", "--json"]);
    drop(doctor);
    let (status, log) = serving.stop(rustix::process::Signal::TERM, std::time::Duration::from_secs(10))?;
    assert_eq!(status.code(), Some(0), "{log}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_ends_one_for_good_ends_the_program() -> anyhow::Result<()> {
    let (discord, telegram) = (DiscordServer::start().await?, TelegramServer::start().await?);
    let home = Home::new().telegram(&telegram.api_url(), &[TELEGRAM_ANN]).config(&section(&discord, ""));
    discord.refuse_identify(4014);
    let mut serving = launch(&home, &discord, &telegram)?;
    let status = serving.wait(PATIENCE)?;
    let log = serving.whole_log();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("message_content = false"), "{log}");
    Ok(())
}
