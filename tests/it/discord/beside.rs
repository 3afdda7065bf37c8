//! Two channels in one program: both are served, a fault of one does not slow the other, and
//! nothing of one is the other's.

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
    serving.end(std::time::Duration::from_secs(10))?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_ends_one_for_good_ends_the_program() -> anyhow::Result<()> {
    let (discord, telegram) = (DiscordServer::start().await?, TelegramServer::start().await?);
    let home = Home::new().telegram(&telegram.api_url(), &[TELEGRAM_ANN]).config(&section(&discord, ""));
    discord.refuse_identify(4014);
    let mut serving = launch(&home, &discord, &telegram)?;
    serving.gives_up(PATIENCE, "message_content = false")
}

/// `doctor` asks and never connects; a refused token and an intent that is off are problems, with
/// exit 3.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn doctor_knows_what_would_keep_the_bot_from_connecting() -> anyhow::Result<()> {
    let discord = DiscordServer::start().await?;
    let guild = "guilds = { \"1234567890123456789\" = { members = \"none\" } }";
    let home = Home::new().config(&section(&discord, &format!("message_content = true\n{guild}")));
    let doctor = |token: &str| {
        let mut command = home.command(&["doctor", "--json"]);
        let output = command.env("DISCORD_BOT_TOKEN", token).output().expect("it runs");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), value)
    };
    let (code, value) = doctor(discord.token());
    let findings = value["findings"].to_string();
    assert!(code == Some(3) && findings.contains("Message Content intent is off"), "{findings}");
    discord.set_message_content(true);
    let (code, value) = doctor(discord.token());
    assert_eq!(value["network"]["discord"]["server"], discord.api_url(), "{value}");
    assert!(value["network"]["discord"]["bot"].is_string() && code == Some(0), "{}", value["findings"]);
    assert_eq!(value["people"]["allowed"][0]["channel"], "discord");
    // Many readers of JSON round numbers of that length.
    assert_eq!(value["people"]["guilds"][0]["id"], "1234567890123456789", "{value}");
    let (code, value) = doctor("MTIzNDU2.Gabcde.nobody-knows-this-one");
    let findings = value["findings"].to_string();
    assert!(code == Some(3) && findings.contains("DISCORD_BOT_TOKEN"), "{findings}");
    assert!(!value.to_string().contains("nobody-knows"));
    assert!(discord.connections().is_empty(), "it never connects");
    Ok(())
}
