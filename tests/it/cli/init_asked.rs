//! `init` on a terminal: it asks, tries what can be tried, keeps secrets apart and off the screen,
//! and writes nothing before the last answer.

use super::run;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::discord::DiscordServer;
use support::home::Home;
use support::llm::{Dialect, LlmServer};
use support::serving::Serving;
use support::telegram::{Fault, TelegramServer};
use support::terminal::Terminal;

const TOKEN: &str = "Token of the Telegram bot";
const ID: &str = "Your numeric Telegram id";
const DISCORD_TOKEN: &str = "Token of the Discord bot";
/// Of the link by which the bot comes into a guild.
const INVITATION: &str = "https://discord.com/oauth2/authorize?client_id=";
const DISCORD_ID: &str = "Your numeric Discord id";
const WHO: &str = "Who answers (";
const ADDRESS: &str = "Address of its server";
const MODEL: &str = "The model, as its server calls it";
const KEY: &str = "Its key (not shown";
const FOLDER: &str = "Folder for all files";

/// An empty folder of the home, and `init` in it.
fn init(home: &Home, words: &[&str], api_url: &str) -> (PathBuf, Terminal) {
    let dir = home.dir().join("fresh");
    fs::create_dir_all(&dir).expect("writable");
    let words = [&["init"], words].concat();
    let terminal = Terminal::start(home, &dir, &words, &[("COFFERDAM_CHANNELS_TELEGRAM_API_URL", api_url)]);
    (dir, terminal)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .expect("there")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_asks_what_it_must_and_what_it_writes_serves() -> anyhow::Result<()> {
    let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
    let home = Home::new();
    let (dir, mut terminal) = init(&home, &[], &telegram.api_url());
    // Wrong ones are told at once, and can be corrected.
    terminal.answers(TOKEN, "my bot");
    terminal.answers(TOKEN, "123456:WRONG-token");
    terminal.answers(TOKEN, telegram.token());
    terminal.answers(ID, "@ann");
    terminal.answers(ID, "5000000001");
    terminal.answers(DISCORD_TOKEN, "");
    terminal.answers(WHO, "gpt");
    terminal.answers(WHO, "openai-chat");
    terminal.answers(ADDRESS, "http://10.0.0.1/v1");
    terminal.answers(WHO, "openai-chat");
    terminal.answers(ADDRESS, &llm.base_url(Dialect::Chat));
    terminal.answers(MODEL, "test-model");
    terminal.answers(KEY, "sk-WRONG");
    terminal.answers(KEY, llm.key());
    terminal.answers(FOLDER, "files");
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(0), "{screen}");
    for secret in [telegram.token(), llm.key(), "WRONG", "my bot"] {
        assert!(!screen.contains(secret), "{secret} in {screen}");
    }
    let shown = screen.replace(&llm.base_url(Dialect::Chat), "http://127.0.0.1:11434/v1");
    super::help::compare("init-asked", &shown);

    assert_eq!(names(&dir), ["cofferdam.api-key", "cofferdam.telegram-token", "cofferdam.toml"]);
    let text = fs::read_to_string(dir.join("cofferdam.toml"))?;
    for secret in [telegram.token(), llm.key()] {
        assert!(!text.contains(secret), "{text}");
    }
    for (file, content) in [("cofferdam.telegram-token", telegram.token()), ("cofferdam.api-key", llm.key())]
    {
        assert_eq!(fs::read_to_string(dir.join(file))?, content);
        assert_eq!(fs::metadata(dir.join(file))?.permissions().mode() & 0o777, 0o600);
    }
    for line in [
        "token_file = \"cofferdam.telegram-token\"",
        "allowed_users = [5000000001]",
        "kind = \"openai-chat\"",
    ] {
        assert!(text.lines().any(|written| written == line), "{line} in {text}");
    }

    // The next two commands, as they are printed.
    let config = dir.join("cofferdam.toml");
    let url = telegram.api_url();
    let command = |words: &[&str]| {
        let mut command = super::bare(&home, &dir, words);
        command.env("COFFERDAM_CHANNELS_TELEGRAM_API_URL", &url).args(["--config", "cofferdam.toml"]);
        command
    };
    let ran = run(&mut command(&["doctor"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains(&format!("workspace.root = {:?}  (file)", dir.join("files"))), "{ran:?}");
    // Its own variable is empty there: the token comes from the file.
    let serving = Serving::spawn(command(&["serve"]), "")?.polling()?;
    assert!(serving.log().contains("polling as @cofferdam_test_bot"), "{}", serving.log());
    assert!(config.exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn enter_takes_the_defaults() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new();
    let (dir, mut terminal) = init(&home, &["mine.toml"], &telegram.api_url());
    for question in [TOKEN, DISCORD_TOKEN, WHO, FOLDER] {
        terminal.answers(question, "");
    }
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("    TELEGRAM_BOT_TOKEN=… cofferdam serve --config mine.toml\n"), "{screen}");
    assert_eq!(home.run(&["init", "template.toml"]).code, Some(0));
    assert_eq!(fs::read(dir.join("mine.toml"))?, fs::read(home.dir().join("template.toml"))?);
    assert_eq!((names(&dir), telegram.journal().len()), (vec!["mine.toml".to_owned()], 0));
    Ok(())
}

/// Beside Telegram and in its place: what is written is what `doctor` and `serve` take.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_asks_about_discord_as_about_telegram() -> anyhow::Result<()> {
    let (telegram, discord) = (TelegramServer::start().await?, DiscordServer::start().await?);
    let urls = [
        ("COFFERDAM_CHANNELS_TELEGRAM_API_URL", telegram.api_url()),
        ("COFFERDAM_CHANNELS_DISCORD_API_URL", discord.api_url()),
    ];
    for with_telegram in [true, false] {
        let home = Home::new();
        let dir = home.dir().join("fresh");
        fs::create_dir(&dir)?;
        let environment = urls.each_ref().map(|(name, url)| (*name, url.as_str()));
        let mut terminal = Terminal::start(&home, &dir, &["init"], &environment);
        terminal.answers(TOKEN, if with_telegram { telegram.token() } else { "" });
        if with_telegram {
            terminal.answers(ID, "5000000001");
        }
        terminal.answers(DISCORD_TOKEN, "Bot abc");
        terminal.until("three parts with dots between");
        terminal.answers(DISCORD_TOKEN, "MTIzNDU2.Gabcde.nobody-knows-this-one");
        terminal.until("Discord does not accept it.");
        terminal.answers(DISCORD_TOKEN, discord.token());
        terminal.until("It is the token of @");
        terminal.until(INVITATION);
        terminal.answers(DISCORD_ID, "@ann");
        terminal.answers(DISCORD_ID, "1100000000000000001");
        terminal.answers(WHO, "");
        terminal.answers(FOLDER, "files");
        let (code, screen) = terminal.ended();
        assert_eq!(code, Some(0), "{screen}");
        assert!(!screen.contains(discord.token()) && !screen.contains("nobody-knows"), "{screen}");
        let beside = ["cofferdam.discord-token", "cofferdam.telegram-token", "cofferdam.toml"];
        let alone = ["cofferdam.discord-token", "cofferdam.toml"];
        assert_eq!(names(&dir), if with_telegram { &beside[..] } else { &alone[..] });
        let file = dir.join("cofferdam.discord-token");
        assert_eq!(fs::read_to_string(&file)?, discord.token());
        assert_eq!(fs::metadata(&file)?.permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(dir.join("cofferdam.toml"))?;
        assert!(!text.contains(discord.token()), "{text}");
        let has = |line: &str| text.lines().any(|written| written == line);
        assert!(has("[channels.discord]") && has("token_file = \"cofferdam.discord-token\""), "{text}");
        assert!(has("allowed_users = [1100000000000000001]"), "{text}");
        assert_eq!(
            (has("[channels.telegram]"), has("# [channels.telegram]")),
            (with_telegram, !with_telegram)
        );

        // The variables with addresses make a section that the file has not; so they stand in the
        // file here.
        let [telegram_url, discord_url] = urls.each_ref().map(|(_, url)| format!("api_url = {url:?}"));
        let text = text.replace("api_url = \"https://api.telegram.org\"", &telegram_url);
        let text = text.replace("# api_url = \"https://discord.com/api/v10\"", &discord_url);
        fs::write(dir.join("cofferdam.toml"), text)?;
        let command = |words: &[&str]| super::bare(&home, &dir, words);
        let ran = run(&mut command(&["doctor", "--config", "cofferdam.toml"]));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let said = format!("  discord: {} accepts the token of @", discord.api_url());
        assert!(ran.stdout.contains(&said), "{ran:?}");
        assert!(ran.stdout.contains(&format!("; it is invited with {INVITATION}")), "{ran:?}");
        assert_eq!(ran.stdout.contains("  telegram: not configured"), !with_telegram, "{ran:?}");
        let serving = Serving::spawn(command(&["serve", "--config", "cofferdam.toml"]), "")?;
        let serving = serving.says("listening on Discord as @")?;
        if with_telegram {
            serving.polling()?;
        }
    }
    Ok(())
}

/// A script names the channels, and finds their variables in the commands that it is told.
#[test]
fn without_questions_it_has_the_channels_that_are_named() {
    let home = Home::new();
    let rows = [
        (&["--channel", "telegram"][..], "TELEGRAM_BOT_TOKEN=… ", [true, false]),
        (&["--channel", "discord"], "DISCORD_BOT_TOKEN=… ", [false, true]),
        (
            &["--channel=discord", "--channel=telegram", "--channel=discord"],
            "TELEGRAM_BOT_TOKEN=… DISCORD_BOT_TOKEN=… ",
            [true, true],
        ),
    ];
    for (n, (words, variables, there)) in rows.into_iter().enumerate() {
        let file = format!("{n}.toml");
        let ran = home.run(&[&["init", &file], words].concat());
        let said = format!("    {variables}cofferdam serve --config {file}\n");
        assert!(ran.code == Some(0) && ran.stdout.contains(&said), "{ran:?}");
        let text = fs::read_to_string(home.dir().join(&file)).expect("written");
        let parsed: toml::Table = text.parse().expect("TOML");
        let channels = parsed["channels"].as_table().expect("a section");
        assert_eq!(["telegram", "discord"].map(|name| channels.contains_key(name)), there);
        fs::write(home.config_file(), &text).expect("writable");
        let serve = home.run(&["serve"]);
        let missing = if there[0] { "TELEGRAM_BOT_TOKEN" } else { "DISCORD_BOT_TOKEN" };
        super::refused(&serve, &[missing]);
        fs::write(home.config_file(), "").expect("writable");
    }
    super::refused(&home.run(&["init", "--channel", "slack", "other.toml"]), &["slack", "telegram"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_be_checked_is_kept_only_if_the_person_says_so() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    telegram.fault("getMe", 2, Fault::bad_gateway());
    let home = Home::new();
    let (dir, mut terminal) = init(&home, &[], &telegram.api_url());
    terminal.answers(TOKEN, telegram.token());
    terminal.answers("Keep it unchecked?", "");
    terminal.answers(TOKEN, telegram.token());
    terminal.answers("Keep it unchecked?", "y");
    terminal.answers(ID, "");
    terminal.answers(DISCORD_TOKEN, "");
    terminal.answers(WHO, "anthropic");
    terminal.answers(ADDRESS, "");
    terminal.answers(MODEL, "");
    terminal.answers(KEY, "");
    terminal.answers("The environment variable that holds it", "MY_KEY");
    terminal.answers(FOLDER, "~/elsewhere");
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(0), "{screen}");
    let text = fs::read_to_string(dir.join("cofferdam.toml"))?;
    let root = format!("root = {:?}", home.dir().join("elsewhere"));
    for line in ["kind = \"anthropic\"", "model = \"claude-sonnet-4-5\"", "api_key_env = \"MY_KEY\"", &root] {
        assert!(text.lines().any(|written| written == line), "{line} in {text}");
    }
    assert!(screen.contains("    MY_KEY=… cofferdam doctor --config cofferdam.toml\n"), "{screen}");
    assert!(dir.join("cofferdam.telegram-token").exists() && !dir.join("cofferdam.api-key").exists());
    Ok(())
}

#[test]
fn servers_that_never_answer_are_given_up_and_the_person_decides() {
    // Connections are taken by the system alone: nobody reads from them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let url = format!("http://{}", silent.local_addr().expect("bound"));
    let home = Home::new();
    let (dir, mut terminal) = init(&home, &[], &url);
    terminal.answers(TOKEN, "123456:abcdefgh");
    terminal.until("It cannot be checked now: ");
    terminal.answers("Keep it unchecked?", "y");
    terminal.answers(ID, "");
    terminal.answers(DISCORD_TOKEN, "");
    terminal.answers(WHO, "openai-chat");
    terminal.answers(ADDRESS, &format!("{url}/v1"));
    terminal.answers(MODEL, "test-model");
    terminal.answers(KEY, "");
    terminal.until("It cannot be checked: no answer within 10s.");
    terminal.answers("Keep it so?", "y");
    terminal.answers(FOLDER, "");
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(names(&dir), ["cofferdam.telegram-token", "cofferdam.toml"]);
}

#[test]
fn an_answer_without_end_is_not_taken() {
    let home = Home::new();
    let (dir, mut terminal) = init(&home, &[], "http://127.0.0.1:9");
    terminal.until(TOKEN);
    terminal.until("for now): ");
    terminal.types(&"x".repeat(4097));
    let (code, screen) = terminal.ended();
    assert_eq!(code, Some(2), "{screen}");
    assert!(screen.contains("an answer of more than 4096 bytes; nothing was written"), "{screen}");
    assert!(!screen.contains("xxxx"), "it is not shown");
    assert_eq!(names(&dir), Vec::<String>::new());
}

#[test]
fn whoever_gives_up_finds_nothing_written_and_the_terminal_as_it_was() {
    let home = Home::new();
    let dir = home.dir().join("fresh");
    fs::create_dir(&dir).expect("writable");
    let program = support::program::cofferdam();
    for (keys, said) in [("half\x03", "stopped; nothing was written"), ("\x04", "the answers ended early")] {
        let command = format!("'{}' init; echo code $?; stty -a", program.display());
        let mut terminal = Terminal::run(&home, &dir, &command, &[]);
        terminal.until(TOKEN);
        terminal.until("for now): ");
        terminal.types(keys);
        let (_, screen) = terminal.ended();
        assert!(screen.contains(said) && screen.contains("code 2"), "{screen}");
        assert!(!screen.contains("half"), "{screen}");
        let modes: Vec<_> = screen.split_whitespace().map(|word| word.trim_end_matches(';')).collect();
        for mode in ["echo", "icanon", "isig"] {
            assert!(modes.contains(&mode), "{mode} in {screen}");
        }
        assert_eq!(names(&dir), Vec::<String>::new());
    }
}

#[test]
fn it_asks_nothing_where_it_may_not_write_or_is_told_not_to() {
    let home = Home::new();
    for taken in
        ["cofferdam.toml", "cofferdam.telegram-token", "cofferdam.discord-token", "cofferdam.api-key"]
    {
        let dir = home.dir().join(taken.replace('.', "-"));
        fs::create_dir(&dir).expect("writable");
        fs::write(dir.join(taken), "kept").expect("writable");
        let (code, screen) = Terminal::start(&home, &dir, &["init"], &[]).ended();
        assert_eq!(code, Some(2), "{screen}");
        assert!(
            screen.contains("it exists, and nothing is overwritten") && !screen.contains(TOKEN),
            "{screen}"
        );
        assert_eq!(
            (names(&dir), fs::read_to_string(dir.join(taken)).expect("there")),
            (vec![taken.to_owned()], "kept".to_owned())
        );
    }
    let dir = home.dir().join("fresh");
    fs::create_dir(&dir).expect("writable");
    let (code, screen) = Terminal::start(&home, &dir, &["init", "/dev/null/a/cofferdam.toml"], &[]).ended();
    assert!(code == Some(2) && screen.contains("/dev/null is not a folder"), "{screen}");
    let (code, screen) = Terminal::start(&home, &dir, &["init", "--yes"], &[]).ended();
    assert_eq!(code, Some(0), "{screen}");
    assert!(
        screen.starts_with("wrote cofferdam.toml; only you can read it\nNext:\n")
            && screen.contains("allow CODE"),
        "{screen}"
    );
}
