//! `doctor` about a Discord bot: what its server says of it, and who is served in its guilds.

use super::doctor::{found, one};
use super::run;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;
use support::discord::{DiscordServer, Fault, Scope};
use support::home::Home;

/// `doctor --json` with the token of this server's bot in its environment.
fn diagnose(home: &Home, discord: &DiscordServer, flags: &[&str]) -> Value {
    let mut command = home.command(&[&["doctor", "--json"], flags].concat());
    let ran = run(command.env("DISCORD_BOT_TOKEN", discord.token()));
    assert!(!ran.stderr.contains("panicked") && !ran.stdout.contains(discord.token()), "{ran:?}");
    ran.json()
}

/// A gateway whose bot is on this server; `more` are further lines of the section.
fn home_on(discord: &DiscordServer, more: &str) -> Home {
    Home::new().config(&format!("[channels.discord]\napi_url = {:?}\n{more}", discord.api_url()))
}

/// Nobody waits for the end of a limit, which may last for longer than `doctor` takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_bot_that_discord_limits_is_told_with_the_seconds() -> anyhow::Result<()> {
    let discord = DiscordServer::start().await?;
    let home = home_on(&discord, "allowed_users = [7]\n");
    for method in ["get_current_user", "get_current_application", "get_gateway_bot"] {
        discord.fault(method, 1, Fault::rate_limited(Duration::from_secs(900), Scope::User));
        let value = diagnose(&home, &discord, &[]);
        let mend = one(&value, "problem network: Discord limits this bot for 900 s; serve would wait");
        assert!(mend.starts_with("wait"), "{method}: {mend}");
        assert_eq!(value["network"]["discord"]["bot"].is_null(), method == "get_current_user", "{value}");
    }
    assert_eq!(found(&diagnose(&home, &discord, &[])).0, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn guilds_are_listed_with_the_line_that_serves_nobody_there() -> anyhow::Result<()> {
    const GUILD: &str = "1234567890123456789";
    let discord = DiscordServer::start().await?;
    let table = format!("[channels.discord.guilds.\"{GUILD}\"]");
    let members = format!("{table}\nmembers = \"all\"\nprofiles = [\"file-read-only\"]\n");
    let home = home_on(&discord, &format!("allowed_users = [5]\nother_guilds = \"allowed\"\n{members}"));
    let value = diagnose(&home, &discord, &["--offline"]);
    let people = &value["people"];
    assert_eq!((&people["groups"], &people["other_groups"]), (&json!([]), &Value::Null), "{people}");
    assert_eq!(people["other_guilds"], "allowed", "{people}");
    let guild = &people["guilds"][0];
    assert_eq!((&guild["id"], &guild["members"]), (&json!(GUILD), &json!("all")), "{people}");
    assert_eq!(guild["profiles"], json!(["file-read-only"]), "{people}");
    assert_eq!(guild["remove"], format!("{table} members = \"none\""), "{people}");
    assert_eq!(
        (&people["allowed"][0]["channel"], &people["allowed"][0]["id"]),
        (&json!("discord"), &json!("5"))
    );
    // Nobody there is served any more by the very line that it names.
    let text = fs::read_to_string(home.config_file())?;
    fs::write(home.config_file(), text.replace("members = \"all\"", "members = \"none\""))?;
    let value = diagnose(&home, &discord, &["--offline"]);
    assert_eq!(value["people"]["guilds"][0]["members"], "none", "{value}");
    Ok(())
}
