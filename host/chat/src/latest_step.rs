//! The newest that a turn has to show, for the code that shows it at a pace of its own: the words
//! of the newest call, how far several of them have come, or what a model has said so far. It keeps
//! that and no history, however much comes.

use crate::words;
use cofferdam_agent::turn::{StepListener, TurnStep};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// So much of what a model says is kept while it says it; the whole comes as the answer.
const SAID_BYTES_MAX: usize = 32 << 10;

/// Takes the steps of a turn and keeps the newest that can be shown.
#[derive(Debug)]
pub struct LatestStep(watch::Sender<StatusState>);

/// Sees what [`LatestStep`] keeps.
#[derive(Debug)]
pub struct StatusWatcher {
    state: watch::Receiver<StatusState>,
    /// The number of what was returned last.
    returned: u64,
}

/// What there is to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusText {
    /// What the turn is doing, on one line.
    Doing(String),
    /// What the model has said so far of its answer, as it writes.
    Saying(String),
}

/// How old something must be to be worth a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusDelays {
    /// What is done.
    pub doing: Duration,
    /// What is said.
    pub saying: Duration,
}

#[derive(Debug, Default)]
struct StatusState {
    now: CurrentStep,
    /// Counts what can be shown.
    number: u64,
}

#[derive(Debug, Default)]
enum CurrentStep {
    #[default]
    Nothing,
    Fetching {
        since: Instant,
        done: usize,
        of: usize,
    },
    Calling(CallSteps),
    Saying {
        since: Instant,
        text: String,
    },
}

/// The calls of a step.
#[derive(Debug)]
struct CallSteps {
    /// When the first of them began.
    since: Instant,
    /// When the newest began.
    newest: Instant,
    tool: String,
    /// What the newest said last.
    said: Option<String>,
    /// Those that run, and how many ended since none did.
    running: usize,
    ended: usize,
    /// The number of the first of them.
    first: usize,
    of: usize,
}

impl LatestStep {
    /// For one turn.
    pub fn new() -> (Arc<Self>, StatusWatcher) {
        let (sender, state) = watch::channel(StatusState::default());
        (Arc::new(Self(sender)), StatusWatcher { state, returned: 0 })
    }
}

impl StepListener for LatestStep {
    fn step(&self, step: TurnStep) {
        self.0.send_if_modified(|state| {
            let shown = state.now.step(step);
            state.number += u64::from(shown);
            shown
        });
    }
}

impl CurrentStep {
    /// Whether it changes what can be shown.
    fn step(&mut self, step: TurnStep) -> bool {
        match step {
            TurnStep::Attachments(_) => return false,
            TurnStep::Asking => *self = Self::Nothing,
            TurnStep::Fetching { done, of } => {
                let since = match self {
                    Self::Fetching { since, .. } => *since,
                    _ => Instant::now(),
                };
                *self = Self::Fetching { since, done, of };
            }
            TurnStep::Text(piece) => {
                if !matches!(self, Self::Saying { .. }) {
                    *self = Self::Saying { since: Instant::now(), text: String::new() };
                }
                let Self::Saying { text, .. } = self else { return false };
                let room = SAID_BYTES_MAX - text.len();
                let fits = &piece[..piece.floor_char_boundary(room)];
                text.push_str(fits);
                if fits.is_empty() {
                    return false;
                }
            }
            TurnStep::Calling { tool, number, of, .. } => self.note_calls(tool, number, of),
            TurnStep::Called { .. } => {
                let Self::Calling(calls) = self else { return false };
                (calls.running, calls.ended) = (calls.running.saturating_sub(1), calls.ended + 1);
            }
            TurnStep::Report { message, .. } => {
                let Self::Calling(calls) = self else { return false };
                calls.said = Some(message);
            }
        }
        true
    }

