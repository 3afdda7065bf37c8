//! Words that try to steer: names, types, captions, contents of files, outputs of tools, the
//! model's own words, presses of buttons. `tests/adversarial/injections.toml` has the cases, and
//! each is played over all three APIs.
//!
//! After every case the same holds: the task that the model is told is the operator's alone; who
//! said what is as it was, request for request; what a tool answered is one line of JSON that says
//! whose words they are; each call ended as policy decides, in the audit under the person's number;
//! and in the workspace changed what the case names, and nothing else.

mod case;
mod seen;
mod stage;

pub(super) use case::Table;

use stage::Stage;
use support::llm::Dialect;

/// Plays every case over one API; all that fail are told, each by its name.
async fn played(dialect: Dialect) -> anyhow::Result<()> {
    let cases = super::table::<Table>("injections").case;
    let count = cases.len();
    let mut stage = Stage::start(dialect, count).await?;
    let mut wrong = Vec::new();
    for case in cases {
        let name = case.name.clone();
        if let Err(said) = stage.play(case).await {
            wrong.push(format!("{name}: {said:#}"));
            // What the case left open must not make others fail.
            stage = Stage::start(dialect, count).await?;
        }
    }
    assert!(wrong.is_empty(), "{} are not as the table says:\n{}", wrong.len(), wrong.join("\n"));
    stage.end()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn over_chat_completions() -> anyhow::Result<()> {
    played(Dialect::Chat).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn over_messages() -> anyhow::Result<()> {
    played(Dialect::Anthropic).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn over_responses() -> anyhow::Result<()> {
    played(Dialect::Responses).await
}
