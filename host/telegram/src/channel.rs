//! What answering asks of a channel, for Telegram: reading its updates, and where answers are said
//! and shown.

use super::approvals::{Below, take_choices};
use super::bot::Bot;
use super::media::Media;
use super::people::CHANNEL;
use super::placeholder::Draft;
use super::prepare::{Todo, prepare};
use super::send::Target;
use super::typing::Typing;
use super::upload::MANNERS;
use super::wire;
use cofferdam_chat::answering::{Base, Channel};
use cofferdam_chat::desk::{Board, Changing};
use cofferdam_chat::outbound::{Manners, Opening};
use cofferdam_chat::{Live, Placeholder, Sign, StandIn};
use cofferdam_core::id::TurnId;
use cofferdam_store::{self as store, Standing, Update};
use std::sync::Arc;
use teloxide_core::types::ChatAction;

impl Channel for Bot {
    const NAME: &'static str = CHANNEL;
    const MANNERS: &'static Manners = &MANNERS;

    type Target = Target;
    type Screen = Placeholder<Draft>;

    fn base(&self) -> &Base {
        &self.base
    }

    fn read(&self, updates: &[Update], standing: Standing) -> Todo {
        let messages: Vec<_> = updates.iter().filter_map(message).collect();
        for message in &messages {
            if let Some(from) = message.from {
                self.door.names.learn(from.id, &message.besides.name);
            }
        }
        prepare(messages, standing, &self.rules())
    }

    fn target_of(&self, update: &Update) -> Option<Target> {
        message(update).map(|message| Target::answering(&message))
    }

    fn file_of(&self, update: &Update) -> Option<Media> {
        message(update)?.media
    }

    /// A chat and topic of this bot. A group that moved keeps its conversation.
    fn conversation(&self, target: &Target) -> String {
        let home = self.moves.home(target.chat);
        format!("{home}/{}", target.thread.unwrap_or_default())
    }

    fn target(kept: &str) -> Option<Target> {
        Target::from_text(kept)
    }

    fn answered(target: &Target, shown: Option<Placeholder<Draft>>) -> (String, Opening) {
        let (stand_in, opening) = StandIn::of(shown);
        (Target { stand_in, ..*target }.to_text(), opening)
    }

    fn sign(&self, target: &Target) -> impl Sign {
        Typing::at(self.api.clone(), *target, ChatAction::Typing)
    }

    fn show(
        self: &Arc<Self>,
        turn: &TurnId,
        target: &Target,
        before: Option<store::Placeholder>,
    ) -> Live<Placeholder<Draft>> {
        let draft = Draft { bot: self.clone(), target: *target };
        Placeholder::start(self.base.store.clone(), turn.clone(), draft, before)
    }

    fn take_choices(&self, chat: &str, message: &str) -> Changing {
        take_choices(self, chat, message)
    }

    fn board(self: &Arc<Self>, target: &Target, asker: &str) -> impl Board {
        Below { bot: self.clone(), target: *target, sender: asker.to_owned() }
    }
}

fn message(update: &Update) -> Option<wire::Message> {
    wire::Update::read(&update.raw)?.message
}
