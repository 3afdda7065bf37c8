//! The message that stands for the answer while its turn runs, and shows what there is to show: what a long call is
//! doing, how far several have come, what a model has said so far. One a turn at most, in reply to the question; the
//! answer takes its place. Nothing about it can fail a turn.

use super::bot::Bot;
use super::failure::Failure;
use super::send::{StandIn, Target};
use super::words;
use async_trait::async_trait;
use cofferdam_chat::outbound::Rich;
use cofferdam_chat::{Live, Patience, Screen, Sight};
use cofferdam_core::id::TurnId;
use cofferdam_store as store;
use std::sync::Arc;
use std::time::Duration;

/// What is over sooner needs no word: "typing…" is enough.
const PATIENCE: Patience = Patience { doing: Duration::from_secs(2), saying: Duration::from_secs(1) };
/// Between two edits that tell what is done.
const DOING_EVERY: Duration = Duration::from_secs(3);
/// Between two edits that tell what is said, in a chat of two.
const SAYING_EVERY: Duration = Duration::from_secs(1);
/// Between any two edits in a group: it takes fewer messages a minute, and its members read other things as well.
const GROUP_EVERY: Duration = Duration::from_secs(5);

/// The message of one turn.
pub(super) struct Placeholder {
    bot: Arc<Bot>,
    turn: TurnId,
    target: Target,
    state: State,
}

/// What there is of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing yet.
    None,
    /// The message.
    Shown(i64),
    /// The message, with an edit of which nobody knows whether it will still arrive.
    Doubtful(i64),
    /// Nothing, and nothing more will come: somebody deleted it, or it may or may not have been sent.
    Over,
}

impl Placeholder {
    /// Shows a turn until it is ended. `before` is what an earlier run of the same turn has left.
    pub(super) fn start(
        bot: Arc<Bot>,
        turn: TurnId,
        target: Target,
        before: Option<store::Placeholder>,
    ) -> Live<Self> {
        Live::start(Self { bot, turn, target, state: State::left(before) }, PATIENCE)
    }

    /// What is to become of the message. No request about it is under way any more: one that overtook the answer would
    /// take its place.
    pub(super) fn left(self) -> Option<StandIn> {
        match self.state {
            State::Shown(id) => Some(StandIn::Edit(id)),
            State::Doubtful(id) => Some(StandIn::Delete(id)),
            State::None | State::Over => None,
        }
    }
}

impl State {
    fn left(before: Option<store::Placeholder>) -> Self {
        match before {
            None => Self::None,
            Some(store::Placeholder::Unknown) => Self::Over,
            Some(store::Placeholder::Sent(id)) => id.parse().map_or(Self::Over, Self::Shown),
        }
    }
}

#[async_trait]
impl Screen for Placeholder {
    async fn room(&mut self) {
        match self.state {
            State::None | State::Shown(_) => self.bot.api.pace.spare(self.target.chat).await,
            State::Doubtful(_) | State::Over => std::future::pending().await,
        }
    }

    async fn show(&mut self, sight: Sight) -> Duration {
        self.state = self.shown(&words::seen(&sight)).await;
        match sight {
            _ if self.target.is_group() => GROUP_EVERY,
            Sight::Doing(_) => DOING_EVERY,
            Sight::Saying(_) => SAYING_EVERY,
        }
    }
}

impl Placeholder {
    /// Sends or edits; returns what there is then.
    async fn shown(&self, text: &Rich) -> State {
        let (api, chat) = (&self.bot.api, self.target.chat);
        match self.state {
            State::None => self.send(text).await,
            State::Shown(id) => match api.pace.noted(chat, api.edit(chat, id, text)).await {
                Ok(()) | Err(Failure::TooMany(_)) => self.state,
                Err(Failure::Refused { .. } | Failure::Migrated(_)) => State::Over,
                Err(_) => State::Doubtful(id),
            },
            State::Doubtful(_) | State::Over => self.state,
        }
    }

    /// Sends it, if it can be written down before: a turn that runs again must not send a second one.
    async fn send(&self, text: &Rich) -> State {
        if let Err(error) = self.bot.base.store.placeholder_begun(&self.turn).await {
            tracing::debug!(turn = %self.turn, %error, "nothing is shown of a turn");
            return State::Over;
        }
        let (api, chat) = (&self.bot.api, self.target.chat);
        let sent = match api.pace.noted(chat, api.send(self.target, text)).await {
            Ok(sent) => sent,
            Err(failure) => {
                tracing::debug!(turn = %self.turn, %failure, "nothing is shown of a turn");
                return State::Over;
            }
        };
        if let Err(error) = self.bot.base.store.placeholder_sent(&self.turn, &sent).await {
            tracing::warn!(turn = %self.turn, %error, "a placeholder would be forgotten by a crash now");
        }
        sent.parse().map_or(State::Over, State::Shown)
    }
}
