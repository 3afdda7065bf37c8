//! Messages, commands and their replies.

use super::channel::{Channel, Lasting, text_of};
use anyhow::{Result, ensure};
use serde_json::Value;
use support::llm::{Dialect, LlmServer, Turn};

/// One message of a person, one message of the bot.
pub(super) async fn a_message_has_one_reply<C: Channel>() -> Result<()> {
    let mut channel = C::running().await?;
    let said = channel.ask("hello").await?;
    ensure!(said == "I run commands, not conversations. /help lists them.", "{said}");
    channel.end(1, &[]).await
}

/// Those of one person: the second waits for the first, however fast it is.
pub(super) async fn messages_have_a_turn_each_in_their_order<C: Channel>() -> Result<()> {
    let mut channel = C::running().await?;
    let write = |n: usize| text_of(&format!("/file_write path=/shared/a content={n} append=true"));
    let asked = channel.write_all((0..5).map(write).collect());
    for (n, one) in asked.into_iter().enumerate() {
        let said: Value = serde_json::from_str(&channel.answer(one).await?)?;
        ensure!(said["total_bytes"] == n + 1, "{n}: {said}");
    }
    ensure!(channel.saved("/shared/a")? == b"01234");
    channel.end(5, &[]).await
}

/// A platform may tell of a message twice; while it is answered, and after that.
pub(super) async fn an_event_that_comes_again_is_the_same_turn<C: Lasting>() -> Result<()> {
    let mut channel = C::running().await?;
    let once = channel.write(text_of("/file_write path=/shared/a content=x append=true"));
    channel.repeat(once)?;
    channel.answer(once).await?;
    channel.repeat(once)?;
    // What comes behind it is done when this is answered.
    channel.ask("hello").await?;
    ensure!(channel.saved("/shared/a")? == b"x", "it ran once");
    channel.end(2, &[]).await
}

pub(super) async fn a_command_runs_and_its_call_is_audited<C: Channel>() -> Result<()> {
    let mut channel = C::running().await?;
    let said: Value =
        serde_json::from_str(&channel.ask("/file_write path='/shared/a b' content=hello").await?)?;
    ensure!(said["path"] == "/shared/a b", "{said}");
    ensure!(channel.saved("/shared/a b")? == b"hello");
    let audit = channel.home().audit();
    for event in ["intent", "outcome"] {
        let record = audit.iter().find(|record| record["event"] == event).expect("recorded");
        let whose = (record["channel"].as_str(), record["sender"].as_str(), record["tool"].as_str());
        ensure!(whose == (Some(C::NAME), Some(&*C::sender()), Some("file_write")), "{record}");
    }
    let help = channel.ask("/help").await?;
    ensure!(help.contains("/file_write path=TEXT"), "{help}");
    channel.end(2, &[]).await
}

pub(super) async fn a_command_that_is_unknown_is_told<C: Channel>() -> Result<()> {
    let mut channel = C::running().await?;
    let said = channel.ask("/no_such_tool path=/shared/a").await?;
    ensure!(said.starts_with("unknown_tool: no tool \"no_such_tool\"; there is "), "{said}");
    ensure!(said.contains("file_read"), "what there is, is told: {said}");
    let said = channel.ask("/file_read path=/shared/missing").await?;
    ensure!(said.starts_with("not_found: "), "{said}");
    channel.end(2, &[]).await
}

/// A block of code of so many lines, and a word behind it.
pub(super) fn long_answer() -> (Vec<String>, String) {
    let lines: Vec<_> = (0..400).map(|n| format!("let line_{n:03} = \"<é>\";")).collect();
    let text = format!("Here it is:\n\n```rust\n{}\n```\n\nThat is all.", lines.join("\n"));
    (lines, text)
}

/// Each part fits, none has half a block of code, and in their order they are the whole answer.
pub(super) async fn a_long_answer_comes_in_parts_that_read_as_one<C: Lasting>() -> Result<()> {
    let llm = LlmServer::start().await?;
    let (lines, text) = long_answer();
    llm.script([Turn::say(&text)]);
    let mut channel = C::start(|home| home.model(&llm, Dialect::Chat, "")).await?;
    channel.write(text_of("show me the code"));
    let parts = channel.parts("That is all.").await?;
    let least = text.chars().count() / C::PART_MAX;
    ensure!(parts.len() > least, "{} parts", parts.len());
    for (part, is_closed) in &parts {
        ensure!(part.chars().count() <= C::PART_MAX && *is_closed, "{part}");
    }
    let whole: String = parts.iter().map(|(part, _)| format!("{part}\n")).collect();
    let found: Vec<_> = whole.lines().filter(|line| line.contains("line_")).map(str::trim).collect();
    ensure!(found == lines, "{whole}");
    let count = parts.len();
    channel.end(count, &[llm.key()]).await
}

/// A model that fails repeats the question's key in what it says; nobody is told of it.
pub(super) async fn no_secret_is_repeated<C: Channel>() -> Result<()> {
    let llm = LlmServer::start().await?;
    let key = llm.key().to_owned();
    llm.script([Turn::status(401), Turn::say("fine again")]);
    let mut channel = C::start(|home| home.model(&llm, Dialect::Chat, "")).await?;
    let said = channel.ask("hello").await?;
    ensure!(said.contains("The model") && !said.contains(&key), "{said}");
    let said = channel.ask("hello again").await?;
    ensure!(said == "fine again", "{said}");
    channel.end(2, &[&key]).await
}