    fn note_calls(&mut self, tool: String, number: usize, of: usize) {
        let now = Instant::now();
        match self {
            Self::Calling(calls) => {
                if calls.running == 0 {
                    (calls.first, calls.ended) = (number, 0);
                }
                (calls.newest, calls.tool, calls.said) = (now, tool, None);
                calls.running += 1;
            }
            _ => {
                let (since, newest) = (now, now);
                *self = Self::Calling(CallSteps {
                    since,
                    newest,
                    tool,
                    said: None,
                    running: 1,
                    ended: 0,
                    first: number,
                    of,
                });
            }
        }
    }

    /// When it is worth a word; none when there is nothing to show.
    fn next_status_at(&self, patience: StatusDelays) -> Option<Instant> {
        match self {
            Self::Nothing => None,
            Self::Fetching { since, of, .. } => (*of > 1).then(|| *since + patience.doing),
            Self::Calling(calls) if calls.of > 1 => Some(calls.since + patience.doing),
            Self::Calling(calls) => calls.said.is_some().then(|| calls.newest + patience.doing),
            Self::Saying { since, .. } => Some(*since + patience.saying),
        }
    }

    fn status_text(&self) -> Option<StatusText> {
        Some(match self {
            Self::Nothing => return None,
            Self::Fetching { done, of, .. } => StatusText::Doing(words::fetching((done + 1).min(*of), *of)),
            Self::Calling(calls) => StatusText::Doing(calls.words()?),
            Self::Saying { text, .. } => StatusText::Saying(text.clone()),
        })
    }
}

impl CallSteps {
    fn words(&self) -> Option<String> {
        if self.of < 2 {
            return self.said.clone();
        }
        let counted = words::calling(&self.tool, (self.first + self.ended).min(self.of), self.of);
        Some(match &self.said {
            Some(said) => format!("{counted}: {said}"),
            None => counted,
        })
    }
}

impl StatusWatcher {
    /// Waits for something that was not returned before and has been going on for as long as
    /// `patience` says; returns the newest. `None` when the turn is over.
    ///
    /// Dropping the future loses nothing. What is over before it is worth a word stays unmentioned.
    pub async fn next(&mut self, patience: StatusDelays) -> Option<StatusText> {
        loop {
            let due = {
                let state = self.state.borrow_and_update();
                state.now.next_status_at(patience).filter(|_| state.number != self.returned)
            };
            match due {
                Some(due) if due > Instant::now() => sleep_until(due).await,
                Some(_) => match self.newest() {
                    Some(sight) => return Some(sight),
                    // It has just ended.
                    None => continue,
                },
                None => self.state.changed().await.ok()?,
            }
        }
    }

    /// What there is to show now, whether it was returned before or not; none between two things.
    pub fn newest(&mut self) -> Option<StatusText> {
        let state = self.state.borrow();
        self.returned = state.number;
        state.now.status_text()
    }

