//! The way from the start to polling: who the bot is, what the last run left, and what runs beside.

use super::PULSE;
use super::api::Api;
use super::bot::{Bots, Me};
use super::failure::Failure;
use super::poll::poll;
use cofferdam_agent::server::Backoff;
use cofferdam_chat::answering::{Flow, arrivals, hand_on};
use cofferdam_chat::lanes::Arrival;
use cofferdam_store::StoreError;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The bot's account; waits for a network that is down. `None` on `stop`.
pub(super) async fn who_am_i(api: &Api, stop: &CancellationToken) -> Result<Option<Me>, Failure> {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));
    loop {
        let asked = tokio::select! {
            asked = Me::ask(api) => asked,
            () = stop.cancelled() => return Ok(None),
        };
        let failure = match asked {
            Ok(me) => return Ok(Some(me)),
            Err(failure @ Failure::Unauthorized(_)) => return Err(failure),
            Err(failure) => failure,
        };
        if !backoff.is_failing() {
            tracing::warn!("waiting for Telegram: {failure}");
        }
        let pause = match failure {
            Failure::TooMany(asked) => asked.max(backoff.pause()),
            _ => backoff.pause(),
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}

/// Hands on what the last run left, replies first, then polls. `Some` is a refused token.
pub(super) async fn resume_and_poll(
    bots: &Bots,
    lanes: &mpsc::Sender<Arrival>,
    announce: impl FnOnce(),
) -> Result<Option<Failure>, StoreError> {
    let bot = &*bots.borrow().clone();
    for arrival in arrivals::left(bot).await? {
        if hand_on(&bot.base, lanes, arrival).await == Flow::Stops {
            return Ok(None);
        }
    }
    announce();
    Ok(PULSE.of_loop(poll(bots, lanes)).await.err())
}
