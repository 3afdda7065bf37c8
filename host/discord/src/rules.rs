//! What holds at one moment: who is served, what holds in which guild, and who the bot is. Pure.

use super::bot::Me;
use super::route::Id;
use super::wire::{Kind, Message};
use cofferdam_agent::turn::Whose;
use cofferdam_chat::lanes::By;
use cofferdam_chat::people::{Group, Groups, Members};
use cofferdam_chat::setup::MenuEntry;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What holds now.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Those whom the configuration names, and those whom the operator has let in since.
    pub(super) allowed: BTreeSet<Id>,
    pub(super) guilds: Arc<Groups>,
    pub(super) me: Me,
    /// The tools as commands show them.
    pub(super) menu: Arc<Vec<MenuEntry>>,
    /// Whose the conversations are.
    pub(super) whose: Whose,
}

/// What is due to the sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Serve,
    /// Somebody else in private: to be told once. Of a command also in guilds.
    Tell,
    /// No answer, with the reason for the log.
    Ignore(&'static str),
}

impl Rules {
    /// What is due to the sender, decided from numbers before anything else of a message is used.
    /// Strangers in guilds get silence: an answer would invite abuse.
    pub(super) fn admit(&self, message: &Message) -> Admission {
        match message.kind {
            _ if message.author.id == self.me.id => return Admission::Ignore("the bot itself"),
            _ if message.webhook => return Admission::Ignore("a webhook"),
            _ if message.author.bot => return Admission::Ignore("a bot"),
            Kind::Other(_) => return Admission::Ignore("nobody has written it"),
            Kind::Plain | Kind::Reply | Kind::Command => {}
        }
        match (self.serves(message.author.id, message.guild), message.guild, message.kind) {
            (true, ..) => Admission::Serve,
            (false, None, _) | (false, _, Kind::Command) => Admission::Tell,
            (false, Some(_), _) => Admission::Ignore("a stranger in a guild"),
        }
    }

    /// What holds where something was said.
    pub(super) fn place(&self, guild: Option<Id>) -> &Group {
        guild.map_or(Group::usual(), |guild| self.guilds.of(&[guild]))
    }

    /// Whether somebody is served there.
    pub(super) fn serves(&self, person: Id, guild: Option<Id>) -> bool {
        match self.place(guild).members {
            Members::Allowed => self.allowed.contains(&person),
            Members::All => true,
            Members::None => false,
        }
    }

    /// What somebody may stop.
    pub(super) fn power_of(&self, sender: Id) -> By {
        if self.allowed.contains(&sender) { By::Served } else { By::Member(sender.to_string()) }
    }

    /// Whether somebody may have the conversation forgotten that they are heard in.
    pub(super) fn may_begin_anew(&self, sender: Id) -> bool {
        self.whose == Whose::Person || self.allowed.contains(&sender)
    }
}
