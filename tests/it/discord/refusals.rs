//! What is refused at the start, before anything is contacted, and what ends the program for good.

use super::world::World;
use support::home::Home;

/// Refused with exit 2 and these words, and Discord heard nothing.
async fn refused(more: &str, environment: &[(&str, &str)], words: &[&str]) -> anyhow::Result<()> {
    let mut world = World::stopped_with(more).await?;
    world.launch(environment)?;
    assert_eq!(world.ended()?, Some(2), "{more}\n{}", world.log());
    for word in words {
        assert!(world.log().contains(word), "{word:?} is not in {}", world.log());
    }
    assert!(world.server.journal().is_empty(), "{more}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_wrong_is_told_before_any_request() -> anyhow::Result<()> {
    for (more, word) in [
        ("intents = 1", "intents"),
        ("approvers = [5]", "approvers"),
        ("pairing_expires = \"1s\"", "pairing_expires"),
        ("other_guilds = \"all\"", "other_guilds"),
        ("guilds = { \"5\" = { members = \"all\" } }", "guilds"),
        ("guilds = { \"5\" = { members = \"all\", profiles = [\"none-such\"] } }", "none-such"),
        ("guilds = { \"5\" = { mention_required = false } }", "message_content"),
    ] {
        refused(more, &[], &[word]).await?;
    }
    for (variable, value, word) in [
        ("DISCORD_BOT_TOKEN", "", "DISCORD_BOT_TOKEN"),
        ("DISCORD_BOT_TOKEN", "Bot aaaaaaaa.bbbbbbbb.cccccccc", "DISCORD_BOT_TOKEN"),
        ("COFFERDAM_CHANNELS_DISCORD_API_URL", "http://discord.com/api/v10", "loopback"),
        ("COFFERDAM_CHANNELS_DISCORD_CDN_URL", "https://cdn.discordapp.com", "CDN_URL"),
        ("COFFERDAM_CHANNELS_DISCORD_CDN_URL", "http://10.0.0.1", "CDN_URL"),
        ("COFFERDAM_CHANNELS_DISCORD_ALLOWED_USERS", "-5", "ALLOWED_USERS"),
        ("COFFERDAM_CHANNELS_DISCORD_ALLOWED_USERS", "ann", "ALLOWED_USERS"),
        ("COFFERDAM_CHANNELS_DISCORD_INTENTS", "1", "INTENTS"),
    ] {
        refused("", &[(variable, value)], &[word]).await?;
    }
    Ok(())
}

#[test]
fn a_misplaced_token_is_not_repeated() {
    let home = Home::new().config("[channels.discord]\ntoken_env = \"aaaaaaaa.bbbbbbbb.cccccccc\"\n");
    let ran = home.run(&["serve"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("token_env") && !ran.stderr.contains("bbbbbbbb"),
        "{ran:?}"
    );
    let none = Home::new().run(&["serve"]);
    assert!(none.code == Some(2) && none.stderr.contains("[channels.discord]"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn close_codes_that_would_come_again_end_the_program() -> anyhow::Result<()> {
    for (code, words) in [
        (4004, "DISCORD_BOT_TOKEN"),
        (4010, "4010"),
        (4011, "4011"),
        (4012, "4012"),
        (4013, "4013"),
        (4014, "message_content = false"),
    ] {
        let mut world = World::stopped_with("").await?;
        world.server.refuse_identify(code);
        world.launch(&[])?;
        assert_eq!(world.ended()?, Some(2), "{code}\n{}", world.log());
        let log = world.log();
        assert!(log.contains(words) && log.contains(&code.to_string()), "{code}: {log}");
        assert_eq!(world.server.connections().len(), 1, "{code}: never tried again");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_token_that_rest_refuses_ends_the_program() -> anyhow::Result<()> {
    let mut world = World::stopped_with("").await?;
    world.launch(&[("DISCORD_BOT_TOKEN", "MTIzNDU2.Gabcde.nobody-knows-this-one")])?;
    assert_eq!(world.ended()?, Some(2), "{}", world.log());
    let log = world.log();
    assert!(
        log.contains("DISCORD_BOT_TOKEN") && log.contains("401") && !log.contains("nobody-knows"),
        "{log}"
    );
    assert!(world.server.connections().is_empty());
    Ok(())
}
