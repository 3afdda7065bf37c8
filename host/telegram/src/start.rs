//! Who the bot is, which is asked before anything else.

use super::api::Api;
use super::bot::Me;
use super::failure::Failure;
use cofferdam_chat::setup::wait_for;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The bot's account; waits for a network that is down. `None` on `stop`.
pub(super) async fn who_am_i(api: &Api, stop: &CancellationToken) -> Result<Option<Me>, Failure> {
    let asks_for = |failure: &Failure| match failure {
        Failure::Unauthorized(_) => None,
        Failure::TooMany(asked) => Some(*asked),
        _ => Some(Duration::ZERO),
    };
    let pauses = (Duration::from_millis(500), Duration::from_secs(10));
    wait_for("Telegram", pauses, stop, || Me::ask(api), asks_for).await
}
