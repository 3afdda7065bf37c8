//! What answering asks of a channel, for Discord: reading its messages, and where answers are said
//! and shown.

use super::api::{Carried, Haste};
use super::approvals::{Below, take_choices};
use super::bot::{Bot, CHANNEL};
use super::draft::Draft;
use super::failure::Failure;
use super::file::File;
use super::prepare::{Asked, Todo, prepare};
use super::route::{self, Route};
use super::send::MANNERS;
use super::target::{Place, Target, first_id_of};
use super::wire::Message;
use async_trait::async_trait;
use cofferdam_chat::answering::{Base, Begins, Channel};
use cofferdam_chat::desk::{Board, Changing};
use cofferdam_chat::outbound::{Manners, Opening};
use cofferdam_chat::people::{Door, Welcomes};
use cofferdam_chat::runs::Unreached;
use cofferdam_chat::{AGAIN, Live, Placeholder, Sign, StandIn};
use cofferdam_core::id::TurnId;
use cofferdam_store::{self as store, Standing, Update};
use std::sync::Arc;
use std::time::Duration;

impl Channel for Bot {
    const NAME: &'static str = CHANNEL;
    const MANNERS: &'static Manners = &MANNERS;

    type Target = Target;
    type Screen = Placeholder<Draft>;

    fn base(&self) -> &Base {
        &self.base
    }

    fn read(&self, updates: &[Update], _: Standing) -> Todo {
        let Some(message) = updates.first().and_then(|update| Message::kept(&update.raw)) else {
            return Todo::Nothing;
        };
        self.door.names.learn(message.author.id, &message.author.name);
        prepare(message, &self.rules())
    }

    fn target_of(&self, update: &Update) -> Option<Target> {
        Message::kept(&update.raw).map(|message| Target::answering(&message))
    }

    fn file_of(&self, _: &Update) -> Option<File> {
        None
    }

    /// A command is not run before Discord was told that its answer comes.
    async fn may_begin(&self, turn: &TurnId, asked: &Asked) -> Begins {
        let Some(interaction) = &asked.target.interaction else { return Begins::Now };
        let begins = self.acks.given(&self.api, interaction, &self.base.stop.soon).await;
        if begins != Begins::Never {
            return begins;
        }
        // What an earlier run has begun was acknowledged then: its token is over, and its answer is
        // a message.
        let look = || self.base.store.begun(turn);
        match self.base.stored("look for an earlier attempt", look).await {
            Some(Some(_)) => Begins::Now,
            Some(None) => Begins::Never,
            None => Begins::Later,
        }
    }

    fn conversation(&self, target: &Target) -> String {
        target.channel().unwrap_or_default().to_string()
    }

    fn target(kept: &str) -> Option<Target> {
        Target::from_text(kept)
    }

    fn answered(target: &Target, shown: Option<Placeholder<Draft>>) -> (String, Opening) {
        let (stand_in, opening) = StandIn::of(shown);
        (Target { stand_in, ..target.clone() }.to_text(), opening)
    }

    /// What a command is answered by stands already.
    fn afterwards(target: &Target) -> String {
        Target { interaction: None, stand_in: None, ..target.clone() }.to_text()
    }

    fn sign(&self, target: &Target) -> impl Sign {
        Typing { bot: self.clone(), target: target.clone() }
    }

    fn show(
        self: &Arc<Self>,
        turn: &TurnId,
        target: &Target,
        before: Option<store::Placeholder>,
    ) -> Live<Placeholder<Draft>> {
        let draft = Draft { bot: self.clone(), turn: turn.clone(), target: target.clone() };
        Placeholder::start(self.base.store.clone(), turn.clone(), draft, before)
    }

    fn take_choices(&self, chat: &str, message: &str) -> Changing {
        take_choices(self, chat, message)
    }

    fn board(self: &Arc<Self>, target: &Target, asker: &str) -> impl Board {
        Below { bot: self.clone(), target: target.clone(), sender: asker.to_owned() }
    }
}

impl Welcomes for Bot {
    fn door(&self) -> &Door {
        &self.door
    }

    fn private(person: i64) -> String {
        Target::person(person).to_text()
    }

    async fn open_private(&self, person: i64) -> Result<(Target, Option<store::Place>), Unreached> {
        let channel = self.private_channel(person).await.map_err(|failure| match failure {
            Failure::Refused { .. } => Unreached::Ever(failure.to_string()),
            _ => Unreached::Now(failure.to_string()),
        })?;
        let target = Target { to: Place::Channel(channel), ..Target::person(person) };
        // Nobody may have been answered there yet: what is said there while nobody listens is asked
        // for later.
        let place = store::Place { place: channel.to_string(), last: first_id_of(store::now_ms()) };
        Ok((target, Some(place)))
    }
}

/// Discord shows that somebody types for so long.
const SHOWN: Duration = Duration::from_secs(10);
const _: () = assert!(AGAIN.as_millis() < SHOWN.as_millis(), "nobody sees silence");

/// "… is typing".
pub(super) struct Typing {
    pub(super) bot: Bot,
    pub(super) target: Target,
}

#[async_trait]
impl Sign for Typing {
    async fn show(&self) -> Duration {
        let Some(channel) = self.target.channel() else { return Duration::ZERO };
        let route = Route::bot(route::TYPING, &[channel]);
        match self.bot.api.call_within(&route, Carried::Nothing, (AGAIN, Haste::Now)).await {
            Err(super::failure::Failure::TooMany(pause)) => pause,
            _ => Duration::ZERO,
        }
    }
}
