//! Who is served, and what strangers are told.

use super::bot::TelegramBot;
use super::config::Config;
use super::rules::AccessRules;
use super::send::ReplyTarget;
use super::wire::Message;
use cofferdam_chat::people::words::Platform;
use cofferdam_chat::people::{ConfiguredPeople, Groups};
use cofferdam_store::Stranger;

/// The name of this channel in the audit, in what a provider sees and in the file of people.
pub(super) const CHANNEL: &str = "telegram";

/// Telegram, as it is named to people.
const PLATFORM: Platform = Platform { name: "Telegram", section: "channels.telegram" };

/// What a configuration says of people.
pub(super) fn configured_people(config: &Config) -> ConfiguredPeople {
    ConfiguredPeople {
        users: config.allowed_users.iter().copied().collect(),
        approvers: config.approvers.clone(),
        pairing: config.pairing.then_some(config.pairing_expires),
        groups: Groups { named: config.groups.clone(), others: config.other_groups },
    }
}

impl TelegramBot {
    /// What holds now.
    pub(super) fn rules(&self) -> AccessRules {
        AccessRules { people: self.base.people_rules(), moves: self.moves.clone(), me: self.me.clone() }
    }

    /// What a stranger in private may be told.
    pub(super) async fn stranger(&self, message: &Message, sender: i64) -> Stranger {
        let target = ReplyTarget::new(message).to_text();
        self.base.door.stranger(&self.base, PLATFORM, (sender, &message.besides.name), target).await
    }
}
