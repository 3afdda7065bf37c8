//! The workers of a gateway: some kept ready, one call at a time in each, replaced when they die and after
//! [`CALLS_PER_WORKER_MAX`] calls.
//!
//! A worker serves one profile, and the very folders that it was started with: never another session's or
//! user's, since it could still read those of the one before.

use super::super::cache::Cache;
use super::super::clock::Clock;
use super::super::host_calls::HostCalls;
use super::super::machine::{DESCRIBE_LIMITS, Job, Said};
use super::super::{COMPONENT_BYTES_MAX, SandboxError};
use super::answer::{Ended, converse};
use super::idle::Idle;
use super::process::Worker;
use super::protocol::{COMPILED_BYTES_MAX, Compiled, Described, Kind, ToWorker};
use super::socket::{Broken, decode};
use super::starter::{Recipe, Starter};
use crate::confine::Report;
use cap_std::fs::Dir;
use cofferdam_core::capability::Grants;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::limits::Span;
use cofferdam_core::tool::{ErrorCode, ToolError};
use serde_bytes::Bytes;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A worker that has run so many calls is replaced: what one guest might have left in it ends there.
pub const CALLS_PER_WORKER_MAX: u32 = 1000;
/// How long a worker may take to receive machine code.
const CODE_TIME_MAX: Duration = Duration::from_secs(60);

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
    cache: Cache,
    cache_dir: Arc<OwnedFd>,
    compile_time: Span,
    /// Code that the cache could not keep, by the component's SHA-256.
    unkept: Mutex<BTreeMap<String, Arc<[u8]>>>,
}

/// Where compiled code is.
enum Compilation {
    /// In the cache.
    Kept,
    /// Here alone.
    Unkept(Arc<[u8]>),
}

struct Shared {
    starter: Starter,
    idle: Mutex<Idle<Worker>>,
}

/// Of workers that look at components and run no call: nothing is granted there.
fn looking() -> Seat {
    Seat { profile: String::new(), folders: Vec::new() }
}

impl Pool {
    /// No worker yet. A component that is not compiled after `compile_time` is refused.
    pub(in crate::sandbox) fn new(cache: Cache, compile_time: Span) -> io::Result<Self> {
        let cache_dir = Arc::new(cache.dir().try_clone_to_owned()?);
        let shared = Arc::new(Shared { starter: Starter::start()?, idle: Mutex::default() });
        Ok(Self { shared, cache, cache_dir, compile_time, unkept: Mutex::default() })
    }

    /// Starts a worker ahead of its first call.
    pub(in crate::sandbox) fn start_ahead(&self, seat: Seat) {
        self.shared.clone().refill(self.recipe(seat));
    }

    /// Has a process ready for whichever worker is wanted next.
    pub(in crate::sandbox) fn keep_spare(&self) {
        self.shared.starter.keep_spare();
    }

    /// How a worker is confined, as it says itself.
    pub(in crate::sandbox) fn report(&self) -> io::Result<Option<Report>> {
        let worker = self.take(looking())?;
        let report = worker.report.clone();
        self.give_back(worker);
        Ok(report)
    }

    /// What a component says of itself, compiled first if need be; nothing runs where that is known.
    pub(in crate::sandbox) fn describe(
        &self,
        known: Known<'_>,
        grants: &Grants,
    ) -> Result<Said, SandboxError> {
        if let Some(said) = self.cache.said(known.sha256, grants) {
            return Ok(said);
        }
        let mut worker = self.take(looking()).map_err(not_started)?;
        let described = match describe_in(&mut worker, known, grants)? {
            Described::NotCompiled(missing) => {
                missing.log(known.sha256);
                self.bring_code(&mut worker, known)?;
                describe_in(&mut worker, known, grants)?
            }
            described => described,
        };
        self.give_back(worker);
        match described {
            Described::Said(compatibility, said) => {
                self.cache.keep_said(known.sha256, grants, compatibility, &said);
                Ok(said)
            }
            Described::NotCompiled(_) => Err(SandboxError::Cache("a worker does not find the code".into())),
            Described::Link(why) => Err(SandboxError::Link(why)),
            Described::Describe(why) => Err(SandboxError::Describe(why)),
            Described::Engine(why) => Err(SandboxError::Engine(why)),
        }
    }