    /// Has [`Self::next`] return what it has returned last once more, or what is newer by then.
    pub fn return_again(&mut self) {
        self.returned = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::id::TurnId;

    const NONE: StatusDelays = StatusDelays { doing: Duration::ZERO, saying: Duration::ZERO };
    const HOUR: StatusDelays =
        StatusDelays { doing: Duration::from_secs(3600), saying: Duration::from_secs(3600) };

    fn note_calls(newest: &LatestStep, tool: &str, number: usize, of: usize) {
        newest.step(TurnStep::Calling { call: TurnId::new("t").call(number), tool: tool.into(), number, of });
    }

    fn called(newest: &LatestStep) {
        newest.step(TurnStep::Called { call: TurnId::new("t").call(0) });
    }

    fn report(newest: &LatestStep, message: &str) {
        newest.step(TurnStep::Report { call: TurnId::new("t").call(0), message: message.into() });
    }

    /// Whether there is nothing to say yet.
    async fn is_quiet(watcher: &mut StatusWatcher, patience: StatusDelays) -> bool {
        tokio::time::timeout(Duration::from_millis(1), watcher.next(patience)).await.is_err()
    }

    async fn doing(watcher: &mut StatusWatcher) -> String {
        match watcher.next(NONE).await {
            Some(StatusText::Doing(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_newest_words_come_once() {
        let (newest, mut watcher) = LatestStep::new();
        note_calls(&newest, "x", 1, 1);
        for n in 0..10_000 {
            report(&newest, &n.to_string());
        }
        assert_eq!(doing(&mut watcher).await, "9999");
        assert!(is_quiet(&mut watcher, NONE).await);
        report(&newest, "the same");
        report(&newest, "the same");
        assert_eq!(doing(&mut watcher).await, "the same");
        watcher.return_again();
        assert_eq!(doing(&mut watcher).await, "the same");
        assert!(is_quiet(&mut watcher, NONE).await);
        drop(newest);
        assert_eq!(watcher.next(NONE).await, None, "the turn is over");
    }

    #[tokio::test]
    async fn a_call_that_is_young_or_over_is_not_worth_a_word() {
        let (newest, mut watcher) = LatestStep::new();
        note_calls(&newest, "x", 1, 1);
        report(&newest, "first");
        assert!(is_quiet(&mut watcher, HOUR).await);
        note_calls(&newest, "x", 1, 1);
        assert!(is_quiet(&mut watcher, NONE).await, "the words of the call before");
        report(&newest, "second");
        assert!(is_quiet(&mut watcher, HOUR).await);
        assert_eq!(doing(&mut watcher).await, "second", "waiting has lost nothing");
    }

    #[tokio::test]
    async fn several_calls_are_counted_one_after_the_other_and_side_by_side() {
        let (newest, mut watcher) = LatestStep::new();
        note_calls(&newest, "attachment_save", 1, 5);
        assert!(is_quiet(&mut watcher, HOUR).await);
        assert_eq!(doing(&mut watcher).await, "saving 1 of 5");
        called(&newest);
        note_calls(&newest, "attachment_save", 2, 5);
        assert_eq!(doing(&mut watcher).await, "saving 2 of 5");
        report(&newest, "half");
        assert_eq!(doing(&mut watcher).await, "saving 2 of 5: half");
        called(&newest);
        for number in 3..=5 {
            note_calls(&newest, "file_read", number, 5);
        }
        assert_eq!(doing(&mut watcher).await, "reading 3 of 5");
        called(&newest);
        called(&newest);
        assert_eq!(doing(&mut watcher).await, "reading 5 of 5");
        called(&newest);
        newest.step(TurnStep::Asking);
        assert!(is_quiet(&mut watcher, NONE).await, "the step is over");
    }

    #[tokio::test]
    async fn files_that_come_in_are_counted_and_a_single_one_is_not() {
        let (newest, mut watcher) = LatestStep::new();
        newest.step(TurnStep::Fetching { done: 0, of: 1 });
        assert!(is_quiet(&mut watcher, NONE).await);
        newest.step(TurnStep::Fetching { done: 0, of: 3 });
        assert_eq!(doing(&mut watcher).await, "fetching 1 of 3");
        newest.step(TurnStep::Fetching { done: 3, of: 3 });
        assert_eq!(doing(&mut watcher).await, "fetching 3 of 3");
    }

    #[tokio::test]
    async fn what_is_said_grows_within_bounds_and_begins_anew_with_each_step() {
        let (newest, mut watcher) = LatestStep::new();
        for piece in ["Hel", "lo"] {
            newest.step(TurnStep::Text(piece.into()));
        }
        assert!(is_quiet(&mut watcher, HOUR).await);
        assert_eq!(watcher.next(NONE).await, Some(StatusText::Saying("Hello".into())));
        newest.step(TurnStep::Asking);
        newest.step(TurnStep::Text("é".repeat(SAID_BYTES_MAX)));
        let Some(StatusText::Saying(said)) = watcher.next(NONE).await else { panic!("nothing is said") };
        assert_eq!(said.len(), SAID_BYTES_MAX);
        newest.step(TurnStep::Text("more".into()));
        assert!(is_quiet(&mut watcher, NONE).await, "nothing of it would be seen");
    }
}
