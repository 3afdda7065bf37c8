//! Who the bot is, which is asked before anything else.

use super::api::TelegramApi;
use super::bot::BotUser;
use super::failure::ApiFailure;
use cofferdam_chat::setup::wait_for;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The bot's account; waits for a network that is down. `None` on `stop`.
pub(super) async fn fetch_account(
    api: &TelegramApi,
    stop: &CancellationToken,
) -> Result<Option<BotUser>, ApiFailure> {
    let asks_for = |failure: &ApiFailure| match failure {
        ApiFailure::Unauthorized(_) => None,
        ApiFailure::TooMany(asked) => Some(*asked),
        _ => Some(Duration::ZERO),
    };
    let pauses = (Duration::from_millis(500), Duration::from_secs(10));
    wait_for("Telegram", pauses, stop, || BotUser::ask(api), asks_for).await
}
