//! `status`: what a running gateway does, from what it keeps; and that nothing runs, when nothing
//! does.

use serde_json::{Value, json};
use std::time::Duration;
use support::home::{Home, Ran};
use support::llm::{Dialect, LlmServer, Turn};
use support::serving::Serving;
use support::telegram::{Hold, Incoming, TelegramServer};

const ANN: i64 = 5_000_000_001;

fn status(home: &Home) -> (Ran, Value) {
    let ran = home.run(&["status", "--json"]);
    assert_eq!(ran.stderr, "", "{ran:?}");
    let value = ran.json();
    (ran, value)
}

/// The words with what differs from run to run taken out.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let words = text.split_inclusive([' ', '\n']);
    for word in words {
        let bare = word.trim_end_matches([' ', '\n', ',']);
        let digits = bare.bytes().filter(u8::is_ascii_digit).count();
        let shown = match bare {
            time if time.starts_with("20") && time.ends_with('Z') => "TIME",
            up if up.starts_with('(') && up.trim_end_matches(')').ends_with('s') => "(SINCE",
            free if digits == free.len() && (plain.ends_with("disk: ") || plain.ends_with("workspace, ")) => {
                "N"
            }
            head if head.len() > 64 && head.contains(':') => "HEAD",
            pid if digits == pid.len() && plain.ends_with("process ") => "PID",
            // One or more ahead of what is wanted, depending on when one looks.
            workers if digits == workers.len() && plain.ends_with("workers: ") => "N",
            other => other,
        };
        plain.push_str(shown);
        plain.push_str(&word[bare.len()..]);
    }
    plain
}

#[test]
fn where_nothing_ever_ran_it_says_so_and_makes_nothing() {
    let home = Home::new();
    std::fs::remove_dir_all(home.state()).expect("ours");
    let (ran, value) = status(&home);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for (key, expected) in
        [("running", json!(false)), ("pid", Value::Null), ("queue", Value::Null), ("audit", Value::Null)]
    {
        assert_eq!(value[key], expected, "{key} in {value}");
    }
    let told = home.run(&["status"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(3), ""), "{told:?}");
    super::help::compare("status-never", &told.stdout);
    assert!(!home.state().exists() && !home.workspace().exists());
    assert_eq!(home.run(&["--config", "missing.toml", "status"]).code, Some(2));
}

#[test]
fn that_no_message_has_come_yet_is_said() {
    let home = Home::new();
    assert_eq!(home.run(&["store", "migrate"]).code, Some(0));
    let told = home.run(&["status"]).stdout;
    assert!(told.contains(" approvals are asked for; no message has come yet\n"), "{told}");
}

