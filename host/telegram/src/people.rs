//! Who is served, and what strangers are told.

use super::bot::TelegramBot;
use super::config::Config;
use super::rules::AccessRules;
use super::send::ReplyTarget;
use super::wire::Message;
use cofferdam_chat::people::words::Platform;
use cofferdam_chat::people::{AccessControl, AdmitsPeople, ConfiguredPeople, Groups};
use cofferdam_chat::runs::UnreachableReason;
use cofferdam_store::{ReplyPlace, Stranger};

/// The name of this channel in the audit, in what a provider sees and in the file of people.
pub(super) const CHANNEL: &str = "telegram";

/// Telegram, as it is named to people.
const PLATFORM: Platform = Platform { name: "Telegram", section: "channels.telegram" };

/// What a configuration says of people.
pub(super) fn configured_people(config: &Config) -> ConfiguredPeople {
    ConfiguredPeople {
        users: config.allowed_users.iter().copied().collect(),
        pairing: config.pairing.then_some(config.pairing_expires),
        groups: Groups { named: config.groups.clone(), others: config.other_groups },
    }
}

impl TelegramBot {
    /// What holds now.
    pub(super) fn rules(&self) -> AccessRules {
        let Self { door, moves, me, .. } = self;
        let whose = self.base.runner.owner();
        let (groups, moves, me) = (door.groups.clone(), moves.clone(), me.clone());
        AccessRules { allowed: door.allowed(), groups, moves, me, whose }
    }

    /// What a stranger in private may be told.
    pub(super) async fn stranger(&self, message: &Message, sender: i64) -> Stranger {
        let target = ReplyTarget::new(message).to_text();
        self.door.stranger(&self.base, PLATFORM, (sender, &message.besides.name), target).await
    }
}

impl AdmitsPeople for TelegramBot {
    fn door(&self) -> &AccessControl {
        &self.door
    }

    /// A private chat has the number of its person.
    fn private(person: i64) -> String {
        ReplyTarget { chat: person, thread: None, reply_to: None, stand_in: None }.to_text()
    }

    async fn open_private(
        &self,
        person: i64,
    ) -> Result<(ReplyTarget, Option<ReplyPlace>), UnreachableReason> {
        Ok((ReplyTarget { chat: person, thread: None, reply_to: None, stand_in: None }, None))
    }
}
