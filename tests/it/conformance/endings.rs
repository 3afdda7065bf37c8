//! What ends before it is done: by the person, by `kill -9`, by a stop.

use super::channel::{Channel, Lasting, text_of};
use anyhow::{Result, ensure};
use support::platform::{Message, Step};

pub(super) async fn what_runs_can_be_cancelled<C: Channel>() -> Result<()> {
    let mut channel = C::start(|home| home.hostile("deadline = \"120s\"")).await?;
    let slow = channel.write(text_of("/hostile behaviour=report_until:step path=/shared/go"));
    channel.is_doing("step").await?;
    channel.cancel();
    let said = channel.answer(slow).await?;
    ensure!(said.starts_with("cancelled: "), "{said}");
    let outcome = channel.home().audit().pop().expect("recorded");
    ensure!(outcome["code"] == "cancelled", "{outcome}");
    for (text, answer) in [
        ("hello", "I run commands, not conversations. /help lists them."),
        ("/cancel", "Nothing is running here."),
        ("/retry", "There is no conversation here: each message stands alone."),
    ] {
        let said = channel.ask(text).await?;
        ensure!(said == answer, "{text}: {said}");
    }
    channel.end(4, &[]).await
}

fn save() -> Message {
    text_of("/attachment_save index=0 path=/shared/once").file("once.txt", "once")
}

/// At the step at which nothing was sent yet.
pub(super) async fn a_kill_before_the_reply_leaves_exactly_one<C: Lasting>() -> Result<()> {
    for step in [Step::Fetch, Step::Send] {
        let mut channel = C::running().await?;
        let gate = channel.hold(step);
        let asked = channel.write(save());
        gate.reached().await?;
        channel.kill();
        gate.discard();
        channel.start_again()?;
        let said = channel.answer(asked).await?;
        ensure!(said.contains("\"saved\":true"), "{step:?}: {said}");
        ensure!(channel.saved("/shared/once")? == b"once");
        // Its event may come once more.
        channel.repeat(asked)?;
        channel.ask("hello").await?;
        channel.end(2, &[]).await?;
    }
    Ok(())
}

/// The stop waits for it, and then leaves it whole.
pub(super) async fn a_stop_in_the_middle_is_finished_by_the_next_start<C: Lasting>() -> Result<()> {
    let mut channel = C::running().await?;
    let gate = channel.hold(Step::Fetch);
    let asked = channel.write(save());
    gate.reached().await?;
    channel.stop()?;
    ensure!(channel.messages() == 0 && !channel.home().host("/shared/once").exists());
    gate.discard();
    channel.start_again()?;
    let said = channel.answer(asked).await?;
    ensure!(said.contains("\"saved\":true"), "{said}");
    ensure!(channel.saved("/shared/once")? == b"once");
    channel.repeat(asked)?;
    channel.ask("hello").await?;
    let intents = channel.home().audit().into_iter().filter(|record| record["event"] == "intent").count();
    ensure!(intents == 1, "it ran once");
    channel.end(2, &[]).await
}
