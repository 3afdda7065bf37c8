//! The threads that calls run on: a fixed number, a bounded fair queue, and a watchdog for each
//! call.
//!
//! Blocking work never touches the async runtime that serves the channels, so a spinning guest or a
//! slow disk delays nobody but itself.

use super::fair::{Full, Shares};
use super::following;
use super::queue::{JobQueue, QueuedJob, ThreadReport};
use cofferdam_core::id::Caller;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_store::blocking;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicIsize, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

#[cfg(test)]
mod tests;

/// Calls that may wait for a thread; one more is refused.
pub(super) const QUEUE_MAX: usize = 1024;
/// Calls of one session that may wait for a thread; one more is refused.
pub(super) const SESSION_QUEUE_MAX: usize = 128;
/// Calls of one session that run at once. With fewer threads it is one less than there are, so that
/// somebody else's call finds one.
pub(super) const CALLS_PER_SESSION_MAX: usize = 8;
/// Threads that may be given up because a host call in them does not return; with more, calls are
/// refused.
const LOST_MAX: isize = 16;
/// How long after its deadline a call may still be busy in the host before its answer is given up.
const GRACE: Duration = Duration::from_secs(2);

/// A fixed number of threads for calls.
pub struct CallThreads {
    queue: Arc<JobQueue>,
    /// Threads given up that have not come back. A thread that comes back at that very moment is
    /// counted off before it is counted on, so this may be -1 for an instant.
    lost: Arc<AtomicIsize>,
    grace: Duration,
}

/// Who may still decide over a call: its thread, which wants to publish, or the watchdog, which
/// wants to answer "timed out". Exactly one of them wins.
#[derive(Default)]
pub struct Handover {
    /// When a thread took the call; absent while it is queued.
    started: OnceLock<Instant>,
    /// 0 while it is queued.
    stage: AtomicU8,
}

const RUNNING: u8 = 1;
const COMMITTED: u8 = 2;
const ABANDONED: u8 = 3;

impl Handover {
    /// Claims the right to publish. False when the watchdog has already answered.
    #[must_use]
    pub fn commit(&self) -> bool {
        self.leave_running(COMMITTED)
    }

    fn start(&self) {
        let _ = self.started.set(Instant::now());
        self.stage.store(RUNNING, Ordering::Release);
    }

    /// What is left of `time`, which begins when a thread takes the call: waiting for one is not
    /// the call's fault.
    fn time_left(&self, time: Duration) -> Duration {
        self.started.get().map_or(time, |started| time.saturating_sub(started.elapsed()))
    }

    fn abandon(&self) -> bool {
        self.leave_running(ABANDONED)
    }

    fn leave_running(&self, to: u8) -> bool {
        self.stage.compare_exchange(RUNNING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn is_abandoned(&self) -> bool {
        self.stage.load(Ordering::Acquire) == ABANDONED
    }
}

impl CallThreads {
    /// `count` threads, started now.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(count: usize) -> std::io::Result<Self> {
        Self::with_grace(count, GRACE)
    }

    fn with_grace(count: usize, grace: Duration) -> std::io::Result<Self> {
        let shares = Shares {
            running: count.saturating_sub(1).clamp(1, CALLS_PER_SESSION_MAX),
            waiting: SESSION_QUEUE_MAX,
            waiting_in_all: QUEUE_MAX,
        };
        let threads = Self { queue: Arc::new(JobQueue::new(shares)), lost: Arc::default(), grace };
        for _ in 0..count {
            threads.spawn()?;
        }
        Ok(threads)
    }

    /// Calls that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    fn spawn(&self) -> std::io::Result<()> {
        let queue = self.queue.clone();
        std::thread::Builder::new().name("call".into()).spawn(move || {
            let mut done = ThreadReport::Nothing;
            while let Some((session, job)) = queue.pop(done) {
                let Some(report) = job(session) else { return };
                done = report;
                if let Some(turn) = blocking::take_next() {
                    // Before the turn asks for another call: that may need the share of the one
                    // that is over.
                    if let ThreadReport::Job(session) = &done {
                        queue.finish(session);
                        done = ThreadReport::Turn;
                    }
                    following::poll(turn);
                }
            }
        })?;
        Ok(())
    }

