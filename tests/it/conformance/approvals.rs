//! Calls that wait for a person.

use super::channel::{Channel, Verdict, text_of};
use anyhow::{Result, ensure};
use serde_json::Value;
use support::home::Home;

const WRITE: &str = "/file_write path=/shared/a content=agreed";

/// The default policies, where `file_write` asks each time.
fn asking(home: Home) -> Home {
    let home = home.own_policies();
    let text = std::fs::read_to_string(home.policies_dir().join("tools/file_write.toml")).expect("there");
    home.policy("tools/file_write.toml", &format!("{text}\n[approval]\n\"*\" = \"always\"\n"))
}

/// A channel whose person was asked about the call and has decided; the answer.
async fn decided<C: Channel>(verdict: Verdict) -> Result<(C, String)> {
    let mut channel = C::start(asking).await?;
    let asked = channel.write(text_of(WRITE));
    let question = channel.question().await?;
    ensure!(question.contains("file_write") && question.contains("creates /shared/a"), "{question}");
    ensure!(!channel.home().host("/shared/a").exists(), "nothing runs before the decision");
    channel.decide(verdict).await?;
    let said = channel.answer(asked).await?;
    Ok((channel, said))
}

/// What the audit says of the approval, and who decided.
fn audited<C: Channel>(channel: &C) -> Vec<(String, Value)> {
    let all = channel.home().audit().into_iter().filter(|record| record["event"] == "approval");
    all.map(|record| (record["approval"].as_str().unwrap_or_default().to_owned(), record["by"].clone()))
        .collect()
}

fn by<C: Channel>() -> Value {
    format!("{}:{}", C::NAME, C::sender()).into()
}

pub(super) async fn a_call_is_asked_about_and_runs_when_it_is_approved<C: Channel>() -> Result<()> {
    let (channel, said) = decided::<C>(Verdict::Approve).await?;
    ensure!(said.contains("\"total_bytes\":6"), "{said}");
    ensure!(channel.saved("/shared/a")? == b"agreed");
    let expected = [("asked".to_owned(), Value::Null), ("approved".to_owned(), by::<C>())];
    ensure!(audited(&channel) == expected, "{:?}", audited(&channel));
    channel.end(2, &[]).await
}

pub(super) async fn a_call_that_is_refused_does_not_run<C: Channel>() -> Result<()> {
    let (channel, said) = decided::<C>(Verdict::Deny).await?;
    ensure!(said.starts_with("approval_denied: "), "{said}");
    ensure!(!channel.home().host("/shared/a").exists());
    let expected = [("asked".to_owned(), Value::Null), ("denied".to_owned(), by::<C>())];
    ensure!(audited(&channel) == expected, "{:?}", audited(&channel));
    channel.end(2, &[]).await
}
