//! A real model, where somebody runs a server of one; the gate has none, so these are left out of
//! it. Such as:
//!
//! ```sh
//! llama-server -m model.gguf --jinja --alias m --port 8080
//! export MODEL_SERVER=http://127.0.0.1:8080 MODEL=m
//! cargo test -p cofferdam-tests --test it llm::real -- --ignored
//! ```
//!
//! What a model says is its own affair: they ask only that it is heard, shown while it comes, and
//! stopped.

use std::time::Duration;
use support::home::Home;
use support::llm::Dialect;
use support::serving::Serving;
use support::telegram::{Incoming, TelegramServer};

const ANN: i64 = 5_000_000_001;
/// On two cores a small model reads some thousand tokens of tools in a minute or more.
const PATIENCE: Duration = Duration::from_secs(600);

/// The lines that ask this server over this API.
fn provider(dialect: Dialect) -> String {
    let set = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} says where the model is"));
    let (server, model, kind) = (set("MODEL_SERVER"), set("MODEL"), dialect.kind());
    let base_url = if dialect == Dialect::Anthropic { server } else { format!("{server}/v1") };
    format!(
        "[provider]\nkind = {kind:?}\nbase_url = {base_url:?}\nmodel = {model:?}\nmax_output_tokens = 300\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "asks a real model: MODEL_SERVER and MODEL"]
async fn a_person_talks_to_a_model_and_stops_it() -> anyhow::Result<()> {
    for dialect in Dialect::ALL {
        let telegram = TelegramServer::start().await?;
        let home = Home::new().telegram(&telegram.api_url(), &[ANN]).config(&provider(dialect));
        let serving = Serving::start(&home, telegram.token())?;
        let first = telegram.push(Incoming::private(ANN).text("Who are you? Say it in one sentence."));
        telegram.wait_for_message(PATIENCE, |sent| sent.reply_to == Some(first.message_id)).await?;
        let story = telegram.push(Incoming::private(ANN).text("Tell a very long story of a ship."));
        // Some of it is there to be read before the whole is.
        let begun = telegram.sent_messages().len();
        telegram.wait_for_messages(PATIENCE, begun + 1).await?;
        telegram.push(Incoming::private(ANN).text("/cancel"));
        let stopped = |sent: &support::telegram::SentMessage| {
            sent.reply_to == Some(story.message_id) && sent.text.starts_with("Cancelled: ")
        };
        telegram.wait_for_message(PATIENCE, stopped).await?;
        let again = telegram.push(Incoming::private(ANN).text("And who am I?"));
        telegram.wait_for_message(PATIENCE, |sent| sent.reply_to == Some(again.message_id)).await?;
        let log = serving.log();
        assert!(
            !log.contains(" WARN cofferdam_agent::llm") && !log.contains("panicked"),
            "{dialect:?}: {log}"
        );
    }
    Ok(())
}
