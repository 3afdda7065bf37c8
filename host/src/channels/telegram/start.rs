//! The way from the start to polling: who the bot is, what the last run left, and what runs beside.

use super::api::Api;
use super::bot::{Bot, Bots, Me};
use super::dispatch::Arrival;
use super::failure::Failure;
use super::poll::poll;
use super::pulse;
use crate::outbound::Backoff;
use crate::store::{Store, StoreError, now_ms};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Pages in which the inbox is read at the start.
const PAGE: u32 = 100;
/// How often the store is pruned.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

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
    arrivals: &mpsc::Sender<Arrival>,
    announce: impl FnOnce(),
) -> Result<Option<Failure>, StoreError> {
    let bot = &*bots.borrow().clone();
    let replies = bot.store.unsent(&bot.channel).await?.into_iter().map(Arrival::Reply);
    let turns = bot.store.bound(&bot.channel).await?.into_iter().map(Arrival::Bound);
    let left: Vec<_> = replies.chain(turns).collect();
    if !left.is_empty() {
        tracing::info!(count = left.len(), "continuing what the last run left");
    }
    for arrival in left {
        if hand_on(bot, arrivals, arrival).await == Flow::Stops {
            return Ok(None);
        }
    }
    let mut after = None;
    loop {
        let page = bot.store.pending(&bot.channel, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.update_id);
        for update in page {
            if hand_on(bot, arrivals, Arrival::Update(update)).await == Flow::Stops {
                return Ok(None);
            }
        }
    }
    announce();
    Ok(pulse::poller(poll(bots, arrivals)).await.err())
}

/// Hands one piece of work on; waits where there is too much of it.
pub(super) async fn hand_on(bot: &Bot, arrivals: &mpsc::Sender<Arrival>, arrival: Arrival) -> Flow {
    pulse::waits();
    let flow = tokio::select! {
        sent = arrivals.send(arrival) => if sent.is_ok() { Flow::Goes } else { Flow::Stops },
        () = bot.stop.soon.cancelled() => Flow::Stops,
    };
    pulse::goes_on_within(Duration::ZERO);
    flow
}

/// Whether work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Goes,
    Stops,
}

/// Forgets what is done and old, for as long as the bot runs.
pub(super) async fn prune(store: Store) {
    loop {
        match store.prune(now_ms()).await {
            Ok(0) => {}
            Ok(count) => tracing::debug!(count, "old updates are forgotten"),
            Err(error) => tracing::warn!(%error, "old updates cannot be forgotten now"),
        }
        tokio::time::sleep(PRUNE_EVERY).await;
    }
}
