//! What holds at one moment: who is served, what holds in which group, and who the bot is. Pure.

use super::bot::BotUser;
use super::moves::Moves;
use super::wire::{ChatKind, Message};
use cofferdam_agent::turn::ConversationOwner;
use cofferdam_chat::people::{Group, GroupMembers, Groups};
use cofferdam_chat::session_queue::StopPower;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What holds now.
#[derive(Clone, Debug)]
pub(super) struct AccessRules {
    /// Those whom the configuration names, and those whom the operator has let in since.
    pub(super) allowed: BTreeSet<i64>,
    pub(super) groups: Arc<Groups>,
    pub(super) moves: Moves,
    pub(super) me: BotUser,
    /// Whose the conversations are.
    pub(super) whose: ConversationOwner,
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
        self.groups.get(&[self.moves.current_id(chat), self.moves.home(chat)])
    }

    /// What somebody may stop.
    pub(super) fn stop_power(&self, sender: i64) -> StopPower {
        if self.allowed.contains(&sender) { StopPower::Served } else { StopPower::Member(sender.to_string()) }
    }

    /// Whether somebody may have the conversation forgotten that they are heard in: their own, or
    /// one of all, where they are not merely a member of an open group.
    pub(super) fn may_begin_anew(&self, sender: i64) -> bool {
        self.whose == ConversationOwner::Person || self.allowed.contains(&sender)
    }

    /// Whether somebody is served in a chat: a private one, which has the number of its person, or
    /// a group.
    pub(super) fn is_served(&self, person: i64, chat: i64) -> bool {
        let members = if chat < 0 { self.group_by_id(chat).members } else { GroupMembers::Allowed };
        match members {
            GroupMembers::Allowed => self.allowed.contains(&person),
            GroupMembers::All => true,
            GroupMembers::None => false,
        }
    }
}
