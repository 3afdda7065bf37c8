//! The bounded queue between those who ask for calls and the threads that run them.
//!
//! One waiting thread is woken for one job; a channel behind a lock would wake two. Whose job is
//! next is decided by [`Fair`].

use super::fair::{Fair, Full, QueuedAs, Shares};
use super::following;
use cofferdam_core::id::Caller;
use cofferdam_core::lock::lock;
use std::sync::{Condvar, Mutex, PoisonError};

pub(super) type QueuedJob = Box<dyn FnOnce() -> AfterJob + Send>;

/// What a thread does after a job.
pub(super) enum AfterJob {
    /// It takes the next one.
    Next,
    /// The same, but the place of its call was given up already.
    NextOfLost,
    /// It ends: it was given up, and another one took its place.
    End,
}

/// What a thread did before it asks for a job.
pub(super) enum ThreadReport {
    /// Nothing that anybody waits for.
    Nothing,
    /// A job of this session: what that held up is found by this thread, so nobody else is woken.
    Job(Caller),
    /// A turn, before which a job was [`JobQueue::finish`]: what it held up may be more than one
    /// thread can run.
    Turn,
}

/// Jobs that wait, by who asked for them.
pub(super) struct JobQueue {
    waiting: Mutex<WaitingJobs>,
    changed: Condvar,
}

struct WaitingJobs {
    jobs: Fair<Caller, QueuedJob>,
    closed: bool,
}

impl JobQueue {
    pub(super) fn new(shares: Shares) -> Self {
        let waiting = Mutex::new(WaitingJobs { jobs: Fair::new(shares), closed: false });
        Self { waiting, changed: Condvar::new() }
    }

    /// Takes a job of a session in, unless too many wait.
    pub(super) fn push(&self, session: &Caller, job: QueuedJob) -> Result<(), Full> {
        let taken = lock(&self.waiting).jobs.push(session, job)?;
        if taken == QueuedAs::Ready && !following::can_take_next() {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Jobs that wait.
    pub(super) fn waiting(&self) -> usize {
        lock(&self.waiting).jobs.waiting()
    }

    /// The next job; waits for one. None once the queue is closed and has nothing ready. `done` is
    /// what the thread did before.
    pub(super) fn pop(&self, done: ThreadReport) -> Option<(Caller, QueuedJob)> {
        let mut waiting = lock(&self.waiting);
        if let ThreadReport::Job(session) = &done {
            waiting.jobs.done(session);
        }
        loop {
            if let Some(next) = waiting.jobs.pop() {
                let others = matches!(done, ThreadReport::Turn) && waiting.jobs.is_ready();
                drop(waiting);
                if others {
                    self.changed.notify_one();
                }
                return Some(next);
            }
            // What is held is found by the thread that runs for its session.
            if waiting.closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A job of the session is over, and its thread asks for another one soon.
    pub(super) fn finish(&self, session: &Caller) {
        lock(&self.waiting).jobs.done(session);
    }

    /// A job of the session was given up: another one may run in its place.
    pub(super) fn end(&self, session: &Caller) {
        let mut waiting = lock(&self.waiting);
        waiting.jobs.done(session);
        let ready = waiting.jobs.is_ready();
        drop(waiting);
        if ready {
            self.changed.notify_one();
        }
    }

    /// Lets the threads end when nothing waits any more.
    pub(super) fn close(&self) {
        lock(&self.waiting).closed = true;
        self.changed.notify_all();
    }
}
