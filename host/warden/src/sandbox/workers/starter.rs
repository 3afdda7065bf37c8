//! The one thread that starts workers and sees them off: the kernel ties a worker's life to the
//! thread that started it, and a process that ends must be waited for.

use super::idle::IdleWorkers;
use super::pool::WorkerKey;
use super::process::{SpareWorker, Worker};
use super::program;
use cofferdam_confine as confine;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::lock::lock;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

/// What a worker is started for: for as long as it lives it reaches this and nothing else.
#[derive(Clone, Debug)]
pub(super) enum WorkerSpec {
    /// Runs guests.
    Call {
        /// Whose.
        key: WorkerKey,
        /// The machine code of the component.
        code: Arc<OwnedFd>,
    },
    /// Compiles one component, in so much processor time.
    Compile {
        /// In seconds.
        cpu_seconds: u64,
    },
}

/// What the thread is told.
enum StarterMessage {
    /// Have the program of workers there before anybody wants one.
    Unpack,
    /// Start a worker, and send it there.
    Start(WorkerSpec, Sender<io::Result<Worker>>),
    /// From now on a process is to be there before anybody wants a worker.
    KeepSpare,
}

/// The way to the thread. It ends with the last of these.
pub(in crate::sandbox) struct WorkerStarter(Sender<StarterMessage>);

impl WorkerStarter {
    /// Starts the thread, whose workers are confined as `isolation` demands. It ends those of
    /// `idle` that nobody wants.
    pub(super) fn start(
        isolation: confine::Config,
        idle: Weak<Mutex<IdleWorkers<Worker>>>,
    ) -> io::Result<Self> {
        let (send, messages) = channel();
        let work = move || run(&messages, isolation, &idle);
        std::thread::Builder::new().name("workers".into()).spawn(work)?;
        Ok(Self(send))
    }

    /// Has the program of workers unpacked, which takes a while, beside what goes on here.
    pub(super) fn unpack_program(&self) {
        // What fails is tried, and told, when a worker is wanted.
        let _ = self.0.send(StarterMessage::Unpack);
    }

    /// Has a process ready for the next worker, which may serve anybody.
    pub(super) fn keep_spare(&self) {
        // A thread that is gone starts no worker either, which is told when one is wanted.
        let _ = self.0.send(StarterMessage::KeepSpare);
    }

    /// A new worker, ready.
    pub(super) fn worker(&self, spec: WorkerSpec) -> io::Result<Worker> {
        let gone = || io::Error::other("no worker can be started any more");
        let (give, given) = channel();
        self.0.send(StarterMessage::Start(spec, give)).map_err(|_| gone())?;
        given.recv().unwrap_or_else(|_| Err(gone()))
    }
}

/// Processes that do not end, and workers that wait, are looked at this often.
const LOOK: Duration = Duration::from_millis(200);

fn run(
    messages: &Receiver<StarterMessage>,
    isolation: confine::Config,
    idle: &Weak<Mutex<IdleWorkers<Worker>>>,
) {
    let (reaper, ending) = channel::<Child>();
    let mut dying: Vec<Child> = Vec::new();
    let (mut spare, mut is_spare_kept) = (None, false);
    loop {
        dying.extend(ending.try_iter());
        dying.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        match messages.recv_timeout(LOOK) {
            Ok(StarterMessage::Unpack) => _ = program::path(),
            Ok(StarterMessage::Start(spec, give)) => {
                // Its caller gave up waiting and has it ended.
                let _ = give.send(start(&mut spare, spec, isolation, &reaper));
            }
            Ok(StarterMessage::KeepSpare) => is_spare_kept = true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // After those who wait were served.
        if is_spare_kept && spare.is_none() {
            // What fails now is tried, and told, when a worker is wanted.
            spare = SpareWorker::start().ok();
        }
        let expired = idle.upgrade().map(|idle| lock(&idle).take_expired(Worker::idle_for));
        // After the lock is let go: that kills processes.
        drop(expired);
    }
}

/// Starts a worker in the process that is there, if it lives, or in a new one.
fn start(
    spare: &mut Option<SpareWorker>,
    spec: WorkerSpec,
    isolation: confine::Config,
    reaper: &Sender<Child>,
) -> io::Result<Worker> {
    // One that died is waited for by asking whether it runs.
    let running = spare.take().and_then(|mut spare| spare.is_running().then_some(spare));
    let process = running.map_or_else(SpareWorker::start, Ok);
    let started = process.and_then(|process| Worker::start(process, spec, isolation, reaper));
    COUNTS.workers_started.add(u64::from(started.is_ok()));
    COUNTS.is_worker_missing.store(started.is_err(), Ordering::Relaxed);
    started
}
