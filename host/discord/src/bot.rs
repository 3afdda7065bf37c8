//! What every part of the running channel shares: what every channel stands on, the connection, the
//! people.

use super::acks::Acks;
use super::api::{Api, Carried};
use super::config::{Config, Timing};
use super::failure::Failure;
use super::file::Cdn;
use super::route::{self, Id, Route};
use super::rules::Rules;
use super::wire::User;
use cofferdam_chat::answering::Base;
use cofferdam_chat::people::words::Platform;
use cofferdam_chat::people::{Door, Groups, Named};
use cofferdam_chat::setup::MenuEntry;
use cofferdam_store::Presence;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// The name of this channel in the audit, in what a provider sees and in the file of people.
pub(super) const CHANNEL: &str = "discord";

/// Discord, as it is named to people.
pub(super) const PLATFORM: Platform = Platform { name: "Discord", section: "channels.discord" };

/// The bot's own account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Me {
    pub(super) id: Id,
    pub(super) name: String,
}

/// The running bot as it is configured now. What runs keeps the one that it began with; all of them
/// share what lasts.
#[derive(Clone)]
pub(super) struct Bot {
    /// What every channel has.
    pub(super) base: Base,
    pub(super) api: Arc<Api>,
    /// Where files come from.
    pub(super) cdn: Arc<Cdn>,
    pub(super) presence: Arc<Presence>,
    /// Who is served.
    pub(super) door: Door,
    pub(super) timing: Timing,
    pub(super) me: Me,
    /// The tools as commands show them.
    pub(super) menu: Arc<Vec<MenuEntry>>,
    /// First answers to commands.
    pub(super) acks: Acks,
    /// Answers to presses and to commands of strangers.
    pub(super) answers: Arc<Semaphore>,
}

/// The bot of the moment, for what goes on for as long as the program runs.
pub(super) type Bots = watch::Receiver<Arc<Bot>>;

/// What a configuration says of people.
pub(super) fn named(config: &Config) -> Named {
    Named {
        users: config.allowed_users.iter().copied().collect(),
        pairing: config.pairing.then_some(config.pairing_expires),
        groups: Groups { named: config.guilds.clone(), others: config.other_guilds },
    }
}

impl Me {
    /// Asks Discord who this bot is.
    ///
    /// # Errors
    /// [`Failure`].
    pub(super) async fn ask(api: &Api) -> Result<Self, Failure> {
        let answer = api.call(&Route::bot(route::ME, &[]), Carried::Nothing).await?;
        let user = User::read(&answer).ok_or_else(|| {
            Failure::Unreachable("users/@me tells no id; is api_url Discord's REST API?".into())
        })?;
        Ok(Self { id: user.id, name: answer["username"].as_str().unwrap_or_default().to_owned() })
    }

    /// The bot as people call it: `@name`.
    pub(super) fn called(&self) -> String {
        format!("@{}", self.name)
    }
}

impl Bot {
    /// What holds now.
    pub(super) fn rules(&self) -> Rules {
        let (groups, me, menu) = (self.door.groups.clone(), self.me.clone(), self.menu.clone());
        Rules { allowed: self.door.allowed(), guilds: groups, me, menu, whose: self.base.runner.whose() }
    }
}
