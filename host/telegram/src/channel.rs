//! What the handler asks of a channel, for Telegram: reading its updates, and where answers are
//! said and shown.

use super::approvals::{ApprovalTarget, take_choices};
use super::bot::TelegramBot;
use super::media::MessageFile;
use super::people::CHANNEL;
use super::placeholder::Draft;
use super::prepare::{TelegramAction, prepare};
use super::send::ReplyTarget;
use super::typing::Typing;
use super::upload::CHANNEL_LIMITS;
use super::wire;
use cofferdam_chat::approvals::{ApprovalDisplay, Changing};
use cofferdam_chat::handler::{Channel, ChannelServices};
use cofferdam_chat::outbound::{ChannelLimits, FirstMessage};
use cofferdam_chat::{ActivityIndicator, LiveStatus, Placeholder, PlaceholderRef};
use cofferdam_core::id::TurnId;
use cofferdam_store::{self as store, AlbumStanding, Update};
use std::sync::Arc;
use teloxide_core::types::ChatAction;

impl Channel for TelegramBot {
    const NAME: &'static str = CHANNEL;
    const CHANNEL_LIMITS: &'static ChannelLimits = &CHANNEL_LIMITS;

    type Target = ReplyTarget;
    type Screen = Placeholder<Draft>;

    fn base(&self) -> &ChannelServices {
        &self.base
    }

    fn read(&self, updates: &[Update], standing: AlbumStanding) -> TelegramAction {
        let messages: Vec<_> = updates.iter().filter_map(message).collect();
        for message in &messages {
            if let Some(from) = message.from {
                self.door.names.insert(from.id, &message.besides.name);
            }
        }
        prepare(messages, standing, &self.rules())
    }

    fn target_of(&self, update: &Update) -> Option<ReplyTarget> {
        message(update).map(|message| ReplyTarget::new(&message))
    }

    fn file_of(&self, update: &Update) -> Option<MessageFile> {
        message(update)?.media
    }

    /// A chat and topic of this bot. A group that moved keeps its conversation.
    fn conversation(&self, target: &ReplyTarget) -> String {
        let home = self.moves.home(target.chat);
        format!("{home}/{}", target.thread.unwrap_or_default())
    }

    fn target(kept: &str) -> Option<ReplyTarget> {
        ReplyTarget::from_text(kept)
    }

    fn reply_address(target: &ReplyTarget, shown: Option<Placeholder<Draft>>) -> (String, FirstMessage) {
        let (stand_in, opening) = PlaceholderRef::from_shown(shown);
        (ReplyTarget { stand_in, ..*target }.to_text(), opening)
    }

    fn sign(&self, target: &ReplyTarget) -> impl ActivityIndicator {
        Typing::new(self.api.clone(), *target, ChatAction::Typing)
    }

    fn show(
        self: &Arc<Self>,
        turn: &TurnId,
        target: &ReplyTarget,
        before: Option<store::Placeholder>,
    ) -> LiveStatus<Placeholder<Draft>> {
        let draft = Draft { bot: self.clone(), target: *target };
        Placeholder::start(self.base.store.clone(), turn.clone(), draft, before)
    }

    fn take_choices(&self, chat: &str, message: &str) -> Changing {
        take_choices(self, chat, message)
    }

    fn board(self: &Arc<Self>, target: &ReplyTarget, asker: &str) -> impl ApprovalDisplay {
        ApprovalTarget { bot: self.clone(), target: *target, sender: asker.to_owned() }
    }
}

fn message(update: &Update) -> Option<wire::Message> {
    wire::Update::read(&update.raw)?.message
}
