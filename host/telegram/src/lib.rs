//! The Telegram channel: long polling in, one reply a turn out, nothing lost or doubled in between.
//!
//! ```text
//! poll ─► admission ─► inbox ─► queues ─► handler ─► prepare, download, turn ─► outbound ─► send
//!         sender   durable  order    one unit     pure                       durable
//! ```
//!
//! A press of a button is decided by the poller itself (`presses`), before it is confirmed; the
//! turn that waits for it (`approvals`) holds its queue meanwhile, and nothing else.
//!
//! Who is served, and what holds in which group, is asked for each message (`people`); a group that
//! moved is one place with two ids (`moves`).
//!
//! The token stays in [`BotToken`] and the URLs of `api`. Messages of people who are not served are
//! neither kept nor downloaded from.

mod about;
mod admission;
mod api;
mod approvals;
mod bot;
mod channel;
mod config;
mod content;
mod context;
mod cursor;
mod download;
mod failure;
#[cfg(test)]
mod fuzzing;
mod html;
mod media;
mod mention;
mod menu;
mod moves;
mod outline;
mod pace;
mod people;
mod placeholder;
mod poll;
mod prepare;
mod presses;
mod probe;
mod send;
mod token;
mod upload;
mod wire;

pub use config::{Config, FloodLimits, PLATFORM};
pub use probe::probe_account;
pub use token::BotToken;

use api::TelegramApi;
use bot::{BotUser, TelegramBot};
use cofferdam_chat::handler::CurrentChannel;
use cofferdam_chat::loop_health::LoopHealth;
use cofferdam_chat::people::words::who_is_served;
use cofferdam_chat::session_queue::{AlbumWindow, Arrival};
use cofferdam_chat::setup::{self, Renewal, ServeError, Services, run, wait_for};
use failure::ApiFailure;
use moves::Moves;
use pace::Pace;
use people::{CHANNEL, configured_people};
use poll::poll;
use presses::ANSWERS_AT_ONCE_MAX;
use probe::PRIVACY_MODE;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// Whether the poller of this process goes on.
pub static PULSE: LoopHealth = LoopHealth::new(CHANNEL);

/// How long further parts of an album are waited for.
const ALBUMS: AlbumWindow =
    AlbumWindow { silence: Duration::from_millis(1500), cap: Duration::from_secs(10) };

/// Serves until `stop`, then returns within 10 s, in any state of the network.
///
/// The bot is its section of the configuration and its token. `announce` gets one line, when
/// polling begins. `renewals` bring configurations that come into force meanwhile.
///
/// # Errors
/// [`ServeError`]; a network that fails is waited for and is none.
pub async fn serve(
    (config, token): (Config, BotToken),
    services: Services,
    announce: impl FnOnce(&str) + Send,
    renewals: mpsc::Receiver<Renewal<Config>>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let place = config.token_at().place();
    let (menu, users) = (services.settings.menu.clone(), config.allowed_users.len());
    let presence = services.presence.clone();
    let Some(bot) = open((config, token), services, &stop).await? else { return Ok(()) };
    let name = bot.me.username.clone().unwrap_or_else(|| bot.me.id.to_string());
    presence.note_account(CHANNEL, &bot.me.display_name());
    let who = who_is_served(users, bot.base.door.let_in(), &bot.base.door.groups().summarize("group"));
    let line = format!("polling as @{name} {who}");
    if bot.me.is_kept_from(bot.base.door.groups()) {
        let (what, mend) = PRIVACY_MODE;
        tracing::warn!("{what}; {mend}");
    }
    run(bot, menu, renewals, &PULSE, async |bots: &CurrentChannel<_>, arrivals: &mpsc::Sender<Arrival>| {
        announce(&line);
        poll(bots, arrivals).await.map_err(|failure| poll_error(failure, &place))
    })
    .await
}

/// Sends what it is handed, and hears nothing, until `stop`.
///
/// # Errors
/// [`ServeError`].
pub async fn speak(
    bot: (Config, BotToken),
    services: Services,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let Some(bot) = open(bot, services, &stop).await? else { return Ok(()) };
    setup::speak(bot).await;
    Ok(())
}

/// The bot, once Telegram has said who it is; waits for a network that is down. `None` on `stop`.
async fn open(
    (config, token): (Config, BotToken),
    services: Services,
    stop: &CancellationToken,
) -> Result<Option<Arc<TelegramBot>>, ServeError> {
    config.check()?;
    let place = config.token_at().place();
    let ended = |failure: ApiFailure| poll_error(failure, &place);
    let soon = stop.child_token();
    let pace = Pace::new(config.flood_limits, soon.clone(), Some(services.store.clone()));
    let api = Arc::new(TelegramApi::new(config.address()?, token, pace).map_err(ended)?);
    let asks_for = |failure: &ApiFailure| match failure {
        ApiFailure::Unauthorized(_) => None,
        ApiFailure::TooMany(asked) => Some(*asked),
        _ => Some(Duration::ZERO),
    };
    let pauses = (Duration::from_millis(500), Duration::from_secs(10));
    let asked = wait_for("Telegram", pauses, stop, || BotUser::ask(&api), asks_for).await;
    let Some(me) = asked.map_err(ended)? else { return Ok(None) };
    // In the store another bot's update ids never meet this one's.
    let channel = format!("telegram-{}", me.id);
    let moves = Moves::new(services.store.load_moves(&channel).await?);
    let base = services.base((CHANNEL, channel), soon, configured_people(&config), ALBUMS);
    let answers = Arc::new(Semaphore::new(ANSWERS_AT_ONCE_MAX));
    Ok(Some(Arc::new(TelegramBot { base, api, presence: services.presence, moves, me, answers })))
}

fn poll_error(failure: ApiFailure, place: &str) -> ServeError {
    match failure {
        // HTTP status 401, or 404 for a token of the wrong form.
        ApiFailure::Unauthorized(code) => ServeError::Refused(format!(
            "Telegram does not accept the bot's token in {place} ({code}); copy it again from @BotFather"
        )),
        other => ServeError::Client(other.to_string()),
    }
}
