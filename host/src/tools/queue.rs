//! The bounded queue between those who ask for calls and the threads that run them.
//!
//! One waiting thread is woken for one job; a channel behind a lock would wake two.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

pub(super) type Job = Box<dyn FnOnce() -> AfterJob + Send>;

/// What a thread does after a job.
pub(super) enum AfterJob {
    /// It takes the next one.
    Next,
    /// It ends: it was given up, and another one took its place.
    End,
}

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Queue {
    /// Appends a job, unless `most` are waiting already.
    pub(super) fn push(&self, job: Job, most: usize) -> Result<(), Job> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.jobs.len() >= most {
            return Err(job);
        }
        waiting.jobs.push_back(job);
        drop(waiting);
        self.changed.notify_one();
        Ok(())
    }

    /// The next job; waits for one. None once the queue is closed and empty.
    pub(super) fn pop(&self) -> Option<Job> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                return Some(job);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the threads end when nothing waits any more.
    pub(super) fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_all();
    }
}
