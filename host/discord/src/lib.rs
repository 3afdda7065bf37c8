//! The Discord channel: the gateway in, one reply a turn out over REST, nothing lost or doubled in
//! between.
//!
//! ```text
//! gateway ─► connection ─► events ─► inbox ─► queues ─► handler ─► prepare, file ─► outbound ─► send
//! life       one socket    judged    durable  order     a turn     pure             durable
//! ```
//!
//! A press of a button is decided as it comes (`presses`); the turn that waits for it (`approvals`)
//! holds its queue meanwhile, and nothing else. A command is acknowledged once it is durable
//! (`acks`). What was said while nobody listened is asked for (`catch_up`).
//!
//! The token stays in [`BotToken`], a header of `api` and two payloads of `connection`. Messages of
//! people who are not served are neither kept nor downloaded from.

mod acks;
mod address;
mod admission;
mod api;
mod approvals;
mod bot;
mod buckets;
mod catch_up;
mod channel;
mod command;
mod config;
mod connection;
mod download;
mod draft;
mod events;
mod failure;
mod file;
#[cfg(test)]
mod fuzzing;
mod gateway;
mod mention;
mod menu;
mod payload;
mod prepare;
mod presses;
mod probe;
mod route;
mod rules;
mod send;
mod socket;
mod target;
mod text;
mod token;
mod wire;

pub use config::{Config, PLATFORM};
pub use probe::{examine, permissions};
pub use token::BotToken;

use acks::Acks;
use api::{AGENT, DiscordApi};
use bot::{BotUser, CHANNEL, DiscordBot, configured_people};
use cofferdam_agent::server::{ServerScope, client};
use cofferdam_chat::handler::CurrentChannel;
use cofferdam_chat::loop_health::LoopHealth;
use cofferdam_chat::people::words::who_is_served;
use cofferdam_chat::session_queue::{AlbumWindow, Arrival};
use cofferdam_chat::setup::{self, Renewal, ServeError, Services, run, wait_for};
use download::Cdn;
use failure::ApiFailure;
use gateway::{GatewayAddress, listen};
use presses::ANSWERS_AT_ONCE_MAX;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// Whether the gateway's life of this process goes on.
pub static PULSE: LoopHealth = LoopHealth::new(CHANNEL);

/// Discord has no albums: all files of a message are in it.
const NO_ALBUMS: AlbumWindow = AlbumWindow { silence: Duration::ZERO, cap: Duration::ZERO };

/// Serves until `stop`, then returns within 10 s, in any state of the network.
///
/// The bot is its section of the configuration and its token. `announce` gets one line, when events
/// come. `renewals` bring configurations that come into force meanwhile.
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
    let (presence, users) = (services.presence.clone(), config.allowed_users.len());
    let Some((bot, gateway)) = open((config, token), services, &stop).await? else { return Ok(()) };
    presence.note_account(CHANNEL, &bot.me.display_name());
    let who = who_is_served(users, bot.base.door.let_in(), &bot.base.door.groups().summarize("guild"));
    let line = format!("listening on Discord as {} {who}", bot.me.display_name());
    let menu = (*bot.menu).clone();
    run(bot, menu, renewals, &PULSE, async |bots: &CurrentChannel<_>, arrivals: &mpsc::Sender<Arrival>| {
        listen(bots, gateway, arrivals, || announce(&line)).await
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
    let Some((bot, _)) = open(bot, services, &stop).await? else { return Ok(()) };
    setup::speak(bot).await;
    Ok(())
}

/// The bot, once Discord has said who it is, and where events come from; waits for a network that
/// is down. `None` on `stop`.
async fn open(
    (config, token): (Config, BotToken),
    services: Services,
    stop: &CancellationToken,
) -> Result<Option<(Arc<DiscordBot>, GatewayAddress)>, ServeError> {
    config.check()?;
    let (address, cdn) = (config.address()?, config.cdn()?);
    let (message_content, token_place) = (config.message_content, config.token_at().place());
    let gateway = GatewayAddress { api: address.reach, message_content, token_place };
    let soon = stop.child_token();
    let api = DiscordApi::new(address, token, soon.clone(), Some(services.store.clone()));
    let api = Arc::new(api.map_err(|failure| ServeError::Client(failure.to_string()))?);
    let asks_for = |failure: &ApiFailure| match failure {
        ApiFailure::Unauthorized => None,
        ApiFailure::TooMany(asked) => Some(*asked),
        _ => Some(Duration::ZERO),
    };
    let pauses = (Duration::from_secs(1), Duration::from_secs(30));
    let asked = wait_for("Discord", pauses, stop, || BotUser::ask(&api), asks_for).await;
    let Some(me) = asked.map_err(|_| gateway.token_error(401))? else { return Ok(None) };
    let reach = if cdn.is_some() { ServerScope::Loopback } else { ServerScope::Remote };
    let client =
        client(reach, AGENT).build().map_err(|error| ServeError::Client(error.without_url().to_string()))?;
    // In the store another bot's messages never meet this one's.
    let channel = format!("{CHANNEL}-{}", me.id);
    let bot = DiscordBot {
        base: services.base((CHANNEL, channel), soon, configured_people(&config), NO_ALBUMS),
        api,
        cdn: Arc::new(Cdn { client, instead: cdn.map(|address| address.url) }),
        presence: services.presence,
        me,
        menu: Arc::new(services.settings.menu),
        acks: Acks::default(),
        answers: Arc::new(Semaphore::new(ANSWERS_AT_ONCE_MAX)),
    };
    Ok(Some((Arc::new(bot), gateway)))
}
