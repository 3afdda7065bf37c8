//! People who talk to a model over Telegram: the real program between two servers on loopback.

mod attach;
mod budgets;
mod cancel;
mod commands;
mod composed;
mod group;
mod memory;
mod outputs;
mod reach;
mod resume;
mod secrets;
mod spent;
mod steer;
mod vault;

use super::world::{ANN, World};
use serde_json::{Value, json};
use support::home::Home;
use support::llm::{Call, Dialect, LlmServer, Turn};
use support::telegram::{Incoming, Pushed};

/// A running gateway whose model does this.
async fn agent(turns: impl IntoIterator<Item = Turn>) -> anyhow::Result<(World, LlmServer)> {
    agent_in(|home| home, turns).await
}

/// The same with more in its configuration or policies.
async fn agent_in(
    fit: impl FnOnce(Home) -> Home,
    turns: impl IntoIterator<Item = Turn>,
) -> anyhow::Result<(World, LlmServer)> {
    let llm = LlmServer::start().await?;
    llm.script(turns);
    let world = World::running_in(|home| fit(home.model(&llm, Dialect::Chat, ""))).await?;
    Ok((world, llm))
}

/// Holds the end of a test against what is true of every one.
fn end(world: World, llm: &LlmServer, messages: usize) -> anyhow::Result<()> {
    assert_eq!((llm.violations(), llm.left()), (Vec::<String>::new(), 0));
    world.end(messages)
}

fn text(text: &str) -> Incoming {
    Incoming::private(ANN).text(text)
}

/// A call that writes a text.
fn write(path: &str, content: &str) -> Call {
    Call::new("file_write", json!({ "path": path, "content": content }))
}

/// What a model was shown of a result.
fn shown(result: &str) -> Value {
    serde_json::from_str(result).expect("one JSON value")
}

/// Outcomes of a tool in the audit, by their code; none for success.
fn outcomes(world: &World, tool: &str) -> Vec<Option<String>> {
    let records = world.home.audit().into_iter();
    let of = records.filter(|record| record["event"] == "outcome" && record["tool"] == tool);
    of.map(|record| record["code"].as_str().map(str::to_owned)).collect()
}
