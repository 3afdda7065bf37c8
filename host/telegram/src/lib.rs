//! The Telegram channel: long polling in, one reply a turn out, nothing lost or doubled in between.
//!
//! ```text
//! poll ─► admit ─► inbox ─► lanes ─► answering ─► prepare, download, turn ─► outbound ─► send
//!         sender   durable  order    one unit     pure                       durable
//! ```
//!
//! A press of a button is decided by the poller itself (`presses`), before it is confirmed; the turn that waits
//! for it (`approvals`) holds its lane meanwhile, and nothing else.
//!
//! Who is served, and what holds in which group, is asked for each message (`people`, `rules`); a group that moved is
//! one place with two ids (`moves`).
//!
//! The token stays in [`Token`] and the URLs of `api`. Messages of people who are not served are neither
//! kept nor downloaded from.

mod about;
mod admit;
mod api;
mod approvals;
mod besides;
mod bot;
mod channel;
mod config;
mod content;
mod cursor;
mod download;
mod failure;
#[cfg(test)]
mod fuzzing;
mod groups;
mod html;
mod media;
mod mention;
mod menu;
mod moves;
mod names;
mod outline;
mod pace;
mod people;
mod placeholder;
mod poll;
mod prepare;
mod presses;
mod probe;
mod pulse;
mod renew;
mod rules;
mod send;
mod start;
mod token;
mod trouble;
mod typing;
mod upload;
mod wire;
mod words;

pub use config::{Config, ConfigError, FloodLimits, PAIRING_EXPIRES_MAX, Timing};
pub use groups::{Group, Groups, Members};
pub use menu::MenuEntry;
pub use probe::{Answered, ProbeError, who};
pub use pulse::{last_poll, overdue, polled};
pub use renew::{Renewal, Renewed};
pub use token::Token;

use api::Api;
use bot::{Bot, Hears, Me, deciding};
use cofferdam_agent::tools;
use cofferdam_agent::turn::Runner;
use cofferdam_chat::Guests;
use cofferdam_chat::answering::{Base, arrivals};
use cofferdam_chat::desk::Desk;
use cofferdam_chat::lanes::{ARRIVALS_MAX, Running, Stop, TURNS_AT_ONCE_MAX};
use cofferdam_store::people::People;
use cofferdam_store::{Keeper, Presence, Store, StoreError};
use cofferdam_warden::attachments::outgoing::Outgoing;
use cofferdam_warden::attachments::{self, BlobStore};
use failure::Failure;
use moves::Moves;
use names::Names;
use pace::Pace;
use people::Door;
use presses::ANSWERS_AT_ONCE_MAX;
use start::{prune, resume_and_poll, who_am_i};
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, watch};
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
    /// The note for those who look at it.
    pub presence: Arc<Presence>,
    /// Those whom the operator lets in besides.
    pub people: People,
    /// Answers turns.
    pub runner: Arc<Runner>,
    /// Takes the bytes of attachments.
    pub blobs: BlobStore,
    /// Holds the bytes of replies' files.
    pub outgoing: Outgoing,
    /// Limits on attachments.
    pub attachments: attachments::Config,
    /// How long a person is waited for.
    pub approvals: tools::Config,
    /// The tools, for the command menu.
    pub menu: Vec<MenuEntry>,
}

/// Why the channel ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Telegram does not know the token.
    #[error("Telegram does not accept the bot's token in {place} ({code}); copy it again from @BotFather")]
    Unauthorized {
        /// The environment variable, or the file.
        place: String,
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

/// Serves until `stop`, then returns within 10 s, whatever the network does.
///
/// `announce` gets one line, when polling begins. `renewals` bring configurations that come into force meanwhile.
///
/// # Errors
/// [`ServeError`]; a network that fails is waited for and is none.
pub async fn serve(
    service: Service,
    announce: impl FnOnce(&str) + Send,
    renewals: mpsc::Receiver<Renewal>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    service.config.check()?;
    service.presence.begins();
    let address = service.config.address()?;
    let place = service.config.token_place();
    let ended = |failure: Failure| match failure {
        Failure::Unauthorized(code) => ServeError::Unauthorized { place: place.clone(), code },
        other => ServeError::Client(other.to_string()),
    };
    let soon = stop.child_token();
    let pace = Pace::new(service.config.flood_limits, soon.clone());
    let api = Arc::new(Api::new(address, service.token.clone(), pace).map_err(ended)?);
    let Some(me) = who_am_i(&api, &stop).await.map_err(ended)? else { return Ok(()) };
    let name = me.username.clone().unwrap_or_else(|| me.id.to_string());
    service.presence.polls_as(&me.called());
    let moves = Moves::known(service.store.moves(&channel_of(&me)).await?);
    let (menu, users) = (service.menu.clone(), service.config.allowed_users.len());
    let bot = Arc::new(bot(service, api, (me, moves), soon));
    let line = words::polling(&name, users, bot.door.let_in(), &bot.door.groups.told());
    let (renewing, bots) = watch::channel(bot.clone());

    if bot.me.hears == Hears::WhatIsForIt && bot.door.groups.listen_to_everything() {
        tracing::warn!(
            "a group has mention_required = false, and the bot is in privacy mode: unless it is an administrator there, \
             Telegram brings it only what is for it; turn the mode off with @BotFather's /setprivacy"
        );
    }
    let mut background = JoinSet::new();
    let shown = bot.clone();
    background.spawn(async move { menu::set_menus(&shown, &menu).await });
    background.spawn(renew::renew(renewing, renewals));
    background.spawn(prune(bot.base.store.clone()));
    // What the last run left and nobody needs.
    bot.base.sweep().await;
    let (arrivals, queue) = mpsc::channel(ARRIVALS_MAX);
    let polling = async {
        let resumed = || {
            // Not before: what the last run left to be told is told once.
            background.spawn(people::watch(bots.clone(), arrivals.clone()));
            announce(&line);
        };
        let polled = resume_and_poll(&bots, &arrivals, resumed).await;
        bot.base.stop.soon.cancel();
        polled
    };
    let lanes = arrivals::lanes(bots.clone(), bot.timing.grace);
    let (polled, ()) = tokio::join!(polling, lanes.run(queue));
    match polled? {
        None => Ok(()),
        Some(failure) => Err(ended(failure)),
    }
}

/// In the store another bot's update ids never meet this one's.
fn channel_of(me: &Me) -> String {
    format!("telegram-{}", me.id)
}

fn bot(service: Service, api: Arc<Api>, (me, moves): (Me, Moves), soon: CancellationToken) -> Bot {
    let config = service.config;
    let door = Door::new(&config, Guests::new(service.people, people::CHANNEL), (moves, Names::default()));
    let (channel, stop) = (channel_of(&me), Stop { soon, now: CancellationToken::new() });
    let keeper = Keeper::new(stop.soon.clone(), pulse::goes_on_within);
    let rules = deciding(&config.approvers, &service.approvals);
    let desk = Desk::new(service.store.clone(), (keeper.clone(), stop.clone()), channel.clone(), rules);
    let base = Base {
        store: service.store,
        channel,
        keeper,
        stop,
        runner: service.runner,
        desk,
        running: Arc::new(Running::default()),
        places: Arc::new(Semaphore::new(TURNS_AT_ONCE_MAX)),
        blobs: service.blobs,
        limits: service.attachments,
        outgoing: service.outgoing,
        albums: config.timing.albums,
    };
    let answers = Arc::new(Semaphore::new(ANSWERS_AT_ONCE_MAX));
    Bot { base, api, presence: service.presence, door, timing: config.timing, me, answers }
}
