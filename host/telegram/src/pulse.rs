//! Whether the poller goes on: when Telegram last answered it, and by when it is to take its next step. Told to
//! whoever watches the program; nothing is decided by it here.
//!
//! A poll that nobody answers ends, and so does a pause: both are steps. The poller waits for nothing else: what it
//! brings is taken at once, however much work there is.

use cofferdam_core::counts::COUNTS;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What is known of the one poller of this process.
struct Pulse {
    /// When Telegram last answered.
    answered: Option<Instant>,
    /// By when the poller takes its next step; none while there is no poller.
    due: Option<Instant>,
}

static PULSE: Mutex<Pulse> = Mutex::new(Pulse { answered: None, due: None });
/// Holds that a poll was answered, until it is waited for.
static POLLED: Notify = Notify::const_new();

tokio::task_local! {
    /// Set in the poller alone: what it runs is also run by others, who have no pulse.
    static POLLER: ();
}

/// Runs the poller.
pub(super) async fn poller<T>(polling: impl Future<Output = T>) -> T {
    let ended = POLLER.scope((), polling).await;
    change(|pulse| pulse.due = None);
    ended
}

/// The poller's next step comes after this at the latest.
pub(super) fn goes_on_within(longest: Duration) {
    if POLLER.try_with(|()| ()).is_ok() {
        change(|pulse| pulse.due = Some(Instant::now() + longest));
    }
}

/// Telegram has said who the bot is, which is all that can be said before the first poll.
pub(super) fn known() {
    change(|pulse| pulse.answered = Some(Instant::now()));
}

/// Telegram has answered a poll.
pub(super) fn answered(updates: usize) {
    COUNTS.updates.add(updates as u64);
    known();
    POLLED.notify_one();
}

/// How long ago Telegram last answered the poller; `None` before there is one.
pub fn last_poll() -> Option<Duration> {
    read(|pulse| pulse.answered).map(|at| at.elapsed())
}

/// Waits until a poll was answered; for one who waits.
pub async fn polled() {
    POLLED.notified().await;
}

/// How long ago the poller should have taken its next step; zero while all is well.
pub fn overdue() -> Duration {
    read(|pulse| pulse.due).map_or(Duration::ZERO, |due| due.elapsed())
}

fn change(change: impl FnOnce(&mut Pulse)) {
    change(&mut PULSE.lock().unwrap_or_else(PoisonError::into_inner));
}

fn read<T>(read: impl FnOnce(&Pulse) -> T) -> T {
    read(&PULSE.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_poller_alone_has_a_pulse_and_only_where_it_must_go_on() {
        goes_on_within(Duration::ZERO);
        assert_eq!(overdue(), Duration::ZERO, "nobody polls");
        poller(async {
            goes_on_within(Duration::from_secs(3600));
            assert_eq!(overdue(), Duration::ZERO, "a poll may last long");
            goes_on_within(Duration::ZERO);
            std::thread::sleep(Duration::from_millis(2));
            assert!(overdue() >= Duration::from_millis(1));
        })
        .await;
        assert_eq!(overdue(), Duration::ZERO, "it has ended");
    }
}
