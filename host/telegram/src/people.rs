//! Who is served, and what strangers are told.

use super::bot::Bot;
use super::config::Config;
use super::rules::Rules;
use super::send::Target;
use super::wire::Message;
use cofferdam_chat::people::words::Platform;
use cofferdam_chat::people::{Door, Groups, Named, Welcomes};
use cofferdam_chat::runs::Unreached;
use cofferdam_store::{Place, Stranger};

/// The name of this channel in the audit, in what a provider sees and in the file of people.
pub(super) const CHANNEL: &str = "telegram";

/// Telegram, as it is named to people.
const PLATFORM: Platform = Platform { name: "Telegram", section: "channels.telegram" };

/// What a configuration says of people.
pub(super) fn named(config: &Config) -> Named {
    Named {
        users: config.allowed_users.iter().copied().collect(),
        pairing: config.pairing.then_some(config.pairing_expires),
        groups: Groups { named: config.groups.clone(), others: config.other_groups },
    }
}

impl Bot {
    /// What holds now.
    pub(super) fn rules(&self) -> Rules {
        let Self { door, moves, me, .. } = self;
        let whose = self.base.runner.whose();
        let (groups, moves, me) = (door.groups.clone(), moves.clone(), me.clone());
        Rules { allowed: door.allowed(), groups, moves, me, whose }
    }

    /// What a stranger in private may be told.
    pub(super) async fn stranger(&self, message: &Message, sender: i64) -> Stranger {
        let target = Target::answering(message).to_text();
        self.door.stranger(&self.base, PLATFORM, (sender, &message.besides.name), target).await
    }
}

impl Welcomes for Bot {
    fn door(&self) -> &Door {
        &self.door
    }

    /// A private chat has the number of its person.
    fn private(person: i64) -> String {
        Target { chat: person, thread: None, reply_to: None, stand_in: None }.to_text()
    }

    async fn open_private(&self, person: i64) -> Result<(Target, Option<Place>), Unreached> {
        Ok((Target { chat: person, thread: None, reply_to: None, stand_in: None }, None))
    }
}
