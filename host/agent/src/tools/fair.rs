//! The order of service among sessions: each in its turn, none beyond its share. Pure: no lock, no
//! thread.
//!
//! Sessions that have something to run stand in one circle. The first is taken one job, and goes to
//! the end of the circle if it may run another one now. Every step costs the same, however many
//! wait.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

#[cfg(test)]
mod tests;

/// How much is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    /// Jobs of one session that run at once.
    pub(super) running: usize,
    /// Jobs of one session that wait.
    pub(super) waiting: usize,
    /// Jobs that wait in all.
    pub(super) waiting_in_all: usize,
}

/// Why a job is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The session has its share waiting.
    Session,
    /// Everybody together has.
    All,
}

/// Jobs by session, in the order in which they will be served.
#[derive(Debug)]
pub(super) struct Fair<S, J> {
    shares: Shares,
    /// Sessions with anything that waits or runs.
    lines: HashMap<S, Line<J>>,
    /// Sessions with a job to run now, each once.
    circle: VecDeque<S>,
    waiting: usize,
}

#[derive(Debug)]
struct Line<J> {
    jobs: VecDeque<J>,
    running: usize,
    in_circle: bool,
}

impl<S: Clone + Eq + Hash, J> Fair<S, J> {
    pub(super) fn new(shares: Shares) -> Self {
        Self { shares, lines: HashMap::new(), circle: VecDeque::new(), waiting: 0 }
    }

    /// Jobs that wait, of all sessions.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether there is a job to run now.
    pub(super) fn is_ready(&self) -> bool {
        !self.circle.is_empty()
    }

    /// Takes a job in; whether it can be run as soon as somebody is free. Else it is held until one
    /// of its session's is done: the thread that finishes that finds it.
    pub(super) fn push(&mut self, session: &S, job: J) -> Result<bool, Full> {
        if self.waiting >= self.shares.waiting_in_all {
            return Err(Full::All);
        }
        let new = || Line { jobs: VecDeque::new(), running: 0, in_circle: false };
        let line = self.lines.entry(session.clone()).or_insert_with(new);
        if line.jobs.len() >= self.shares.waiting {
            return Err(Full::Session);
        }
        line.jobs.push_back(job);
        self.waiting += 1;
        // Held ones wait for the share alone, so they are no news to anybody who is free.
        let is_ready = line.running + line.jobs.len() <= self.shares.running;
        self.stand(session);
        Ok(is_ready)
    }

    /// The job to run next. Its session must be [`Fair::done`] with it afterwards.
    pub(super) fn pop(&mut self) -> Option<(S, J)> {
        let session = self.circle.pop_front()?;
        let line = self.lines.get_mut(&session).expect("whoever stands in the circle has a line");
        line.in_circle = false;
        let job = line.jobs.pop_front().expect("and a job in it");
        line.running += 1;
        self.waiting -= 1;
        self.stand(&session);
        Some((session, job))
    }

    /// A job of the session does not run any more.
    pub(super) fn done(&mut self, session: &S) {
        let Some(line) = self.lines.get_mut(session) else { return };
        line.running = line.running.saturating_sub(1);
        if line.running == 0 && line.jobs.is_empty() {
            self.lines.remove(session);
            return;
        }
        self.stand(session);
    }

    /// Puts a session at the end of the circle if it may run a job now and does not stand there.
    fn stand(&mut self, session: &S) {
        let Some(line) = self.lines.get_mut(session) else { return };
        if !line.in_circle && !line.jobs.is_empty() && line.running < self.shares.running {
            line.in_circle = true;
            self.circle.push_back(session.clone());
        }
    }
}
