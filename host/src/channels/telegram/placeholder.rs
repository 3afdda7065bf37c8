//! The message that stands for the answer while its turn runs, and shows what there is to show: what a long call is
//! doing, how far several have come, what a model has said so far. One a turn at most, in reply to the question; the
//! answer takes its place. Nothing about it can fail a turn.

use super::bot::Bot;
use super::failure::Failure;
use super::send::{StandIn, Target};
use super::words;
use crate::outbound::Rich;
use crate::store;
use crate::turn::{Newest, Patience, Progress, Sight, Watcher};
use cofferdam_core::id::TurnId;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// What is over sooner needs no word: "typing…" is enough.
const PATIENCE: Patience = Patience { doing: Duration::from_secs(2), saying: Duration::from_secs(1) };
/// Between two edits that tell what is done.
const DOING_EVERY: Duration = Duration::from_secs(3);
/// Between two edits that tell what is said, in a chat of two.
const SAYING_EVERY: Duration = Duration::from_secs(1);
/// Between any two edits in a group: it takes fewer messages a minute, and its members read other things as well.
const GROUP_EVERY: Duration = Duration::from_secs(5);

/// Shown when there is something to show, until it is ended.
pub(super) struct Placeholder {
    newest: Arc<Newest>,
    task: JoinHandle<State>,
    end: CancellationToken,
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
    /// Waits for something to show. `before` is what an earlier run of the same turn has left.
    pub(super) fn start(
        bot: Arc<Bot>,
        turn: TurnId,
        target: Target,
        before: Option<store::Placeholder>,
    ) -> Self {
        let (newest, watcher) = Newest::new();
        let end = CancellationToken::new();
        let show = Show { bot, turn, target, watcher, end: end.clone() };
        Self { newest, task: tokio::spawn(show.run(State::left(before))), end }
    }

    /// Takes what is to be shown.
    pub(super) fn progress(&self) -> Arc<dyn Progress> {
        self.newest.clone()
    }

    /// Stops showing it, once no request about it is under way: one that overtook the answer would take its
    /// place. Says what is to become of the message.
    pub(super) async fn end(mut self) -> Option<StandIn> {
        self.end.cancel();
        match (&mut self.task).await {
            Ok(State::Shown(id)) => Some(StandIn::Edit(id)),
            Ok(State::Doubtful(id)) => Some(StandIn::Delete(id)),
            Ok(State::None | State::Over) | Err(_) => None,
        }
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        self.task.abort();
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

/// The work behind it.
struct Show {
    bot: Arc<Bot>,
    turn: TurnId,
    target: Target,
    watcher: Watcher,
    end: CancellationToken,
}

impl Show {
    async fn run(mut self, mut state: State) -> State {
        let mut pause = Duration::ZERO;
        while !matches!(state, State::Over | State::Doubtful(_)) {
            let end = self.end.clone();
            let seen = tokio::select! {
                biased;
                () = end.cancelled() => break,
                seen = self.seen(pause) => seen,
            };
            let Some(seen) = seen else { break };
            state = self.show(state, &words::seen(&seen)).await;
            pause = self.every(&seen);
        }
        state
    }

    /// The newest there is to show, once there is room for a message that could be left out. What comes meanwhile
    /// takes the place of what was there: no edit waits behind another.
    async fn seen(&mut self, pause: Duration) -> Option<Sight> {
        sleep(pause).await;
        let seen = self.watcher.next(PATIENCE).await?;
        self.bot.api.pace.spare(self.target.chat).await;
        Some(self.watcher.newest().unwrap_or(seen))
    }

    /// How long what is shown is left so.
    fn every(&self, seen: &Sight) -> Duration {
        match seen {
            _ if self.target.is_group() => GROUP_EVERY,
            Sight::Doing(_) => DOING_EVERY,
            Sight::Saying(_) => SAYING_EVERY,
        }
    }

    /// Sends or edits; returns what there is then.
    async fn show(&self, state: State, text: &Rich) -> State {
        let (api, chat) = (&self.bot.api, self.target.chat);
        match state {
            State::None => self.send(text).await,
            State::Shown(id) => match api.pace.noted(chat, api.edit(chat, id, text)).await {
                Ok(()) | Err(Failure::TooMany(_)) => state,
                Err(Failure::Refused { .. } | Failure::Migrated(_)) => State::Over,
                Err(_) => State::Doubtful(id),
            },
            State::Doubtful(_) | State::Over => state,
        }
    }

    /// Sends it, if it can be written down before: a turn that runs again must not send a second one.
    async fn send(&self, text: &Rich) -> State {
        if let Err(error) = self.bot.store.placeholder_begun(&self.turn).await {
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
        if let Err(error) = self.bot.store.placeholder_sent(&self.turn, &sent).await {
            tracing::warn!(turn = %self.turn, %error, "a placeholder would be forgotten by a crash now");
        }
        sent.parse().map_or(State::Over, State::Shown)
    }
}
