//! The Telegram channel: long polling in, one reply a turn out, nothing lost or doubled in between.
//!
//! ```text
//! poll ─► admit ─► inbox ─► dispatch ─► lanes ─► answer ─► prepare, download, turn ─► outbound ─► send
//!         sender   durable              order    one unit  pure                       durable
//! ```
//!
//! The token stays in [`Token`] and the URLs of `api`. Messages of people whom the configuration does not
//! name are neither kept nor downloaded from.

mod admit;
mod answer;
mod api;
mod bot;
mod command;
mod config;
mod dispatch;
mod download;
mod failure;
mod lanes;
mod media;
mod menu;
mod poll;
mod prepare;
mod send;
mod token;
mod typing;
mod wire;
mod words;

pub use config::{Config, ConfigError, Timing};
pub use menu::MenuEntry;
pub use token::Token;

use crate::attachments::{self, BlobStore};
use crate::outbound::Backoff;
use crate::store::{Store, StoreError, now_ms};
use crate::turn::Runner;
use api::Api;
use bot::{Bot, Me, Stop, TURNS_AT_ONCE_MAX};
use dispatch::{Arrival, UNITS_MAX, dispatch};
use failure::Failure;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Everything that the channel needs from others.
pub struct Service {
    /// The section of the configuration.
    pub config: Config,
    /// The bot's token.
    pub token: Token,
    /// The inbox and the replies.
    pub store: Store,
    /// Answers turns.
    pub runner: Arc<Runner>,
    /// Takes the bytes of attachments.
    pub blobs: BlobStore,
    /// Limits on attachments.
    pub attachments: attachments::Config,
    /// The tools, for the command menu.
    pub menu: Vec<MenuEntry>,
}

/// Why the channel ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Telegram does not know the token.
    #[error("Telegram does not accept the bot's token in {variable} ({code}); copy it again from @BotFather")]
    Unauthorized {
        /// The environment variable.
        variable: String,
        /// HTTP status: 401, or 404 for a token of the wrong form.
        code: u16,
    },
    /// The section of the configuration is wrong.
    #[error("[channels.telegram] {0}")]
    Config(#[from] ConfigError),
    /// The HTTP client does not start.
    #[error("the HTTP client does not start: {0}")]
    Client(String),
    /// The store cannot be read at the start.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Pages in which the inbox is read at the start.
const PAGE: u32 = 100;
/// How often the store is pruned.
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// Serves until `stop`, then returns within 10 s, whatever the network does.
///
/// `announce` gets one line, when polling begins.
///
/// # Errors
/// [`ServeError`]; a network that fails is waited for and is none.
pub async fn serve(
    service: Service,
    announce: impl FnOnce(&str) + Send,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    service.config.check()?;
    let (base, reach) = service.config.address()?;
    let variable = service.config.token_env.clone();
    let ended = |failure: Failure| match failure {
        Failure::Unauthorized(code) => ServeError::Unauthorized { variable: variable.clone(), code },
        other => ServeError::Client(other.to_string()),
    };
    let api = Arc::new(Api::new(base, reach, service.token.clone()).map_err(ended)?);
    let Some(me) = who_am_i(&api, &stop).await.map_err(ended)? else { return Ok(()) };
    let name = me.username.clone().unwrap_or_else(|| me.id.to_string());
    let line = words::polling(&name, service.config.allowed_users.len());
    let menu = service.menu.clone();
    let bot = Arc::new(bot(service, api.clone(), me, stop.child_token()));

    let mut background = JoinSet::new();
    background.spawn(async move { menu::set_menu(&api, &menu).await });
    background.spawn(prune(bot.store.clone()));
    let (arrivals, queue) = mpsc::channel(UNITS_MAX);
    let polling = async {
        let polled = resume_and_poll(&bot, &arrivals, || announce(&line)).await;
        bot.stop.soon.cancel();
        polled
    };
    let (polled, ()) = tokio::join!(polling, dispatch(bot.clone(), queue));
    match polled? {
        None => Ok(()),
        Some(failure) => Err(ended(failure)),
    }
}

fn bot(service: Service, api: Arc<Api>, me: Me, soon: CancellationToken) -> Bot {
    Bot {
        api,
        store: service.store,
        runner: service.runner,
        blobs: service.blobs,
        limits: service.attachments,
        allowed: service.config.allowed_users.iter().copied().collect(),
        timing: service.config.timing,
        channel: format!("telegram-{}", me.id),
        me,
        permits: Semaphore::new(TURNS_AT_ONCE_MAX),
        stop: Stop { soon, now: CancellationToken::new() },
    }
}

/// The bot's account; waits for a network that is down. `None` on `stop`.
async fn who_am_i(api: &Api, stop: &CancellationToken) -> Result<Option<Me>, Failure> {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
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
async fn resume_and_poll(
    bot: &Bot,
    arrivals: &mpsc::Sender<Arrival>,
    announce: impl FnOnce(),
) -> Result<Option<Failure>, StoreError> {
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
    Ok(poll::poll(bot, arrivals).await.err())
}

/// Hands one piece of work on; waits where there is too much of it.
async fn hand_on(bot: &Bot, arrivals: &mpsc::Sender<Arrival>, arrival: Arrival) -> Flow {
    tokio::select! {
        sent = arrivals.send(arrival) => if sent.is_ok() { Flow::Goes } else { Flow::Stops },
        () = bot.stop.soon.cancelled() => Flow::Stops,
    }
}

/// Whether work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Goes,
    Stops,
}

async fn prune(store: Store) {
    loop {
        match store.prune(now_ms()).await {
            Ok(0) => {}
            Ok(count) => tracing::debug!(count, "old updates are forgotten"),
            Err(error) => tracing::warn!(%error, "old updates cannot be forgotten now"),
        }
        tokio::time::sleep(PRUNE_EVERY).await;
    }
}