    /// Runs `work` for a session on a thread and waits for its answer, from its start on for
    /// `deadline` and a grace at most.
    ///
    /// `work` must ask [`Handover::commit`] before it changes anything. Where the caller drops
    /// this, what no thread has taken is not run, and what runs goes to its own end.
    ///
    /// # Errors
    /// `tool_unavailable` when too many calls wait or are stuck, `timed_out` when the thread does
    /// not come back, `internal` when it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        session: &Caller,
        deadline: Duration,
        work: impl FnOnce(&Handover) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let stuck = self.lost.load(Ordering::Acquire);
        if stuck > LOST_MAX {
            let said = format!(
                "{stuck} calls are stuck in the system, so no more are taken; the operator must restart it"
            );
            return Err(ToolError::new(ErrorCode::ToolUnavailable, said));
        }
        let handover = Arc::new(Handover::default());
        let (answer, mut answered) = oneshot::channel();
        let (mine, lost) = (handover.clone(), self.lost.clone());
        let job: QueuedJob = Box::new(move |session| {
            // Nobody waits for it any more.
            if answer.is_closed() {
                return Some(ThreadReport::Job(session));
            }
            mine.start();
            // A panic in host code must not take the thread with it: the caller sees its channel
            // close, the next call finds the thread as before.
            let result = catch_unwind(AssertUnwindSafe(|| work(&mine)));
            // From here on the watchdog cannot give this thread up any more.
            let _ = mine.commit();
            if mine.is_abandoned() {
                return come_back(&lost);
            }
            blocking::end(|| match result {
                Ok(result) => drop(answer.send(result)),
                Err(_) => drop(answer),
            });
            Some(ThreadReport::Job(session))
        });
        if let Err(full) = self.queue.push(session, job) {
            let text = match full {
                Full::Session => {
                    format!("{SESSION_QUEUE_MAX} calls of yours are waiting; ask again when some are done")
                }
                Full::All => format!("{QUEUE_MAX} calls are waiting; try again later"),
            };
            return Err(ToolError::new(ErrorCode::ToolUnavailable, text));
        }
        let time = deadline + self.grace;
        let mut left = time;
        let answer = loop {
            let answer = tokio::time::timeout(left, &mut answered).await;
            left = handover.time_left(time);
            if answer.is_ok() || left.is_zero() {
                break answer;
            }
        };
        match answer {
            Ok(answer) => answer.unwrap_or_else(|_| Err(crashed())),
            Err(_) if handover.abandon() => {
                self.queue.end(session);
                self.replace_lost_thread();
                Err(ToolError::new(
                    ErrorCode::TimedOut,
                    "the system did not answer within the deadline; nothing was changed",
                ))
            }
            // It is publishing: the answer must say what became of that, however long the disk
            // takes.
            Err(_) => answered.await.unwrap_or_else(|_| Err(crashed())),
        }
    }

    fn replace_lost_thread(&self) {
        let lost = self.lost.fetch_add(1, Ordering::AcqRel) + 1;
        tracing::error!(lost, "a call is stuck in the system; its thread is given up");
        // The same bound as in `come_back`: there are never more threads than that many more.
        if lost <= LOST_MAX
            && let Err(error) = self.spawn()
        {
            tracing::error!(%error, "cannot start another call thread");
        }
    }
}

/// A thread that was given up is back after all; it ends if another one took its place.
fn come_back(lost: &AtomicIsize) -> Option<ThreadReport> {
    (lost.fetch_sub(1, Ordering::AcqRel) > LOST_MAX).then_some(ThreadReport::Nothing)
}

impl Drop for CallThreads {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// What to answer when the gateway itself failed.
pub(super) fn crashed() -> ToolError {
    ToolError::new(ErrorCode::Internal, "the gateway failed while running this call; see its log")
}