#[test]
fn files_that_cannot_be_read_are_named_and_the_rest_is_told() {
    let home = Home::new();
    std::fs::write(
        home.state().join("cofferdam.db"),
        "no database, and long enough to be looked at\n".repeat(20),
    )
    .expect("writable");
    std::fs::create_dir(home.state().join("audit.jsonl")).expect("writable");
    std::fs::create_dir(home.workspace()).expect("writable");
    std::os::unix::fs::symlink("/usr", home.workspace().join("shared")).expect("writable");
    let (ran, value) = status(&home);
    assert_eq!((ran.code, &value["running"]), (Some(3), &json!(false)), "{ran:?}");
    let parts: Vec<_> = value["unreadable"].as_array().expect("told").iter().collect();
    let named = [
        ("queue", home.state().join("cofferdam.db")),
        ("workspace", home.workspace().join("shared")),
        ("audit", home.state().join("audit.jsonl")),
    ];
    assert_eq!(parts.len(), named.len(), "{value}");
    let told = home.run(&["status"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(3), ""), "{told:?}");
    for (part, (key, path)) in parts.into_iter().zip(named) {
        let reason = part["reason"].as_str().expect("text");
        assert_eq!(part["key"], key);
        assert!(reason.contains(path.to_str().expect("text")), "{reason}");
        assert!(told.stdout.contains(&format!("\n{key}: CANNOT BE READ: {reason}\n")), "{told:?}");
    }
    for null in [&value["queue"], &value["workspace"]["used_bytes"], &value["audit"]] {
        assert_eq!(null, &Value::Null, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_tells_of_a_gateway_that_runs_works_and_has_stopped() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]);
    let serving = Serving::start(&home, telegram.token())?;
    telegram.push(Incoming::private(ANN).text("/file_write path=/shared/a content=hello"));
    telegram.wait_for_message(Duration::from_secs(100), |message| message.chat_id == ANN).await?;
    // A reply that is on its way: what waits is counted while it does.
    let gate = telegram.gate("sendMessage", Hold::BeforeEffect);
    telegram.push(Incoming::private(ANN).text("/help"));
    gate.reached().await?;
    let (ran, value) = status(&home);
    assert_eq!((ran.code, &value["running"], &value["pid"]), (Some(0), &true.into(), &serving.pid().into()));
    assert_eq!(
        (&value["bot"], &value["version"]),
        (&"@cofferdam_test_bot".into(), &env!("CARGO_PKG_VERSION").into())
    );
    assert!(value["started_at"].is_string() && value["polled_at"].is_string(), "{value}");
    assert!(value["uptime_seconds"].is_u64() && value["workspace"]["free_bytes"].is_u64(), "{value}");
    assert_eq!((&value["last_error"], &value["model"]), (&Value::Null, &Value::Null));
    assert!(value["workers"].as_u64() >= Some(1), "{value}");
    let queue = &value["queue"];
    assert_eq!(
        (&queue["messages"], &queue["replies"], &queue["parts"]),
        (&0.into(), &1.into(), &1.into()),
        "{value}"
    );
    let used = json!([{ "channel": "telegram", "sender": ANN.to_string(), "tokens": 0, "written_bytes": 5 }]);
    assert_eq!((&value["today"]["people"], &value["workspace"]["used_bytes"]), (&used, &5.into()), "{value}");
    let newest = home.audit().pop().expect("recorded");
    assert_eq!((&value["audit"]["head"]["seq"], &value["audit"]["time"]), (&newest["seq"], &newest["time"]));
    let verified = home.run(&["audit", "verify", "--json"]).json();
    assert_eq!(value["audit"]["head"], verified["head"]);
    let told = home.run(&["status"]);
    super::help::compare("status", &plain(&told.stdout));
    gate.release();
    serving.end(Duration::from_secs(60))?;

    let (ran, value) = status(&home);
    assert_eq!((ran.code, &value["running"], &value["started_at"]), (Some(3), &false.into(), &Value::Null));
    assert_eq!((&value["queue"]["parts"], &value["workers"]), (&0.into(), &0.into()), "{value}");
    assert!(value["polled_at"].is_string(), "{value}");
    // Looking took nothing from the next start.
    Serving::start(&home, telegram.token())?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_that_was_killed_does_not_run_and_what_it_left_is_counted() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]);
    let serving = Serving::start(&home, telegram.token())?;
    let gate = telegram.gate("sendMessage", Hold::BeforeEffect);
    telegram.push(Incoming::private(ANN).text("/help"));
    gate.reached().await?;
    serving.kill();
    gate.discard();
    let (ran, value) = status(&home);
    assert_eq!(
        (ran.code, &value["running"], &value["pid"]),
        (Some(3), &false.into(), &Value::Null),
        "{ran:?}"
    );
    assert_eq!(value["queue"]["parts"], 1, "{value}");
    let told = home.run(&["status"]).stdout;
    assert!(told.starts_with("serve: not running; last was version "), "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_last_error_and_when_the_model_answered_are_told_and_outlive_the_process() -> anyhow::Result<()> {
    let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
    llm.script([Turn::say("hello"), Turn::status(400)]);
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]).model(&llm, Dialect::Chat, "");
    let serving = Serving::start(&home, telegram.token())?;
    let nothing = json!({ "answered_at": null, "failed_at": null, "reason": null, "failing_since": null });
    assert_eq!(status(&home).1["model"], nothing);
    for (text, answers) in [("hi", 1), ("and again", 2)] {
        telegram.push(Incoming::private(ANN).text(text));
        telegram.wait_for_messages(Duration::from_secs(100), answers).await?;
    }
    // A configuration that is refused is an error of the log, which names what is wrong with it.
    let good = std::fs::read_to_string(home.config_file())?;
    std::fs::write(home.config_file(), format!("{good}nope = 1\n"))?;
    serving.signal(rustix::process::Signal::USR1)?;
    let serving = serving.says("the one before stays in force")?;
    std::fs::write(home.config_file(), good)?;
    serving.end(Duration::from_secs(60))?;
    let (_, value) = status(&home);
    assert!(value["model"]["answered_at"].is_string() && value["model"]["failed_at"].is_string(), "{value}");
    let said = value["last_error"]["said"].as_str().expect("an error");
    assert!(said.contains("unknown field `nope`"), "{value}");
    let told = home.run(&["status"]).stdout;
    // The process that failed has ended, and the next one may not.
    assert!(
        value["model"]["failing_since"].is_null() && told.contains(": refused (HTTP status 400"),
        "{told}"
    );
    assert!(told.contains("\nmodel: last answered 2") && told.contains("\nlast error: 2"), "{told}");

    // What ends the next one is told of that.
    let ended = Serving::launch(&home, "123456:WRONG-token", &[], &[])?.wait(Duration::from_secs(100))?;
    assert_eq!(ended.code(), Some(2));
    let (_, value) = status(&home);
    let said = value["last_error"]["said"].as_str().expect("an error");
    assert!(said.contains("Telegram does not accept the bot's token") && !said.contains("WRONG"), "{value}");
    assert!(value["model"]["answered_at"].is_string(), "{value}");
    Ok(())
}

