//! The workers of a gateway: some kept ready, one call at a time in each, replaced when they die and after
//! [`CALLS_PER_WORKER_MAX`] calls.
//!
//! A worker serves one profile, and the very folders that it was started with: never another session's or
//! user's, since it could still read those of the one before. One that had a component describe itself has had to do
//! with that component alone: what took it over could lie about the next.

use super::super::SandboxError;
use super::super::cache::Cache;
use super::super::clock::Clock;
use super::super::host_calls::HostCalls;
use super::super::machine::{Job, Said};
use super::answer::{Ended, converse};
use super::code::Code;
use super::describing::describe_in;
use super::idle::Idle;
use super::not_started;
use super::process::Worker;
use super::protocol::{Described, Kind, ToWorker};
use super::socket::Broken;
use super::starter::{Recipe, Starter};
use crate::confine;
use cap_std::fs::Dir;
use cofferdam_core::capability::Grants;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::limits::Span;
use cofferdam_core::tool::{ErrorCode, ToolError};
use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A worker that has run so many calls is replaced: what one guest might have left in it ends there.
pub const CALLS_PER_WORKER_MAX: u32 = 1000;

/// Folders of a workspace, by guest name.
pub(in crate::sandbox) type Folders = Vec<(String, Arc<Dir>)>;

/// Which workers may run a call: those of its profile, with these folders.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Seat {
    pub(in crate::sandbox) profile: String,
    pub(in crate::sandbox) folders: Folders,
}

/// A component as the pool knows it.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct Known<'a> {
    pub(in crate::sandbox) sha256: &'a str,
    pub(in crate::sandbox) bytes: &'a [u8],
}

/// All workers.
pub(in crate::sandbox) struct Pool {
    shared: Arc<Shared>,
    code: Code,
    cache_dir: Arc<OwnedFd>,
}

struct Shared {
    starter: Starter,
    idle: Mutex<Idle<Worker>>,
}

/// Of workers that look at components and run no call: nothing is granted there.
pub(super) fn looking() -> Seat {
    Seat { profile: String::new(), folders: Vec::new() }
}

impl Pool {
    /// No worker yet. A component that is not compiled after `compile_time` is refused, and so is a worker that is
    /// not confined as `isolation` demands.
    pub(in crate::sandbox) fn new(
        cache: Cache,
        compile_time: Span,
        isolation: confine::Config,
    ) -> io::Result<Self> {
        let cache_dir = Arc::new(cache.dir().try_clone_to_owned()?);
        let shared = Arc::new(Shared { starter: Starter::start(isolation)?, idle: Mutex::default() });
        Ok(Self { shared, code: Code::new(cache, compile_time), cache_dir })
    }

    /// Starts a worker ahead of its first call.
    pub(in crate::sandbox) fn start_ahead(&self, seat: Seat) {
        self.shared.clone().refill(self.recipe(seat));
    }

    /// Has a process ready for whichever worker is wanted next.
    pub(in crate::sandbox) fn keep_spare(&self) {
        self.shared.starter.keep_spare();
    }

    /// Sees whether workers start.
    pub(in crate::sandbox) fn try_worker(&self) -> io::Result<()> {
        self.take(looking()).map(|worker| self.give_back(worker))
    }

    /// What a component says of itself, compiled first if need be; nothing runs where that is known.
    pub(in crate::sandbox) fn describe(
        &self,
        known: Known<'_>,
        grants: &Grants,
    ) -> Result<Said, SandboxError> {
        if let Some(said) = self.code.cache.said(known.sha256, grants) {
            return Ok(said);
        }
        let mut worker = self.take(looking()).map_err(not_started)?;
        let described = self.described_by(&mut worker, known, grants);
        self.replace(worker);
        match described? {
            Described::Said(compatibility, said) => {
                self.code.cache.keep_said(known.sha256, grants, compatibility, &said);
                Ok(said)
            }
            Described::NotCompiled(_) => Err(SandboxError::Cache("a worker does not find the code".into())),
            Described::Link(why) => Err(SandboxError::Link(why)),
            Described::Describe(why) => Err(SandboxError::Describe(why)),
            Described::Engine(why) => Err(SandboxError::Engine(why)),
        }
    }

    fn described_by(
        &self,
        worker: &mut Worker,
        known: Known<'_>,
        grants: &Grants,
    ) -> Result<Described, SandboxError> {
        match describe_in(worker, known, grants)? {
            Described::NotCompiled(missing) => {
                missing.log(known.sha256);
                self.code.bring(&self.shared.starter, worker, known)?;
                describe_in(worker, known, grants)
            }
            described => Ok(described),
        }
    }

