//! Who is served, what holds in which group, and what strangers are told.

use super::bot::{BotUser, TelegramBot};
use super::config::{Config, PLATFORM};
use super::moves::Moves;
use super::send::{ReplyTarget, is_group};
use super::wire::{ChatKind, Message};
use cofferdam_chat::people::{ConfiguredPeople, Group, Groups, PeopleRules, Served};
use cofferdam_store::Stranger;
use std::sync::Arc;

/// The name of this channel in the audit, in what a provider sees and in the file of people.
pub(super) const CHANNEL: &str = "telegram";

/// What a configuration says of people.
pub(super) fn configured_people(config: &Config) -> ConfiguredPeople {
    ConfiguredPeople {
        users: config.allowed_users.iter().copied().collect(),
        approvers: config.approvers.clone(),
        pairing: config.pairing.then_some(config.pairing_expires),
        groups: Arc::new(Groups { named: config.groups.clone(), others: config.other_groups }),
    }
}

/// What holds now.
#[derive(Clone, Debug)]
pub(super) struct AccessRules {
    pub(super) people: PeopleRules,
    pub(super) moves: Moves,
    pub(super) me: BotUser,
}

impl AccessRules {
    /// What holds in the chat of a message.
    pub(super) fn group(&self, message: &Message) -> &Group {
        match message.chat.kind {
            ChatKind::Group => self.group_by_id(message.chat.id),
            ChatKind::Private | ChatKind::Other => Group::default_group(),
        }
    }

    /// What holds in a group of this id.
    pub(super) fn group_by_id(&self, chat: i64) -> &Group {
        self.people.groups.get(&[self.moves.current_id(chat), self.moves.home(chat)])
    }

    /// What holds in a chat: a private one, which has the number of its person, or a group.
    pub(super) fn chat(&self, chat: i64) -> &Group {
        if is_group(chat) { self.group_by_id(chat) } else { Group::default_group() }
    }

    /// Whether somebody is served in a chat.
    pub(super) fn served(&self, person: i64, chat: i64) -> Served {
        self.people.served(person, self.chat(chat))
    }
}

impl TelegramBot {
    /// What holds now.
    pub(super) fn rules(&self) -> AccessRules {
        self.rules_of(self.base.people_rules())
    }

    /// What holds by these rules of people.
    pub(super) fn rules_of(&self, people: PeopleRules) -> AccessRules {
        AccessRules { people, moves: self.moves.clone(), me: self.me.clone() }
    }

    /// What a stranger in private may be told.
    pub(super) async fn stranger(&self, message: &Message, sender: i64) -> Stranger {
        let target = ReplyTarget::new(message).to_text();
        self.base.door.stranger(&self.base, PLATFORM, (sender, &message.besides.name), target).await
    }
}
