//! One harmless request that tells whether the bot's token is accepted: `getMe`. Never
//! `getUpdates`, which would take messages away from a gateway that polls.

use super::api::TelegramApi;
use super::bot::BotUser;
use super::config::{Config, FloodLimits};
use super::failure::ApiFailure;
use super::pace::Pace;
use super::people::configured_people;
use super::token::BotToken;
use cofferdam_chat::setup::{BotFacts, Obstacle, ProbeError};
use std::time::Duration;
use teloxide_core::payloads::GetMe;
use tokio_util::sync::CancellationToken;

/// What privacy mode keeps from a bot, and what the operator does about it.
pub(super) const PRIVACY_MODE: (&str, &str) = (
    "a group has mention_required = false, and the bot is in privacy mode: unless it is an administrator there, \
     Telegram brings it only what is for it",
    "turn the mode off with @BotFather's /setprivacy, and add the bot to the group anew",
);

/// Asks the Bot API of this configuration who the bot with this token is, once, for at most
/// `limit`.
pub async fn probe_account(config: &Config, token: BotToken, limit: Duration) -> BotFacts {
    let unreachable = |said: String| BotFacts::unknown(ProbeError::Unreachable(said), None);
    let api = match config.address() {
        // It sends no message, so there is nothing to pace.
        Ok(address) => {
            TelegramApi::new(address, token, Pace::new(FloodLimits::Server, CancellationToken::new(), None))
        }
        Err(error) => return unreachable(error.to_string()),
    };
    let (result, date) = match api {
        Ok(api) => api.call_dated(&GetMe::new(), limit).await,
        Err(failure) => return unreachable(failure.to_string()),
    };
    let me = result.and_then(|result| BotUser::read(&result));
    let groups = configured_people(config).groups;
    let is_kept = me.as_ref().is_ok_and(|me| me.is_kept_from(&groups));
    let (what, mend) = PRIVACY_MODE;
    let obstacles = is_kept.then(|| Obstacle { is_minor: true, ..Obstacle::new(what, mend) });
    let bot = me.map(|me| me.display_name()).map_err(|failure| match failure {
        ApiFailure::Unauthorized(code) => ProbeError::Refused("Telegram", code),
        ApiFailure::TooMany(wait) => ProbeError::Limited("Telegram", wait),
        other => ProbeError::Unreachable(other.to_string()),
    });
    BotFacts { bot, date, obstacles: obstacles.into_iter().collect(), invite: None }
}
