//! `init` on a terminal: it asks, tries what can be tried, keeps secrets apart and off the screen, and writes
//! nothing before the last answer.

use super::run;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::home::Home;
use support::llm::{Dialect, LlmServer};
use support::serving::Serving;
use support::telegram::{Fault, TelegramServer};
use support::terminal::Terminal;

const TOKEN: &str = "Token of the Telegram bot";
const ID: &str = "Your numeric Telegram id";
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
    for question in [TOKEN, ID, WHO, FOLDER] {
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
    for taken in ["cofferdam.toml", "cofferdam.telegram-token", "cofferdam.api-key"] {
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
