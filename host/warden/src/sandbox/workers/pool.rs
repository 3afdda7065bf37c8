//! The workers of a gateway: some kept ready, one call at a time in each, replaced when they die
//! and after [`CALLS_PER_WORKER_MAX`] calls.
//!
//! A worker serves one tool under one profile, and the very folders that it was started with:
//! never another tool, since one that was taken over could answer and write for it, and never
//! another session or user, since it could still read the files of the one before.

use super::answer::{HostCalls, converse};
use super::code::CodeStore;
use super::describing::{describe_in, functions_in};
use super::idle::{IDLE_TIME_MAX, IdleWorkers};
use super::process::Worker;
use super::start_error;
use super::starter::{WorkerSpec, WorkerStarter};
use crate::publish::Workspace;
use crate::sandbox::binary::Binary;
use crate::sandbox::cache::CompileCache;
use crate::sandbox::clock::CallClock;
use crate::sandbox::{Component, Config, Sandbox, SandboxError, worker_key};
use cap_std::fs::Dir;
use cofferdam_core::capability::Grants;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::entry::EntryPoint;
use cofferdam_core::lock::lock;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_ipc::{Broken, CallSpec, Description, ExportedFunction, StartError, ToWorker};
use cofferdam_policy::ToolPolicy;
use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A worker that has run so many calls is replaced: what one guest might have left in it ends
/// there.
pub const CALLS_PER_WORKER_MAX: u32 = 1000;

/// Which workers may run a call: those of its component, tool and profile, with these folders.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct WorkerKey {
    /// Of the component, lower-case hex.
    pub(in crate::sandbox) sha256: String,
    /// One component may back several tools, which share no worker.
    pub(in crate::sandbox) tool: String,
    pub(in crate::sandbox) profile: String,
    /// Of a workspace, by guest name.
    pub(in crate::sandbox) folders: Vec<(String, Arc<Dir>)>,
}

impl WorkerKey {
    /// Of a worker that runs no call.
    fn to_look(binary: &Binary) -> Self {
        let (tool, profile, folders) = (String::new(), String::new(), Vec::new());
        Self { sha256: binary.sha256().to_owned(), tool, profile, folders }
    }

    /// Whether a worker of the other key serves as well. The folders are open as long as either is
    /// there, so nothing else can stand for them.
    pub(super) fn is_for_the_same(&self, other: &Self) -> bool {
        let same = |((a, dir), (b, other)): (&(String, _), &(String, _))| a == b && Arc::ptr_eq(dir, other);
        self.sha256 == other.sha256
            && self.tool == other.tool
            && self.profile == other.profile
            && self.folders.len() == other.folders.len()
            && self.folders.iter().zip(&other.folders).all(same)
    }
}

impl Sandbox {
    /// A sandbox without any worker yet. A component that is not compiled after the configured time
    /// is refused, and so is a worker that is not confined as is demanded.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] and [`SandboxError::Cache`]; the gateway must not start then.
    pub fn new(config: &Config) -> Result<Self, SandboxError> {
        let cache = CompileCache::open(&config.cache_dir)?;
        let idle: Arc<Mutex<IdleWorkers<Worker>>> = Arc::default();
        let starter = WorkerStarter::start(config.isolation, Arc::downgrade(&idle)).map_err(start_error)?;
        Ok(Self { starter, code: CodeStore::new(cache, config.compile_time), idle })
    }

    /// Has the program of workers unpacked beside what goes on here: a worker is wanted soon.
    pub fn unpack_program(&self) {
        self.starter.unpack_program();
    }

    /// Has a process ready for the next worker, which may serve anybody.
    pub fn keep_spare(&self) {
        self.starter.keep_spare();
    }

    /// Sees whether a worker starts, confined as is demanded.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] when none does.
    pub fn try_worker(&self) -> Result<(), SandboxError> {
        self.starter.worker(WorkerSpec::Compile { cpu_seconds: 1 }).map(drop).map_err(start_error)
    }

