//! A bot with a model: a photo comes over Telegram, the model has it saved, and its answer is the
//! reply.

use serde_json::json;
use std::time::Duration;
use support::home::Home;
use support::llm::{Call, Dialect, LlmServer, Turn};
use support::serving::Serving;
use support::telegram::{Incoming, Media, TelegramServer};

const ANN: i64 = 5_000_000_001;
const PATIENCE: Duration = Duration::from_secs(100);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_photo_is_saved_by_a_model_and_its_answer_is_the_reply() -> anyhow::Result<()> {
    let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
    let home = Home::new().telegram(&telegram.api_url(), &[ANN]).model(&llm, Dialect::Anthropic, "");
    llm.script([
        Turn::calls([Call::new("attachment_save", json!({ "index": 0, "path": "/shared/photo" }))]),
        Turn::say("It is saved."),
    ]);
    let serving = Serving::start(&home, telegram.token())?;
    let photo = Media::with_content("p", "a photo");
    let pushed = telegram.push(Incoming::private(ANN).photo(photo).caption("keep this, please"));
    let answers = |sent: &support::telegram::SentMessage| sent.reply_to == Some(pushed.message_id);
    let answer = telegram.wait_for_message(PATIENCE, answers).await?;
    assert!(answer.text.ends_with("It is saved."), "{}", answer.text);
    assert_eq!(std::fs::read(home.host("/shared/photo"))?, b"a photo");
    assert_eq!(llm.violations(), [""; 0]);
    let log = serving.log();
    assert!(!log.contains(llm.key()) && !log.contains("panicked"), "{log}");
    Ok(())
}
