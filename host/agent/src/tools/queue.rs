//! The bounded queue between those who ask for calls and the threads that run them.
//!
//! One waiting thread is woken for one job; a channel behind a lock would wake two. Whose job is
//! next is decided by [`Fair`].

use super::fair::{Fair, Full, Shares, Taken};
use super::following;
use cofferdam_core::id::Caller;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) type Job = Box<dyn FnOnce() -> AfterJob + Send>;

/// What a thread does after a job.
pub(super) enum AfterJob {
    /// It takes the next one.
    Next,
    /// The same, but the place of its call was given up already.
    NextOfLost,
    /// It ends: it was given up, and another one took its place.
    End,
}

/// Jobs that wait, by who asked for them.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

struct Waiting {
    jobs: Fair<Caller, Job>,
    closed: bool,
}

impl Queue {
    pub(super) fn new(shares: Shares) -> Self {
        let waiting = Mutex::new(Waiting { jobs: Fair::new(shares), closed: false });
        Self { waiting, changed: Condvar::new() }
    }

    /// Takes a job of a session in, unless too many wait.
    pub(super) fn push(&self, session: &Caller, job: Job) -> Result<(), Full> {
        let taken = self.lock().jobs.push(session, job)?;
        if taken == Taken::Ready && !following::takes_next() {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Jobs that wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().jobs.waiting()
    }

    /// The next job; waits for one. None once the queue is closed and has nothing ready. `done` is
    /// the session of the job that the thread has run: what it held up is found here, so nobody
    /// else is woken for it.
    pub(super) fn pop(&self, done: Option<&Caller>) -> Option<(Caller, Job)> {
        let mut waiting = self.lock();
        if let Some(session) = done {
            waiting.jobs.done(session);
        }
        loop {
            if let Some(next) = waiting.jobs.pop() {
                return Some(next);
            }
            // What is held is found by the thread that runs for its session.
            if waiting.closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A job of the session is over and its thread does not look for another one now, or it was
    /// given up: another one may run in its place.
    pub(super) fn end(&self, session: &Caller) {
        let mut waiting = self.lock();
        waiting.jobs.done(session);
        let ready = waiting.jobs.is_ready();
        drop(waiting);
        if ready {
            self.changed.notify_one();
        }
    }

    /// Lets the threads end when nothing waits any more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