    /// The same by the worker that serves the first call of this component under this policy in
    /// this workspace.
    ///
    /// # Errors
    /// [`SandboxError::Engine`] when none starts.
    pub(crate) fn try_worker_for(
        &self,
        component: &Component,
        policy: &ToolPolicy,
        workspace: &Workspace,
    ) -> Result<(), SandboxError> {
        let key = worker_key(component, policy.tool.as_str(), &policy.profile, &policy.grants, workspace);
        match self.start(key, &component.binary) {
            Ok(worker) => self.give_back(worker),
            Err(error @ SandboxError::Engine(_)) => return Err(error),
            // The component's fault, which the call tells.
            Err(_) => self.try_worker()?,
        }
        Ok(())
    }

    /// What a component says of itself, compiled first if need be; nothing runs where that is
    /// known. A worker that was asked is asked nothing else.
    pub(in crate::sandbox) fn description(
        &self,
        binary: &Binary,
        grants: &Grants,
        point: &EntryPoint,
    ) -> Result<Description, SandboxError> {
        if let Some(description) = self.code.cache.description(binary.sha256(), grants, point) {
            return Ok(description);
        }
        let mut worker = self.start(WorkerKey::to_look(binary), binary)?;
        let description = describe_in(&mut worker, grants, point)?;
        self.code.cache.keep_description(binary.sha256(), grants, point, &description);
        Ok(description)
    }

    /// The functions that a component exports, for somebody who writes a policy.
    ///
    /// # Errors
    /// [`SandboxError`].
    pub fn functions(&self, binary: &Binary) -> Result<Vec<ExportedFunction>, SandboxError> {
        functions_in(&mut self.start(WorkerKey::to_look(binary), binary)?)
    }

    /// Runs a call in a worker that may.
    ///
    /// # Errors
    /// The tool's own, or why it did not come to an end.
    pub(in crate::sandbox) fn call(
        &self,
        binary: &Binary,
        key: WorkerKey,
        spec: &CallSpec,
        calls: &mut dyn HostCalls,
        clock: &CallClock,
    ) -> Result<String, ToolError> {
        let ready = self.ready(&key).map_or_else(|| self.start(key, binary), Ok);
        let mut worker = ready.map_err(|error| {
            tracing::error!(%error, "no worker");
            let said = match error {
                SandboxError::Engine(_) => "no sandbox process could be started; see the log".to_owned(),
                error => error.to_string(),
            };
            ToolError::new(ErrorCode::ToolUnavailable, said)
        })?;
        worker.calls += 1;
        match call_in(&mut worker, spec, calls, clock) {
            Ok(ended) => {
                self.give_back(worker);
                ended
            }
            Err(broken) => Err(worker_error(worker, &broken, binary.sha256())),
        }
    }

    /// A worker that waits and has done nothing meanwhile; others are ended.
    fn ready(&self, key: &WorkerKey) -> Option<Worker> {
        let fits = |worker: &Worker| match &worker.spec {
            WorkerSpec::Call { key: of, .. } => of.is_for_the_same(key),
            WorkerSpec::Compile { .. } => false,
        };
        loop {
            let mut worker = lock(&self.idle).take(fits)?;
            match worker.socket.is_quiet() {
                Ok(()) if worker.idle_for() >= IDLE_TIME_MAX => {}
                Ok(()) => return Some(worker),
                Err(Broken::Closed) => {
                    tracing::warn!(
                        how = worker.describe_end(),
                        "an idle worker died; another takes its place"
                    );
                }
                Err(broken) => {
                    COUNTS.workers_killed.add(1);
                    tracing::error!(%broken, "an idle worker was killed: it does not keep to the protocol");
                }
            }
        }
    }

