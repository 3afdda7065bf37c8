//! One harmless request that tells whether the bot's token is accepted: `getMe`. Never
//! `getUpdates`, which would take messages away from a gateway that polls.

use super::api::TelegramApi;
use super::bot::BotUser;
use super::config::{Config, FloodLimits};
use super::failure::ApiFailure;
use super::pace::Pace;
use super::token::BotToken;
use cofferdam_chat::setup::{ProbeError, ProbeResponse};
use std::time::Duration;
use teloxide_core::payloads::GetMe;
use tokio_util::sync::CancellationToken;

/// Asks the Bot API of this configuration who the bot with this token is, once, for at most
/// `limit`.
pub async fn probe_account(config: &Config, token: BotToken, limit: Duration) -> ProbeResponse {
    let unreachable = |said: String| ProbeResponse { bot: Err(ProbeError::Unreachable(said)), date: None };
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
    let bot = result.and_then(|result| BotUser::read(&result)).map(|me| me.display_name());
    let bot = bot.map_err(|failure| match failure {
        ApiFailure::Unauthorized(code) => ProbeError::Refused("Telegram", code),
        other => ProbeError::Unreachable(other.to_string()),
    });
    ProbeResponse { bot, date }
}
