//! What holds at one moment: who is served, what holds in which guild, and who the bot is. Pure.

use super::bot::BotUser;
use super::route::Snowflake;
use super::wire::{Message, MessageKind};
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
    /// What is due to the sender, decided from numbers before anything else of a message is used.
    /// Strangers in guilds get silence: an answer would invite abuse.
    pub(super) fn admit(&self, message: &Message) -> SenderReply {
        match message.kind {
            _ if message.author.id == self.me.id => return SenderReply::Ignore("the bot itself"),
            _ if message.webhook => return SenderReply::Ignore("a webhook"),
            _ if message.author.bot => return SenderReply::Ignore("a bot"),
            MessageKind::Other(_) => return SenderReply::Ignore("nobody has written it"),
            MessageKind::Plain | MessageKind::Reply | MessageKind::Command => {}
        }
        let is_served = self.served(message.author.id, message.guild) == Served::Yes;
        match (is_served, message.guild, message.kind) {
            (true, ..) => SenderReply::Serve(message.author.id),
            // A command is answered in guilds too: its answer is for its sender alone.
            (false, None, _) | (false, _, MessageKind::Command) => SenderReply::Tell(message.author.id),
            (false, Some(_), _) => SenderReply::Ignore("a stranger in a guild"),
        }
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