    /// A new worker with the component's code, which is compiled first if need be.
    fn start(&self, key: WorkerKey, binary: &Binary) -> Result<Worker, SandboxError> {
        let spec = |key: &WorkerKey, code| WorkerSpec::Call { key: key.clone(), code };
        let code = self.code.get(&self.starter, binary)?;
        let error = match self.starter.worker(spec(&key, code)) {
            Ok(worker) => return Ok(worker),
            Err(error) => error,
        };
        let said = error.get_ref().and_then(|source| source.downcast_ref::<StartError>());
        let Some(StartError::Code(why)) = said else { return Err(start_error(error)) };
        // The program holds no bytes of an embedded one to compile.
        let Some(bytes) = binary.bytes() else { return Err(SandboxError::Embedded(why.clone())) };
        // Compiled on another machine, or damaged in a way that its checksum does not know.
        tracing::warn!(component = &binary.sha256()[..12], %error, "compiling it once more");
        let code = self.code.renew(&self.starter, binary, bytes)?;
        self.starter.worker(spec(&key, code)).map_err(start_error)
    }

    fn give_back(&self, mut worker: Worker) {
        if worker.calls >= CALLS_PER_WORKER_MAX {
            return;
        }
        worker.served = Instant::now();
        let surplus = lock(&self.idle).keep(worker);
        // After the lock is let go: that kills a process.
        drop(surplus);
    }
}

fn call_in(
    worker: &mut Worker,
    spec: &CallSpec,
    calls: &mut dyn HostCalls,
    clock: &CallClock,
) -> Result<Result<String, ToolError>, Broken> {
    let left = clock.deadline.saturating_duration_since(Instant::now());
    let time_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    let asked = ToWorker::Call { spec: Cow::Borrowed(spec), time_ms };
    let result_bytes_max = usize::try_from(spec.limits.result.0).unwrap_or(usize::MAX);
    // Before the worker is woken.
    let shared = worker.placement.share();
    worker.socket.begin_call();
    worker.socket.send(&asked, &[], || clock.stop().is_some())?;
    converse(&mut worker.socket, calls, clock, result_bytes_max, shared)
}

