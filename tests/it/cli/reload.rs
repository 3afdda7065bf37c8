//! `reload`: the running gateway reads its configuration anew, and whoever asked is told what came
//! of it. And what SIGHUP does, with a terminal and without.

use rustix::process::Signal;
use std::time::{Duration, Instant};
use support::home::Home;
use support::serving::Serving;
use support::telegram::TelegramServer;
use support::terminal::Terminal;

const ANN: i64 = 5_000_000_001;
const PATIENCE: Duration = Duration::from_secs(100);

#[test]
fn where_none_runs_it_says_so() {
    let home = Home::new();
    let ran = home.run(&["reload"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{ran:?}");
    assert!(
        ran.stderr.contains("no gateway runs with the state ") && ran.stderr.contains("/state"),
        "{ran:?}"
    );
    assert_eq!(home.run(&["--config", "missing.toml", "reload"]).code, Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_came_of_it_is_told() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]);
    let serving = Serving::start(&home, telegram.token())?;
    let ran = home.run(&["reload"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(
        ran.stdout,
        "in force: no setting has changed; keys, instructions and policies were read anew\n"
    );

    let home = home.telegram(&telegram.api_url(), &[ANN, 7]);
    let ran = home.run(&["reload"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("in force: channels.telegram.allowed_users changed; "), "{ran:?}");

    let good = std::fs::read_to_string(home.config_file())?;
    std::fs::write(home.config_file(), format!("{good}[metrics]\nlisten = \"127.0.0.1:0\"\n"))?;
    let ran = home.run(&["reload"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let refused =
        "the running gateway refuses it and goes on as before: metrics.listen changed, which needs a restart";
    assert!(ran.stderr.contains(refused), "{ran:?}");
    // What cannot be read at all is told with its line, and nobody is asked.
    std::fs::write(home.config_file(), format!("{good}nope = 1\n"))?;
    let ran = home.run(&["reload"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("cofferdam.toml:"), "{ran:?}");
    std::fs::write(home.config_file(), good)?;
    assert_eq!(home.run(&["reload"]).code, Some(0));
    let reloads = home.audit().into_iter().filter(|record| record["event"] == "reload");
    let states: Vec<_> =
        reloads.map(|record| record["reload"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(states, ["applied", "applied", "refused", "applied"]);
    serving.end(PATIENCE)?;
    assert_eq!(home.run(&["reload"]).code, Some(3));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_terminal_a_hangup_is_a_reload() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]);
    // In a session of its own: those who run tests may have a terminal.
    let serving = Serving::launch(&home, telegram.token(), &["setsid"], &[])?.polling()?;
    serving.signal(Signal::HUP)?;
    let serving = serving.says("the configuration was reloaded and is in force")?;
    serving.end(PATIENCE)?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_terminal_that_is_closed_ends_it_as_a_stop_does_and_a_reload_does_not() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]);
    // What it signs at the end says that it came to its end.
    let home = home.config("[audit]\nsign_key_file = \"signing-key.pem\"\n");
    assert_eq!(home.run(&["audit", "keygen", "--out", "signing-key.pem"]).code, Some(0));
    let (program, config) = (support::program::cofferdam(), home.config_file());
    let command = format!("exec '{}' --config '{}' serve 2>log", program.display(), config.display());
    let environment = [("TELEGRAM_BOT_TOKEN", telegram.token())];
    let terminal = Terminal::run(&home, home.dir(), &command, &environment);
    let until = async |file: &str, words: &str| -> anyhow::Result<()> {
        let started = Instant::now();
        while !std::fs::read_to_string(home.dir().join(file)).unwrap_or_default().contains(words) {
            anyhow::ensure!(started.elapsed() < PATIENCE, "no {words:?} in {file}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    };
    until("log", "polling as ").await?;
    assert_eq!(home.run(&["reload"]).code, Some(0), "it goes on at a terminal as well");
    until("log", "was reloaded and is in force").await?;
    assert!(!home.state().join("audit.signatures.jsonl").exists());
    drop(terminal);
    until("state/audit.signatures.jsonl", "\n").await?;
    let log = std::fs::read_to_string(home.dir().join("log"))?;
    assert_eq!(log.matches("was reloaded and is in force").count(), 1, "{log}");
    let started = Instant::now();
    while home.run(&["status", "--json"]).json()["running"] == true {
        anyhow::ensure!(started.elapsed() < PATIENCE, "it still runs: {log}");
    }
    Ok(())
}
