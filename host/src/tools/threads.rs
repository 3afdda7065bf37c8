//! The threads that calls run on: a fixed number, a bounded queue, and a watchdog for each call.
//!
//! Blocking work never touches the async runtime that serves the channels, so a spinning guest or a
//! slow disk delays nobody but itself.

use cofferdam_core::tool::{ErrorCode, ToolError};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Calls that may wait for a thread; one more is refused.
pub const QUEUE_MAX: usize = 1024;
/// Threads that may be given up because a host call in them never returned; then calls are refused.
const LOST_MAX: usize = 16;
/// How long after its deadline a call may still be busy in the host before its answer is given up.
const GRACE: Duration = Duration::from_secs(2);

type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads for calls.
pub struct CallThreads {
    queue: SyncSender<Job>,
    jobs: Arc<Mutex<Receiver<Job>>>,
    lost: AtomicUsize,
}

/// Who may still decide over a call: its thread, which wants to publish, or the watchdog, which wants
/// to answer "timed out". Exactly one of them wins.
#[derive(Clone, Default)]
pub struct Handover(Arc<AtomicU8>);

const RUNNING: u8 = 0;
const COMMITTED: u8 = 1;
const ABANDONED: u8 = 2;

impl Handover {
    /// Claims the right to publish. False when the watchdog has already answered.
    #[must_use]
    pub fn commit(&self) -> bool {
        self.0.compare_exchange(RUNNING, COMMITTED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn abandon(&self) -> bool {
        self.0.compare_exchange(RUNNING, ABANDONED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl CallThreads {
    /// `count` threads, started now.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(count: usize) -> std::io::Result<Self> {
        let (queue, jobs) = sync_channel(QUEUE_MAX);
        let threads = Self { queue, jobs: Arc::new(Mutex::new(jobs)), lost: AtomicUsize::new(0) };
        for _ in 0..count {
            threads.spawn()?;
        }
        Ok(threads)
    }

    fn spawn(&self) -> std::io::Result<()> {
        let jobs = self.jobs.clone();
        std::thread::Builder::new().name("call".into()).spawn(move || {
            loop {
                let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                match next {
                    // A panic in host code must not take the thread with it: the caller sees its
                    // channel close, the next call finds the thread as before.
                    Ok(job) => drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job))),
                    Err(_) => return,
                }
            }
        })?;
        Ok(())
    }

    /// Runs `work` on a thread and waits for its answer, for `deadline` and a grace at most.
    ///
    /// `work` must ask [`Handover::commit`] before it changes anything.
    ///
    /// # Errors
    /// `tool_unavailable` when too many calls wait, `timed_out` when the thread does not come back.
    pub async fn run<T: Send + 'static>(
        &self,
        deadline: Duration,
        work: impl FnOnce(Handover) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let handover = Handover::default();
        let (answer, mut answered) = oneshot::channel();
        let (started, starts) = oneshot::channel();
        let mine = handover.clone();
        let job: Job = Box::new(move || {
            let _ = started.send(());
            let _ = answer.send(work(mine));
        });
        self.queue.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => ToolError::new(
                ErrorCode::ToolUnavailable,
                format!("{QUEUE_MAX} calls are waiting; try again later"),
            ),
            TrySendError::Disconnected(_) => crashed(),
        })?;
        if starts.await.is_err() {
            return Err(crashed());
        }
        match tokio::time::timeout(deadline + GRACE, &mut answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(crashed())),
            Err(_) if handover.abandon() => {
                self.replace_lost_thread();
                Err(ToolError::new(
                    ErrorCode::TimedOut,
                    "the system did not answer within the deadline; nothing was changed",
                ))
            }
            // It is publishing: the answer must say what became of that, however long the disk takes.
            Err(_) => answered.await.unwrap_or_else(|_| Err(crashed())),
        }
    }

    fn replace_lost_thread(&self) {
        let lost = self.lost.fetch_add(1, Ordering::AcqRel) + 1;
        tracing::error!(lost, "a call is stuck in the system; its thread is given up");
        if lost <= LOST_MAX
            && let Err(error) = self.spawn()
        {
            tracing::error!(%error, "cannot start another call thread");
        }
    }
}

fn crashed() -> ToolError {
    ToolError::new(ErrorCode::Internal, "the gateway failed while running this call; see its log")
}