/// The status once it ends with this code.
async fn until(home: &Home, code: i32) -> anyhow::Result<Value> {
    let started = std::time::Instant::now();
    loop {
        let (ran, value) = status(home);
        if ran.code == Some(code) {
            return Ok(value);
        }
        anyhow::ensure!(started.elapsed() < Duration::from_secs(100), "not {code}: {value}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_model_that_answers_nobody_is_a_problem_with_its_reason_until_it_answers() -> anyhow::Result<()> {
    let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
    llm.script([
        Turn::status(401),
        Turn::status(404),
        Turn::plain("application/json", "{}"),
        Turn::say("hello"),
    ]);
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]).model(&llm, Dialect::Chat, "");
    let _serving = Serving::start(&home, telegram.token())?;
    assert_eq!(status(&home).0.code, Some(0), "nothing was tried yet");
    for (n, reason) in [
        (1, "the key is not accepted (HTTP status 401"),
        (2, "not found (HTTP status 404"),
        (3, "its answer cannot be read"),
    ] {
        telegram.push(Incoming::private(ANN).text("hi"));
        telegram.wait_for_messages(Duration::from_secs(100), n).await?;
        let started = std::time::Instant::now();
        // It is noted within some seconds.
        let value = loop {
            let value = until(&home, 3).await?;
            if value["model"]["reason"].as_str().is_some_and(|said| said.starts_with(reason)) {
                break value;
            }
            anyhow::ensure!(started.elapsed() < Duration::from_secs(100), "no {reason:?}: {value}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        assert!(value["running"] == true && value["model"]["failing_since"].is_string(), "{value}");
        let told = home.run(&["status"]);
        assert_eq!(told.code, Some(3), "{told:?}");
        let line = told.stdout.lines().find(|line| line.starts_with("model: ")).expect("told");
        assert!(line.contains("FAILS since 2") && line.contains(reason), "{line}");
    }
    telegram.push(Incoming::private(ANN).text("hi"));
    telegram.wait_for_messages(Duration::from_secs(100), 4).await?;
    let value = until(&home, 0).await?;
    assert!(value["model"]["answered_at"].is_string() && value["model"]["reason"].is_string(), "{value}");
    assert!(value["model"]["failing_since"].is_null(), "{value}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_store_that_takes_nothing_is_a_problem_with_its_reason_until_it_does() -> anyhow::Result<()> {
    let telegram = TelegramServer::start().await?;
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]);
    let _serving = Serving::start(&home, telegram.token())?;
    let other = rusqlite::Connection::open(home.state().join("cofferdam.db"))?;
    other.execute_batch("BEGIN IMMEDIATE")?;
    telegram.push(Incoming::private(ANN).text("/help"));
    let value = until(&home, 3).await?;
    assert!(value["store"]["failing_since"].is_string(), "{value}");
    assert!(value["store"]["reason"].as_str().is_some_and(|said| said.contains("locked")), "{value}");
    let told = home.run(&["status"]).stdout;
    assert!(told.contains("\nstore: FAILS since 2"), "{told}");
    other.execute_batch("ROLLBACK")?;
    telegram.wait_for_messages(Duration::from_secs(100), 1).await?;
    let value = until(&home, 0).await?;
    assert!(value["store"]["failed_at"].is_string() && value["store"]["failing_since"].is_null(), "{value}");
    Ok(())
}
