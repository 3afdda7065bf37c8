//! Whether a channel goes on: when its platform last answered it, and by when it is to take its
//! next step. Told to those who watch the program; nothing is decided by it here.
//!
//! A request that nobody answers ends, and so does a pause: both are steps. A channel's loop waits
//! for nothing else: what it brings is taken at once, however much work there is.

use cofferdam_core::counts::COUNTS;
use cofferdam_core::lock::lock;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What is known of the loop of one channel in this process.
pub struct LoopHealth {
    /// The channel, as in the configuration.
    pub name: &'static str,
    beats: Mutex<LoopBeats>,
    /// Holds that the platform has answered, until it is waited for.
    polled: Notify,
}

struct LoopBeats {
    /// When the platform last answered.
    answered: Option<Instant>,
    /// By when the loop takes its next step; none while there is no loop.
    due: Option<Instant>,
    /// Whether another node hears the platform.
    is_elsewhere: bool,
}

tokio::task_local! {
    /// Set in the loop of a channel alone: what it runs is also run by others, who have no pulse.
    static OWN: &'static LoopHealth;
}

/// The loop that this is called from takes its next step after this at the latest.
pub fn note_next_within(longest: Duration) {
    let _ = OWN.try_with(|pulse| lock(&pulse.beats).due = Some(Instant::now() + longest));
}

impl LoopHealth {
    /// Of a channel of this name, which has not begun.
    pub const fn new(name: &'static str) -> Self {
        let beats = LoopBeats { answered: None, due: None, is_elsewhere: false };
        Self { name, beats: Mutex::new(beats), polled: Notify::const_new() }
    }

    /// Runs the channel's loop.
    pub async fn run_loop<T>(&'static self, run: impl Future<Output = T>) -> T {
        let ended = OWN.scope(self, run).await;
        lock(&self.beats).due = None;
        ended
    }

    /// The platform has said who the bot is, which is all that can be said before it brings
    /// something.
    pub fn note_known(&self) {
        let mut beats = lock(&self.beats);
        (beats.answered, beats.is_elsewhere) = (Some(Instant::now()), false);
    }

    /// Another node hears the platform, so this one does all that it is there for.
    pub fn note_elsewhere(&self) {
        lock(&self.beats).is_elsewhere = true;
        self.polled.notify_one();
    }

    /// Whether another node hears the platform.
    pub fn is_elsewhere(&self) -> bool {
        lock(&self.beats).is_elsewhere
    }

    /// The platform has answered, and brought so many updates.
    pub fn note_answer(&self, updates: usize) {
        COUNTS.updates.add(updates as u64);
        self.note_known();
        self.polled.notify_one();
    }

    /// How long ago the platform last answered; `None` before there is a loop.
    pub fn last_poll(&self) -> Option<Duration> {
        lock(&self.beats).answered.map(|at| at.elapsed())
    }

    /// Waits until the platform has answered, here or another node; for one who waits.
    pub async fn await_poll(&self) {
        self.polled.notified().await;
    }

    /// How long ago the loop should have taken its next step; zero while all is well.
    pub fn overdue_by(&self) -> Duration {
        lock(&self.beats).due.map_or(Duration::ZERO, |due| due.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PULSE: LoopHealth = LoopHealth::new("one");
    static OTHER: LoopHealth = LoopHealth::new("other");

    #[tokio::test]
    async fn a_loop_alone_has_a_pulse_and_only_where_it_must_go_on() {
        note_next_within(Duration::ZERO);
        assert_eq!(PULSE.overdue_by(), Duration::ZERO, "nobody polls");
        PULSE
            .run_loop(async {
                note_next_within(Duration::from_secs(3600));
                assert_eq!(PULSE.overdue_by(), Duration::ZERO, "a poll may last long");
                note_next_within(Duration::ZERO);
                std::thread::sleep(Duration::from_millis(2));
                assert!(PULSE.overdue_by() >= Duration::from_millis(1));
                assert_eq!(OTHER.overdue_by(), Duration::ZERO, "each channel has its own");
            })
            .await;
        assert_eq!(PULSE.overdue_by(), Duration::ZERO, "it has ended");
    }
}
