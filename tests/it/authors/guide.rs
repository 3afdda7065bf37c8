//! `docs/writing-a-tool.md`, done to the letter: its shell blocks, in order, in an empty folder,
//! with the built program on PATH; and at the end the new tool answers as a command of a running
//! bot.

use super::author;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::home::Ran;
use support::serving::Serving;
use support::telegram::{Incoming, TelegramServer};

/// The id that the guide's configuration serves.
const READER: i64 = 123_456_789;
const PATIENCE: Duration = Duration::from_secs(100);

fn guide() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/writing-a-tool.md");
    std::fs::read_to_string(file).expect("the guide is there")
}

/// The blocks whose fence says this, joined.
fn blocks(text: &str, fence: &str) -> String {
    let mut found = String::new();
    for block in text.split("\n```").skip(1).step_by(2) {
        let (info, body) = block.split_once('\n').unwrap_or((block, ""));
        if info.trim() == fence {
            found.push_str(body);
            found.push('\n');
        }
    }
    found
}

#[test]
fn the_guides_blocks_are_found() {
    let text = "a\n```sh guide\nx 1\nx 2\n```\nb\n```sh\nno\n```\n```sh guide\nx 3\n```\n```sh guide serve\ny\n```\n";
    assert_eq!(blocks(text, "sh guide"), "x 1\nx 2\nx 3\n");
    assert_eq!(blocks(text, "sh guide serve"), "y\n");
    let guide = guide();
    for command in ["tool new", "tool test", "tool run", "--pin", "policy check", "cofferdam call"] {
        assert!(blocks(&guide, "sh guide").contains(command), "{command}");
    }
}

/// Everything but the bot, and where it was done.
fn done(dir: &Path) -> (Ran, PathBuf) {
    let script = blocks(&guide(), "sh guide");
    let ran: Ran =
        author(dir, "bash", &["-euo", "pipefail", "-c", &script]).output().expect("bash starts").into();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    (ran, dir.join("hello"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn from_an_empty_folder_to_a_running_bots_command() -> anyhow::Result<()> {
    if !support::needs::available("authors::guide", "rustup", support::needs::program("rustup")) {
        return Ok(());
    }
    let empty = tempfile::tempdir()?;
    let (ran, hello) = done(empty.path());
    let said: Vec<&str> = ran.stdout.lines().collect();
    for line in [
        "2 passed, 0 failed",
        "{\"greeting\":\"Hello Hello, Ada!\"}",
        "verdict   loads under policies/tools/hello.toml",
        "policies ok: 1 tools",
        "{\"greeting\":\"Hello, Ada!\"}",
        "hello  Greets somebody by name.",
    ] {
        assert!(said.contains(&line), "{line:?} in {}", ran.stdout);
    }
    // What was tried was nobody's business; the one call of the gateway is in its audit.
    let audit = std::fs::read_to_string(hello.join("state/audit.jsonl"))?;
    let records: Vec<Value> = audit.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert_eq!(records.len(), 1, "{audit}");
    assert_eq!(records[0]["tool"], "hello");

    let server = TelegramServer::start().await?;
    let mut serve =
        author(&hello, "bash", &["-euc", &format!("exec {}", blocks(&guide(), "sh guide serve").trim())]);
    serve.env("COFFERDAM_CHANNELS_TELEGRAM_API_URL", server.api_url());
    let serving = Serving::spawn(serve, server.token())?.polling()?;
    let pushed = server.push(Incoming::private(READER).text("/hello name=Ada"));
    let answers = |sent: &support::telegram::SentMessage| sent.reply_to == Some(pushed.message_id);
    let answer = server.wait_for_message(PATIENCE, answers).await?;
    assert_eq!(answer.text, "{\"greeting\":\"Hello, Ada!\"}", "{}", serving.log());
    serving.end(Duration::from_secs(10))?;
    Ok(())
}
