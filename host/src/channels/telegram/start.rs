//! The way from the start to polling: who the bot is, what the last run left, and what runs beside.

use super::api::Api;
use super::arrivals;
use super::bot::{Bot, Bots, Me};
use super::failure::Failure;
use super::poll::poll;
use super::pulse;
use crate::outbound::Backoff;
use crate::store::{Store, StoreError, Update, now_ms};
use crate::turn::lanes::{Arrival, STOPS_AT_ONCE_MAX};
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
    lanes: &mpsc::Sender<Arrival>,
    announce: impl FnOnce(),
) -> Result<Option<Failure>, StoreError> {
    let bot = &*bots.borrow().clone();
    let replies = bot.store.unsent(&bot.channel).await?.into_iter();
    let turns = bot.store.bound(&bot.channel).await?.into_iter();
    let replies = replies.map(|reply| arrivals::reply(bot, reply));
    let left: Vec<_> = replies.chain(turns.map(|turn| arrivals::bound(bot, turn))).collect();
    if !left.is_empty() {
        tracing::info!(count = left.len(), "continuing what the last run left");
    }
    for arrival in left.into_iter().chain(stops(bot).await?).chain([Arrival::Inbox]) {
        if hand_on(bot, lanes, arrival).await == Flow::Stops {
            return Ok(None);
        }
    }
    announce();
    Ok(pulse::poller(poll(bots, lanes)).await.err())
}

/// The messages of the inbox that ask to stop something: they wait for nothing that came before them.
async fn stops(bot: &Bot) -> Result<Vec<Arrival>, StoreError> {
    let (mut found, mut after) = (Vec::new(), None);
    while found.len() < STOPS_AT_ONCE_MAX {
        let page = bot.store.pending(&bot.channel, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.update_id);
        let stopping = |update: &Update| arrivals::stopping(bot, update.update_id, &update.raw);
        found.extend(page.iter().filter_map(stopping).map(Arrival::Stop));
    }
    found.truncate(STOPS_AT_ONCE_MAX);
    Ok(found)
}

/// Hands one piece of work on.
pub(super) async fn hand_on(bot: &Bot, lanes: &mpsc::Sender<Arrival>, arrival: Arrival) -> Flow {
    tokio::select! {
        sent = lanes.send(arrival) => if sent.is_ok() { Flow::Goes } else { Flow::Stops },
        () = bot.stop.soon.cancelled() => Flow::Stops,
    }
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
