//! What holds at one moment: who is served, what holds in which group, and who the bot is. Pure.

use super::bot::BotUser;
use super::moves::Moves;
use super::wire::{ChatKind, Message};
use cofferdam_chat::people::{Group, PeopleRules};

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

    /// Whether somebody is served in a chat: a private one, which has the number of its person, or
    /// a group.
    pub(super) fn is_served(&self, person: i64, chat: i64) -> bool {
        let group = if chat < 0 { self.group_by_id(chat) } else { Group::default_group() };
        self.people.is_served(person, group)
    }
}
