//! What every part of the running channel shares: what every channel stands on, the connection, the
//! people.

use super::acks::Acks;
use super::api::{BucketWait, DiscordApi, REQUEST_MAX, RequestBody};
use super::config::Config;
use super::download::Cdn;
use super::failure::ApiFailure;
use super::route::{self, Route};
use super::rules::AccessRules;
use super::wire::{Snowflake, User};
use cofferdam_chat::handler::ChannelServices;
use cofferdam_chat::people::{ConfiguredPeople, Groups, PeopleRules};
use cofferdam_chat::setup::MenuEntry;
use cofferdam_store::Presence;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The name of this channel in the audit, in what a provider sees and in the file of people.
pub(super) const CHANNEL: &str = "discord";

/// The bot's own account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BotUser {
    pub(super) id: Snowflake,
    pub(super) name: String,
}

/// The running bot as it is configured now. What runs keeps the one that it began with; all of them
/// share what lasts.
#[derive(Clone)]
pub(super) struct DiscordBot {
    /// What every channel has.
    pub(super) base: ChannelServices,
    pub(super) api: Arc<DiscordApi>,
    /// Where files come from.
    pub(super) cdn: Arc<Cdn>,
    pub(super) presence: Arc<Presence>,
    pub(super) me: BotUser,
    /// The tools as commands show them.
    pub(super) menu: Arc<Vec<MenuEntry>>,
    /// First answers to commands.
    pub(super) acks: Acks,
    /// Answers to presses and to commands of strangers.
    pub(super) answers: Arc<Semaphore>,
}

/// What a configuration says of people.
pub(super) fn configured_people(config: &Config) -> ConfiguredPeople {
    ConfiguredPeople {
        users: config.allowed_users.iter().copied().collect(),
        approvers: config.approvers.clone(),
        pairing: config.pairing.then_some(config.pairing_expires),
        groups: Arc::new(Groups { named: config.guilds.clone(), others: config.other_guilds }),
    }
}

impl BotUser {
    /// Asks Discord who this bot is, and waits for no limit.
    ///
    /// # Errors
    /// [`ApiFailure`].
    pub(super) async fn ask(api: &DiscordApi) -> Result<Self, ApiFailure> {
        let at_once = (REQUEST_MAX, BucketWait::Now);
        let answer = api.call_within(&Route::bot(route::ME, &[]), RequestBody::Nothing, at_once).await?;
        let user = User::read(&answer).ok_or_else(|| {
            ApiFailure::Unreachable("users/@me tells no id; is api_url Discord's REST API?".into())
        })?;
        Ok(Self { id: user.id, name: answer["username"].as_str().unwrap_or_default().to_owned() })
    }

    /// The bot as people call it: `@name`.
    pub(super) fn display_name(&self) -> String {
        format!("@{}", self.name)
    }
}

impl DiscordBot {
    /// What holds now.
    pub(super) fn rules(&self) -> AccessRules {
        self.rules_of(self.base.people_rules())
    }

    /// What holds by these rules of people.
    pub(super) fn rules_of(&self, people: PeopleRules) -> AccessRules {
        AccessRules { people, me: self.me.clone(), menu: self.menu.clone() }
    }
}
