//! The way from nothing to a bot that answers its operator, by what each step prints and nothing
//! else: nobody knows their numeric id.

use super::{bare, run};
use std::process::Command;
use std::time::Duration;
use support::home::Home;
use support::serving::Serving;
use support::telegram::{Incoming, SentMessage, TelegramServer};

/// The operator, who is a stranger to the bot yet.
const ME: i64 = 5_000_000_001;
const PATIENCE: Duration = Duration::from_secs(100);

/// What follows `cofferdam` in the line of `told` that has these words, as a shell takes it.
fn words(told: &str, has: &str) -> Vec<String> {
    let line = told.lines().find(|line| line.contains(&format!("cofferdam {has}")));
    let line = line.unwrap_or_else(|| panic!("no {has:?} in {told}"));
    let (_, words) = line.split_once("cofferdam ").expect("it has");
    words.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_step_says_the_next_one() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    // Its cache is warm, nothing else is there.
    let home = Home::new();
    let dir = home.dir().join("bot");
    std::fs::create_dir(&dir)?;
    let (url, state) = (telegram.api_url(), home.state());
    let command = |words: &[String]| -> Command {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = bare(&home, &dir, &words);
        command.env("COFFERDAM_CHANNELS_TELEGRAM_API_URL", &url).env("COFFERDAM_STATE_DIR", &state);
        command
    };
    let init = run(&mut command(&["init".to_owned()]));
    assert_eq!(init.code, Some(0), "{init:?}");
    let doctor = run(command(&words(&init.stdout, "doctor")).env("TELEGRAM_BOT_TOKEN", telegram.token()));
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    assert!(doctor.stdout.contains("served: nobody\n"), "{doctor:?}");
    let serving = Serving::spawn(command(&words(&init.stdout, "serve")), telegram.token())?.polling()?;
    // Whoever reads only the log knows what to do as well.
    assert!(serving.log().contains("nobody is served yet"), "{}", serving.log());

    telegram.push(Incoming::private(ME).text("/start"));
    let mine = |sent: &SentMessage| sent.chat_id == ME;
    let told = telegram.wait_for_message(PATIENCE, mine).await?.text;
    let code = words(&told, "allow").pop().expect("a code");
    let mut allow = words(&init.stdout, "allow CODE");
    assert_eq!(allow[1], "CODE");
    allow[1] = code;
    let allowed = run(&mut command(&allow));
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    let let_in = |sent: &SentMessage| sent.text.starts_with("The operator has let you in");
    telegram.wait_for_message(PATIENCE, let_in).await?;
    telegram.push(Incoming::private(ME).text("/help"));
    telegram.wait_for_message(PATIENCE, |sent| sent.text.contains("/file_read ")).await?;
    // A second look tells who came in, and how to take that back.
    let doctor = run(command(&words(&init.stdout, "doctor")).env("TELEGRAM_BOT_TOKEN", telegram.token()));
    assert!(doctor.stdout.contains(": cofferdam allow --remove 5000000001\n"), "{doctor:?}");
    Ok(())
}