    /// Sees to it that a worker finds the code of a component.
    fn bring_code(&self, worker: &mut Worker, known: Known<'_>) -> Result<(), SandboxError> {
        let unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner).get(known.sha256).cloned();
        let code = match unkept {
            Some(code) => code,
            None => match self.compile(known)? {
                Compilation::Kept => return Ok(()),
                Compilation::Unkept(code) => code,
            },
        };
        let message = ToWorker::Code { sha256: Cow::Borrowed(known.sha256), code: Bytes::new(&code) };
        let end = Instant::now() + CODE_TIME_MAX;
        worker
            .socket
            .send(&message, &[], || Instant::now() >= end)
            .map_err(|e| not_started(io::Error::other(e)))
    }

    /// Compiles a component in a process of its own and keeps the code, on disk if that is possible.
    fn compile(&self, known: Known<'_>) -> Result<Compilation, SandboxError> {
        if known.bytes.len() > COMPONENT_BYTES_MAX {
            return Err(SandboxError::TooLarge(known.bytes.len()));
        }
        // Over all its threads, and in case nobody is left to end it.
        let cpu_seconds = self.compile_time.0.as_secs_f64().ceil() as u64;
        let Seat { profile, folders: mounts } = looking();
        let recipe = Recipe { kind: Kind::Compile { cpu_seconds }, profile, mounts, cache: None };
        let mut worker = self.shared.starter.wait_for(recipe, || None).map_err(not_started)?;
        let started = Instant::now();
        let late = || started.elapsed() >= self.compile_time.0;
        let asked = ToWorker::Compile(Bytes::new(known.bytes));
        let compiled = worker.socket.send(&asked, &[], late).and_then(|()| {
            worker.socket.receive(COMPILED_BYTES_MAX, late, |bytes| match decode::<Compiled<'_>>(bytes)? {
                Compiled::Code(compatibility, code) => {
                    Ok(Ok(match self.cache.store(compatibility, known.sha256, code) {
                        Ok(()) => Compilation::Kept,
                        Err(_) => Compilation::Unkept(Arc::from(&code[..])),
                    }))
                }
                Compiled::Refused(why) => Ok(Err(why)),
            })
        });
        let compilation = match compiled {
            Ok(compiled) => compiled.map_err(SandboxError::Compile)?,
            Err(Broken::Stopped) => return Err(too_slow(self.compile_time)),
            Err(broken) => {
                return Err(match worker.ended_by() {
                    Some(libc::SIGXCPU) => too_slow(self.compile_time),
                    _ => {
                        let said = format!("its process ended ({}; {broken})", worker.epitaph());
                        SandboxError::Compile(said)
                    }
                });
            }
        };
        if let Compilation::Unkept(code) = &compilation {
            let mut unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner);
            unkept.insert(known.sha256.to_owned(), code.clone());
        }
        let ms = started.elapsed().as_millis() as u64;
        tracing::info!(component = &known.sha256[..12], ms, "compiled");
        Ok(compilation)
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
                    self.bring_code(&mut worker, known).map_err(|error| unavailable(error.to_string()))?;
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
            let recipe = worker.recipe.clone();
            drop(worker);
            return self.shared.clone().refill(recipe);
        }
        self.shared.keep(worker);
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

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn not_started(error: io::Error) -> SandboxError {
    SandboxError::Engine(error.to_string())
}

fn too_slow(compile_time: Span) -> SandboxError {
    SandboxError::Compile(format!(
        "it is not compiled after {compile_time}; make it smaller, or raise sandbox.compile_time"
    ))
}

/// Longest description: two schemas, and what stands around them.
const DESCRIBED_BYTES_MAX: usize = 1 << 20;

fn describe_in(worker: &mut Worker, known: Known<'_>, grants: &Grants) -> Result<Described, SandboxError> {
    let clock = Clock::until(Instant::now() + DESCRIBE_LIMITS.deadline.0);
    let late = || clock.stop().is_some();
    let asked = ToWorker::Describe {
        sha256: Cow::Borrowed(known.sha256),
        grants: Cow::Borrowed(grants),
        time_ms: millis(DESCRIBE_LIMITS.deadline.0),
    };
    let described = worker
        .socket
        .send(&asked, &[], late)
        .and_then(|()| worker.socket.receive(DESCRIBED_BYTES_MAX, late, |bytes| decode::<Described>(bytes)));
    described.map_err(|broken| {
        SandboxError::Describe(match broken {
            Broken::Stopped => format!("it did not finish within {}", DESCRIBE_LIMITS.deadline),
            broken => format!("its process ended ({}; {broken})", worker.epitaph()),
        })
    })
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
