//! One harmless request that tells whether the bot's token is accepted: `getMe`. Never
//! `getUpdates`, which would take messages away from a gateway that polls.

use super::api::TelegramApi;
use super::bot::BotUser;
use super::config::{Config, FloodLimits};
use super::failure::ApiFailure;
use super::pace::Pace;
use super::people::configured_people;
use super::token::BotToken;
use cofferdam_chat::setup::{ProbeError, ProbeResponse};
use std::time::Duration;
use teloxide_core::payloads::GetMe;
use tokio_util::sync::CancellationToken;

/// What privacy mode keeps from a bot, and what the operator does about it.
pub const PRIVACY_MODE: (&str, &str) = (
    "a group has mention_required = false, and the bot is in privacy mode: unless it is an administrator there, \
     Telegram brings it only what is for it",
    "turn the mode off with @BotFather's /setprivacy, and add the bot to the group anew",
);

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountFacts {
    /// The bot, as for every channel.
    pub answered: ProbeResponse,
    /// [`PRIVACY_MODE`] keeps from it what it is to hear in a group.
    pub is_kept_from_groups: bool,
}

/// Asks the Bot API of this configuration who the bot with this token is, once, for at most
/// `limit`.
pub async fn probe_account(config: &Config, token: BotToken, limit: Duration) -> AccountFacts {
    let unreachable = |said: String| AccountFacts {
        answered: ProbeResponse { bot: Err(ProbeError::Unreachable(said)), date: None },
        is_kept_from_groups: false,
    };
    let api = match config.address() {
        // It sends no message, so there is nothing to pace.
        Ok(address) => {
            TelegramApi::new(address, token, Pace::new(FloodLimits::Server, CancellationToken::new()))
        }
        Err(error) => return unreachable(error.to_string()),
    };
    let (result, date) = match api {
        Ok(api) => api.call_dated(&GetMe::new(), limit).await,
        Err(failure) => return unreachable(failure.to_string()),
    };
    let me = result.and_then(|result| BotUser::read(&result));
    let groups = configured_people(config).groups;
    let is_kept_from_groups = me.as_ref().is_ok_and(|me| me.is_kept_from(&groups));
    let bot = me.map(|me| me.display_name()).map_err(|failure| match failure {
        ApiFailure::Unauthorized(code) => ProbeError::Refused("Telegram", code),
        ApiFailure::TooMany(wait) => ProbeError::Limited("Telegram", wait),
        other => ProbeError::Unreachable(other.to_string()),
    });
    AccountFacts { answered: ProbeResponse { bot, date }, is_kept_from_groups }
}
