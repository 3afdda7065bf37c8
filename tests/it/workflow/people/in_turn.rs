//! Writing to people from within a turn, and replies that go on with its request: with commands and
//! with a model.

mod discord;
mod going_on;
mod kill;
mod rules;
mod sending;

use super::*;
use cofferdam_core::schema::Schema;
use serde_json::json;
use support::llm::{Call, Dialect, LlmServer, RequestRecord, Turn};

/// A gateway with commands alone, that serves Ann, Ben and Cat.
async fn plain() -> anyhow::Result<World> {
    let mut world = World::stopped(&[]).await?;
    world.start()?;
    Ok(world)
}

/// One whose model does this.
async fn agent(
    model: impl Fn(&RequestRecord) -> Turn + Send + Sync + 'static,
) -> anyhow::Result<(World, LlmServer)> {
    let llm = LlmServer::start().await?;
    llm.otherwise(model);
    let mut world = World::stopped(&[]).await?;
    world.home = world.home.model(&llm, Dialect::Chat, "");
    world.start()?;
    Ok((world, llm))
}

/// What the last tool has answered since the person's last message, if any did.
fn result(request: &RequestRecord) -> Option<Value> {
    let messages = request.messages();
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    let result = messages[last..].iter().rfind(|message| message["role"] == "tool")?;
    serde_json::from_str(result["content"].as_str()?).ok()
}

/// The names of the tools that were called since then.
fn called(request: &RequestRecord) -> usize {
    let messages = request.messages();
    let last = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
    messages[last..].iter().filter(|message| message["role"] == "tool").count()
}

/// Asks Ben, waits, and says what he says.
fn asks_ben(request: &RequestRecord) -> Turn {
    let (about, _) = request.last_said();
    if about["goes_on"].is_object() {
        let goes_on = &about["goes_on"];
        assert_eq!(
            (&about["untrusted"], &goes_on["summary"]),
            (&json!(true), &json!("Ann asks when it comes"))
        );
        return match goes_on["reply"]["text"].as_str() {
            Some(text) => Turn::say(&format!("Ben says: {text}")),
            None => Turn::say("Ben does not say."),
        };
    }
    let found = result(request).unwrap_or_default();
    if let Some(code) = found["error"]["code"].as_str() {
        return Turn::say(&format!("It failed: {code}."));
    }
    let found = &found["result"];
    let all = request.results();
    let workflow = || {
        let first: Value = serde_json::from_str(&all[all.len() - 2]).unwrap_or_default();
        first["result"]["workflow"].clone()
    };
    match called(request) {
        0 => Turn::calls([Call::new("workflow_create", json!({ "summary": "Ann asks when it comes" }))]),
        1 => {
            let send = json!({ "to": format!("telegram:{BEN}"), "text": "When does it come?" });
            let arguments = json!({ "workflow": found["workflow"], "send": send });
            Turn::calls([Call::new("workflow_task_create", arguments)])
        }
        2 => {
            let arguments =
                json!({ "workflow": workflow(), "messageId": found["messageId"], "timeout": "24h" });
            Turn::calls([Call::new("workflow_wait_for_reply", arguments)])
        }
        _ => Turn::say("I have asked Ben."),
    }
}

/// That a tool's result is what the tool promises of it.
fn fits(world: &World, tool: &str, result: &Value) {
    let tools = world.home.run(&["tools", "--json"]).json();
    let described = tools.as_array().into_iter().flatten().find(|one| one["name"] == tool);
    let promised = &described.unwrap_or_else(|| panic!("{tool} is not there"))["result"];
    assert_eq!(promised["type"], "object", "{promised}");
    let schema = Schema::compile(promised).expect("a schema");
    assert!(schema.check(result, 1_000_000).is_ok(), "{tool}: {result}, {promised}");
}

/// The question whether a call may run, once it is asked.
async fn question(world: &World, tool: &str) -> anyhow::Result<SentMessage> {
    let is_it = |sent: &SentMessage| sent.message["reply_markup"].is_object() && sent.text.starts_with(tool);
    let found = world.server.wait_for_message(PATIENCE, is_it).await;
    found.map_err(|error| anyhow::anyhow!("{tool}: {error}\n{}", world.log()))
}

/// Ann decides: 0 is yes.
fn decide(world: &World, question: &SentMessage, button: usize) {
    let buttons = question.message["reply_markup"]["inline_keyboard"].as_array().expect("rows");
    let all: Vec<_> = buttons.iter().flat_map(|row| row.as_array().cloned().unwrap_or_default()).collect();
    let data = all[button]["callback_data"].as_str().expect("a button").to_owned();
    world.server.push(Incoming::callback(ANN, &question.message, &data));
}

/// Messages to Ben that begin so.
fn to_ben(world: &World, words: &str) -> usize {
    world.texts_to(BEN).iter().filter(|text| text.starts_with(words)).count()
}

/// Ann asks the model to ask Ben, and agrees to the message: her request, and what Ben got.
async fn asked(world: &World) -> anyhow::Result<(Pushed, SentMessage)> {
    let asked = world.ask("ask Ben when it comes");
    decide(world, &question(world, "workflow_task_create").await?, 0);
    let message = world.said_to(BEN, "When does it come?").await?;
    world.answer(&asked, "I have asked Ben.").await?;
    world.stands("waiting").await?;
    Ok((asked, message))
}
