//! The message that stands for the answer while a long call runs, and tells what the call is doing. One a
//! turn at most, in reply to the question; the answer takes its place. Nothing about it can fail a turn.

use super::bot::Bot;
use super::failure::Failure;
use super::send::{StandIn, Target};
use super::words;
use crate::outbound::Rich;
use crate::store;
use crate::turn::{Newest, Progress, Watcher};
use cofferdam_core::id::TurnId;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// A call that is over sooner needs no word: "typing…" is enough.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two edits; Telegram takes about one message a second in a chat, and 20 a minute in a group.
const EVERY: Duration = Duration::from_secs(3);

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
            let words = tokio::select! {
                biased;
                () = self.end.cancelled() => break,
                words = async { sleep(pause).await; self.watcher.next(PATIENCE).await } => words,
            };
            let Some(words) = words else { break };
            (state, pause) = self.show(state, &words::doing(&words)).await;
        }
        state
    }

    /// Sends or edits; returns what there is then, and how long to leave it so.
    async fn show(&self, state: State, text: &str) -> (State, Duration) {
        match state {
            State::None => (self.send(text).await, EVERY),
            State::Shown(id) => match self.bot.api.edit(self.target.chat, id, &Rich::plain(text)).await {
                Ok(()) => (state, EVERY),
                Err(Failure::TooMany(asked)) => (state, asked.max(EVERY)),
                Err(Failure::Refused { .. } | Failure::Migrated(_)) => (State::Over, EVERY),
                Err(_) => (State::Doubtful(id), EVERY),
            },
            State::Doubtful(_) | State::Over => (state, EVERY),
        }
    }

    /// Sends it, if it can be written down before: a turn that runs again must not send a second one.
    async fn send(&self, text: &str) -> State {
        if let Err(error) = self.bot.store.placeholder_begun(&self.turn).await {
            tracing::debug!(turn = %self.turn, %error, "nothing is shown of a long call");
            return State::Over;
        }
        let sent = match self.bot.api.send(self.target, &Rich::plain(text)).await {
            Ok(sent) => sent,
            Err(failure) => {
                tracing::debug!(turn = %self.turn, %failure, "nothing is shown of a long call");
                return State::Over;
            }
        };
        if let Err(error) = self.bot.store.placeholder_sent(&self.turn, &sent).await {
            tracing::warn!(turn = %self.turn, %error, "a placeholder would be forgotten by a crash now");
        }
        sent.parse().map_or(State::Over, State::Shown)
    }
}