    /// Runs a call in a worker that may.
    pub(in crate::sandbox) fn call(
        &self,
        known: Known<'_>,
        seat: Seat,
        job: &Job,
        calls: &mut dyn HostCalls,
        clock: &Clock,
    ) -> Result<String, ToolError> {
        let unavailable = |said: String| ToolError::new(ErrorCode::ToolUnavailable, said);
        let mut worker = self.take(seat).map_err(|error| {
            tracing::error!(%error, "no worker");
            unavailable("no sandbox process could be started; see the log".into())
        })?;
        worker.calls += 1;
        for _ in 0..2 {
            match call_in(&mut worker, known.sha256, job, calls, clock) {
                Ok(Ended::Said(said)) => {
                    self.give_back(worker);
                    return said;
                }
                Ok(Ended::NotCompiled(missing)) => {
                    missing.log(known.sha256);
                    let brought = self.code.bring(&self.shared.starter, &mut worker, known);
                    brought.map_err(|error| unavailable(error.to_string()))?;
                }
                Err(broken) => {
                    self.shared.clone().refill(worker.recipe.clone());
                    return Err(died(worker, &broken, known.sha256));
                }
            }
        }
        Err(unavailable("a sandbox process does not find the tool's code; see the log".into()))
    }

    fn recipe(&self, Seat { profile, folders: mounts }: Seat) -> Recipe {
        Recipe { kind: Kind::Call, profile, mounts, cache: Some(self.cache_dir.clone()) }
    }

    fn take(&self, seat: Seat) -> io::Result<Worker> {
        let recipe = self.recipe(seat);
        match self.shared.ready(&recipe) {
            Some(worker) => Ok(worker),
            None => {
                let (shared, wanted) = (self.shared.clone(), recipe.clone());
                self.shared.starter.wait_for(recipe, move || shared.ready(&wanted))
            }
        }
    }

    fn give_back(&self, worker: Worker) {
        if worker.calls >= CALLS_PER_WORKER_MAX {
            return self.replace(worker);
        }
        self.shared.keep(worker);
    }

    /// Ends a worker; another one takes its place.
    fn replace(&self, worker: Worker) {
        let recipe = worker.recipe.clone();
        drop(worker);
        self.shared.clone().refill(recipe);
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Idle<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker that is ready; those that died meanwhile are dropped.
    fn ready(&self, recipe: &Recipe) -> Option<Worker> {
        loop {
            let mut worker = self.idle().take(|worker| worker.recipe.is_for_the_same(recipe))?;
            if worker.is_running() {
                return Some(worker);
            }
            tracing::warn!(how = worker.epitaph(), "an idle worker died; another takes its place");
        }
    }

    /// Keeps a worker ready; one that is too many then ends.
    fn keep(&self, worker: Worker) {
        let surplus = self.idle().keep(worker);
        // After the lock is let go: that kills a process.
        drop(surplus);
    }

    /// Starts a worker in the background.
    fn refill(self: Arc<Self>, recipe: Recipe) {
        let shared = self.clone();
        self.starter.order(
            recipe,
            Box::new(move |worker| match worker {
                Ok(worker) => shared.keep(worker),
                // The next call tries again, and says so.
                Err(error) => tracing::error!(%error, "no worker could be started ahead"),
            }),
        );
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn call_in(
    worker: &mut Worker,
    sha256: &str,
    job: &Job,
    calls: &mut dyn HostCalls,
    clock: &Clock,
) -> Result<Ended, Broken> {
    let asked = ToWorker::Call {
        sha256: Cow::Borrowed(sha256),
        job: Cow::Borrowed(job),
        time_ms: millis(clock.deadline.saturating_duration_since(Instant::now())),
    };
    let result_bytes_max = usize::try_from(job.limits.result.0).unwrap_or(usize::MAX);
    worker.socket.send(&asked, &[], || clock.stop().is_some())?;
    converse(&mut worker.socket, calls, clock, result_bytes_max)
}

/// The error of a call whose worker is of no use any more; why it had to stop is said by its clock.
fn died(mut worker: Worker, broken: &Broken, sha256: &str) -> ToolError {
    let component = &sha256[..12];
    COUNTS.workers.killed.add(1);
    match broken {
        Broken::Stopped => ToolError::new(ErrorCode::TimedOut, "the deadline passed; nothing was changed"),
        Broken::Closed => {
            let how = worker.epitaph();
            tracing::error!(component, how, "a worker died during a call");
            let said = format!("the tool's sandbox process died ({how}) and nothing was changed");
            ToolError::new(ErrorCode::Trapped, said)
        }
        broken => {
            tracing::error!(component, %broken, "a worker was killed: it does not keep to the protocol");
            let said = "the tool's sandbox process did what none should, was ended, and nothing was changed";
            ToolError::new(ErrorCode::Trapped, said)
        }
    }
}
