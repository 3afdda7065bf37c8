//! The newest words of the newest call, for whoever shows them at a pace of its own. It keeps one report
//! and no history, however many come.

use super::{Progress, Step};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Takes the steps of a turn and keeps the newest report.
#[derive(Debug)]
pub struct Newest(watch::Sender<Doing>);

/// Sees what [`Newest`] keeps.
#[derive(Debug)]
pub struct Watcher {
    doing: watch::Receiver<Doing>,
    /// The number of the report that was returned last.
    returned: u64,
}

#[derive(Clone, Debug, Default)]
struct Doing {
    /// When the newest call began.
    since: Option<Instant>,
    /// What it said last.
    said: Option<String>,
    /// Reports so far.
    number: u64,
}

impl Newest {
    /// For one turn.
    pub fn new() -> (Arc<Self>, Watcher) {
        let (sender, doing) = watch::channel(Doing::default());
        (Arc::new(Self(sender)), Watcher { doing, returned: 0 })
    }
}

impl Progress for Newest {
    fn step(&self, step: Step) {
        match step {
            Step::Attachments(_) => {}
            Step::Calling { .. } => self.0.send_modify(|doing| {
                (doing.since, doing.said) = (Some(Instant::now()), None);
            }),
            Step::Report { message, .. } => self.0.send_modify(|doing| {
                doing.said = Some(message);
                doing.number += 1;
            }),
        }
    }
}

impl Watcher {
    /// Waits for words that were not returned before, of a call that has run for at least `patience`; returns
    /// the newest. `None` when the turn is over.
    ///
    /// Dropping the future loses nothing. Calls that are over before they are worth a word stay unmentioned.
    pub async fn next(&mut self, patience: Duration) -> Option<String> {
        loop {
            let Doing { since, said, number } = self.doing.borrow_and_update().clone();
            let fresh = said.filter(|_| number != self.returned);
            match (fresh, since.map(|since| since + patience)) {
                (Some(_), Some(due)) if due > Instant::now() => sleep_until(due).await,
                (Some(words), _) => {
                    self.returned = number;
                    return Some(words);
                }
                (None, _) => self.doing.changed().await.ok()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cofferdam_core::id::TurnId;

    const NONE: Duration = Duration::ZERO;
    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn calling(newest: &Newest, n: usize) {
        newest.step(Step::Calling { call: TurnId::new("t").call(n), tool: "x".into() });
    }

    fn report(newest: &Newest, message: &str) {
        newest.step(Step::Report { call: TurnId::new("t").call(0), message: message.into() });
    }

    /// Whether there is nothing to say yet.
    async fn is_quiet(watcher: &mut Watcher, patience: Duration) -> bool {
        tokio::time::timeout(Duration::from_millis(1), watcher.next(patience)).await.is_err()
    }

    #[tokio::test]
    async fn the_newest_words_come_once() {
        let (newest, mut watcher) = Newest::new();
        calling(&newest, 0);
        for n in 0..10_000 {
            report(&newest, &n.to_string());
        }
        assert_eq!(watcher.next(NONE).await.as_deref(), Some("9999"));
        assert!(is_quiet(&mut watcher, NONE).await);
        report(&newest, "the same");
        report(&newest, "the same");
        assert_eq!(watcher.next(NONE).await.as_deref(), Some("the same"));
        drop(newest);
        assert_eq!(watcher.next(NONE).await, None, "the turn is over");
    }

    #[tokio::test]
    async fn a_call_that_is_young_or_over_is_not_worth_a_word() {
        let (newest, mut watcher) = Newest::new();
        calling(&newest, 0);
        report(&newest, "first");
        assert!(is_quiet(&mut watcher, HOUR).await);
        calling(&newest, 1);
        assert!(is_quiet(&mut watcher, NONE).await, "the words of the call before");
        report(&newest, "second");
        assert!(is_quiet(&mut watcher, HOUR).await);
        assert_eq!(watcher.next(NONE).await.as_deref(), Some("second"), "waiting has lost nothing");
    }
}
