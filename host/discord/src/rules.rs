//! What holds at one moment: who is served, what holds in which guild, and who the bot is. Pure.

use super::admission::admit;
use super::bot::BotUser;
use super::wire::{Message, Snowflake};
use cofferdam_chat::people::{Group, PeopleRules, SenderReply, Served};
use cofferdam_chat::setup::MenuEntry;
use std::sync::Arc;

/// What holds now.
#[derive(Clone, Debug)]
pub(super) struct AccessRules {
    pub(super) people: PeopleRules,
    pub(super) me: BotUser,
    /// The tools as commands show them.
    pub(super) menu: Arc<Vec<MenuEntry>>,
}

impl AccessRules {
    /// What is due to the sender.
    pub(super) fn admit(&self, message: &Message) -> SenderReply {
        admit(message, self.me.id, |person, guild| self.served(person, guild) == Served::Yes)
    }

    /// What holds where something was said.
    pub(super) fn place(&self, guild: Option<Snowflake>) -> &Group {
        guild.map_or(Group::default_group(), |guild| self.people.groups.get(&[guild]))
    }

    /// Whether somebody is served there.
    pub(super) fn served(&self, person: Snowflake, guild: Option<Snowflake>) -> Served {
        self.people.served(person, self.place(guild))
    }
}