/// The error of a call whose worker is of no use any more; why it had to stop is said by its clock.
fn worker_error(mut worker: Worker, broken: &Broken, sha256: &str) -> ToolError {
    let component = &sha256[..12];
    COUNTS.workers_killed.add(1);
    match broken {
        Broken::Stopped => ToolError::new(ErrorCode::TimedOut, "the deadline passed; nothing was changed"),
        Broken::Closed => {
            let how = worker.describe_end();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::COMPILE_TIME;
    use crate::sandbox::binary::Embedded;
    use crate::sandbox::workers::{Answer, EmbeddedBytes};
    use cofferdam_core::host_call::{Notification, Request};
    use cofferdam_core::limits::Limits;
    use cofferdam_ipc::Socket;
    use std::fs::File;
    use std::path::Path;
    use std::time::Duration;
    use tokio_util::sync::CancellationToken;

    /// No guest runs that could ask.
    struct NotAsked;

    impl HostCalls for NotAsked {
        fn handle(&mut self, request: Request<'_>) -> Answer {
            unreachable!("{request:?}")
        }

        fn note(&mut self, notification: Notification<'_>) {
            unreachable!("{notification:?}")
        }
    }

    fn pool(cache_dir: &Path) -> Sandbox {
        let isolation = cofferdam_confine::Config { require: false };
        let config = Config { cache_dir: cache_dir.to_owned(), isolation, compile_time: COMPILE_TIME };
        Sandbox::new(&config).expect("ours, and a thread")
    }

    #[test]
    fn embedded_code_that_does_not_load_is_told_and_compiled_nowhere() {
        let room = tempfile::tempdir().expect("a folder");
        let pool = pool(room.path());
        let sha256 = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e";
        let code = EmbeddedBytes(b"no machine code");
        let binary = Binary::embedded(Embedded { sha256, size: 1, code, told: "{}" });
        let key =
            WorkerKey { sha256: sha256.into(), tool: "t".into(), profile: "p".into(), folders: Vec::new() };
        let (grants, entry) = (Grants::NOTHING, cofferdam_core::entry::EntryCall::Tool);
        let spec = CallSpec { arguments: "{}".into(), entry, grants, limits: Limits::CEILING };
        let clock = CallClock::new(Instant::now() + Duration::from_secs(60), CancellationToken::new());
        let refused = pool.call(&binary, key, &spec, &mut NotAsked, &clock).expect_err("no machine code");
        assert_eq!(refused.code, ErrorCode::ToolUnavailable);
        let said = "the machine code that is embedded in this program does not load: ";
        assert!(refused.message.starts_with(said), "{refused}");
        assert_eq!(room.path().read_dir().expect("there").count(), 0, "nothing is compiled or kept");
    }

    #[test]
    fn an_idle_worker_that_says_something_or_is_gone_is_ended_and_asked_nothing() {
        let room = tempfile::tempdir().expect("a folder");
        let pool = pool(room.path());
        let key =
            WorkerKey { sha256: "s".into(), tool: "t".into(), profile: "p".into(), folders: Vec::new() };
        let (reaper, reaped) = std::sync::mpsc::channel();
        let idle = || {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
            let end = theirs.try_clone().expect("a copy");
            let child = std::process::Command::new("sleep").arg("600").spawn().expect("it starts");
            let code = Arc::new(File::open(room.path()).expect("there").into());
            let spec = WorkerSpec::Call { key: key.clone(), code };
            let worker = Worker::of_process(child, Socket::of_gateway(ours.into()), spec, &reaper);
            assert!(lock(&pool.idle).keep(worker).is_none());
            (Socket::of_worker(theirs.into()), end)
        };
        let quiet = idle();
        let found = pool.ready(&key).expect("it kept still");
        drop((quiet, found));
        let killed = COUNTS.workers_killed.get();
        let (mut speaks, _end) = idle();
        // As the answer to the call that comes next would be.
        speaks.begin_call();
        speaks.send(&"an answer before its question", &[], || false).expect("there is room");
        assert!(pool.ready(&key).is_none());
        assert!(COUNTS.workers_killed.get() > killed);
        // Not merely closed here: what another thread starts just now has a copy for a moment.
        let (_gone, end) = idle();
        end.shutdown(std::net::Shutdown::Both).expect("it was open");
        assert!(pool.ready(&key).is_none());
        // All three were killed; those that were not gone at once were handed on.
        for mut child in reaped.try_iter() {
            child.wait().expect("it ends");
        }
        assert!(lock(&pool.idle).take(|_| true).is_none());
    }

    #[test]
    fn a_worker_serves_its_component_its_profile_and_its_very_folders_alone() {
        let room = tempfile::tempdir().expect("a folder");
        let open = || Arc::new(Dir::from_std_file(File::open(room.path()).expect("there")));
        let (shared, tmp) = (open(), open());
        let key = |sha256: &str, profile: &str, mounts: &[(&str, &Arc<Dir>)]| WorkerKey {
            sha256: sha256.to_owned(),
            tool: "t".to_owned(),
            profile: profile.to_owned(),
            folders: mounts.iter().map(|(guest, dir)| ((*guest).to_owned(), (*dir).clone())).collect(),
        };
        let mine = key("s", "p", &[("/shared", &shared), ("/tmp", &tmp)]);
        assert!(mine.is_for_the_same(&mine.clone()));
        let of_another_tool = WorkerKey { tool: "u".to_owned(), ..mine.clone() };
        assert!(!mine.is_for_the_same(&of_another_tool), "another tool of the same component");
        for (other, why) in [
            (key("t", "p", &[("/shared", &shared), ("/tmp", &tmp)]), "another component"),
            (key("s", "q", &[("/shared", &shared), ("/tmp", &tmp)]), "another profile"),
            (key("s", "p", &[("/shared", &shared)]), "fewer folders"),
            (key("s", "p", &[]), "no folder"),
            (key("s", "p", &[("/shared", &shared), ("/tmp", &tmp), ("/vault", &tmp)]), "more folders"),
            (key("s", "p", &[("/shared", &tmp), ("/tmp", &shared)]), "exchanged"),
            // Removed and made again, a folder has its old name and is another one.
            (key("s", "p", &[("/shared", &shared), ("/tmp", &open())]), "opened anew"),
        ] {
            assert!(!mine.is_for_the_same(&other) && !other.is_for_the_same(&mine), "{why}");
        }
    }
}
