//! The bounded queue between those who ask for calls and the threads that run them.
//!
//! One waiting thread is woken for one job; a channel behind a lock would wake two. It is the one
//! that worked last: its memory is warm, and it is on the processor of the worker that it used.
//! Whose job is next is decided by [`Fair`].

use super::fair::{Fair, Full, Shares};
use super::following;
use cofferdam_core::id::Caller;
use cofferdam_core::lock::lock;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Runs for the session that it is given; what its thread asks for the next job with. None where
/// the thread ends: it was given up, and another one took its place.
pub(super) type QueuedJob = Box<dyn FnOnce(Caller) -> Option<ThreadReport> + Send>;

/// What a thread did before it asks for a job.
pub(super) enum ThreadReport {
    /// Nothing that anybody waits for, or a job whose place was given up already.
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
}

struct WaitingJobs {
    jobs: Fair<Caller, QueuedJob>,
    /// Threads that wait for a job and are not woken yet; the last one waits the shortest.
    idle: Vec<Arc<Condvar>>,
    closed: bool,
}

thread_local! {
    /// What this thread waits on.
    static WAKE: Arc<Condvar> = Arc::new(Condvar::new());
}

impl JobQueue {
    pub(super) fn new(shares: Shares) -> Self {
        Self { waiting: Mutex::new(WaitingJobs { jobs: Fair::new(shares), idle: Vec::new(), closed: false }) }
    }

    /// Takes a job of a session in, unless too many wait.
    pub(super) fn push(&self, session: &Caller, job: QueuedJob) -> Result<(), Full> {
        let mut waiting = lock(&self.waiting);
        let is_ready = waiting.jobs.push(session, job)?;
        if is_ready && !following::can_take_next() {
            wake_one(waiting);
        }
        Ok(())
    }

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
                if matches!(done, ThreadReport::Turn) && waiting.jobs.is_ready() {
                    wake_one(waiting);
                }
                return Some(next);
            }
            // What is held is found by the thread that runs for its session.
            if waiting.closed {
                return None;
            }
            waiting = WAKE.with(|mine| wait(waiting, mine));
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
        if waiting.jobs.is_ready() {
            wake_one(waiting);
        }
    }

    /// Lets the threads end when nothing waits any more.
    pub(super) fn close(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.closed = true;
        waiting.idle.drain(..).for_each(|idle| idle.notify_one());
    }
}

/// Wakes the thread that waits the shortest, if one waits.
fn wake_one(mut waiting: MutexGuard<'_, WaitingJobs>) {
    let idle = waiting.idle.pop();
    drop(waiting);
    if let Some(idle) = idle {
        idle.notify_one();
    }
}

/// Waits until this thread is woken.
fn wait<'a>(mut waiting: MutexGuard<'a, WaitingJobs>, mine: &Arc<Condvar>) -> MutexGuard<'a, WaitingJobs> {
    waiting.idle.push(mine.clone());
    mine.wait_while(waiting, |waiting| waiting.idle.iter().any(|idle| Arc::ptr_eq(idle, mine)))
        .unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread::{current, spawn, yield_now};

    #[test]
    fn the_thread_that_worked_last_is_woken_first() {
        let queue = Arc::new(JobQueue::new(Shares { running: 8, waiting: 8, waiting_in_all: 8 }));
        let start = |waiting: usize| {
            let mine = queue.clone();
            let thread = spawn(move || {
                let mut done = ThreadReport::Nothing;
                while let Some((session, job)) = mine.pop(done) {
                    done = job(session).expect("it takes the next one");
                }
            });
            while lock(&queue.waiting).idle.len() < waiting {
                yield_now();
            }
            thread
        };
        let threads = [start(1), start(2), start(3)];
        let one = Caller { channel: "test".into(), sender: "1".into() };
        let (tell, told) = mpsc::channel();
        let push = || {
            let tell = tell.clone();
            let job: QueuedJob = Box::new(move |session| {
                tell.send(current().id()).expect("waited for");
                Some(ThreadReport::Job(session))
            });
            assert!(queue.push(&one, job).is_ok());
        };
        for _ in 0..20 {
            push();
            assert_eq!(told.recv().expect("it runs"), threads[2].thread().id());
            while lock(&queue.waiting).idle.len() < 3 {
                yield_now();
            }
        }
        // As many are woken as there are jobs.
        (0..3).for_each(|_| push());
        for _ in 0..3 {
            told.recv().expect("it runs");
        }
        queue.close();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    }
}
