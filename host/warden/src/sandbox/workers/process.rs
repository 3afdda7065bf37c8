//! One worker process as the gateway holds it: started with nothing but a socket, and killed when
//! it is of no use any more.

use super::bound_words;
use super::processor::Placement;
use super::program;
use super::starter::WorkerSpec;
use cofferdam_confine as confine;
use cofferdam_ipc::{Broken, Hello, Ready, Socket, StartError, decode};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// A worker that is not ready by then is killed.
const START_MAX: Duration = Duration::from_secs(10);
/// How often a wait for a worker looks whether it should go on.
const PATIENCE: Duration = Duration::from_millis(20);
/// Longest first message of a worker.
const READY_BYTES_MAX: usize = 64 << 10;

/// A running worker. Dropped, it is killed.
#[derive(Debug)]
pub(in crate::sandbox) struct Worker {
    /// Taken when it is dropped.
    child: Option<Child>,
    pub(super) socket: Socket,
    pub(super) placement: Placement,
    /// Calls that it has run.
    pub(super) calls: u32,
    /// What it was started for.
    pub(super) spec: WorkerSpec,
    /// When it served last.
    pub(super) served: Instant,
    /// Waits for the process to be gone, which may take as long as the system holds it.
    reaper: Sender<Child>,
}

/// A process that waits to be told what it will serve, and has nothing of it. It ends when its
/// socket is closed.
#[derive(Debug)]
pub(super) struct SpareWorker {
    child: Child,
    socket: Socket,
}

impl SpareWorker {
    /// Starts one.
    pub(super) fn start() -> io::Result<Self> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok(Self { child: spawn(theirs)?, socket: Socket::of_gateway(ours) })
    }

    /// Whether it runs still.
    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Worker {
    /// Makes a worker of a process and waits until it is confined, as far as `isolation` demands.
    ///
    /// The thread that started the process must outlive it: the kernel kills a worker with its
    /// parent thread.
    ///
    /// # Errors
    /// Why there is none; [`StartError`] as its source where the worker itself said so.
    pub(super) fn start(
        spare: SpareWorker,
        spec: WorkerSpec,
        isolation: confine::Config,
        reaper: &Sender<Child>,
    ) -> io::Result<Self> {
        let SpareWorker { child, socket } = spare;
        // From here on dropping it ends the process.
        let placement = Placement::new(Pid::from_child(&child));
        let (child, reaper, served) = (Some(child), reaper.clone(), Instant::now());
        let mut worker = Self { child, socket, placement, calls: 0, spec, served, reaper };
        worker.socket.set_patience(PATIENCE)?;
        let late = || served.elapsed() >= START_MAX;
        let (hello, handed) = match &worker.spec {
            WorkerSpec::Compile { cpu_seconds } => (Hello::Compile { cpu_seconds: *cpu_seconds }, Vec::new()),
            WorkerSpec::Call { key, code } => {
                let mounts = key.folders.iter().map(|(guest, _)| guest.clone()).collect();
                let folders = key.folders.iter().map(|(_, dir)| dir.as_fd());
                (Hello::Call { mounts }, std::iter::once(code.as_fd()).chain(folders).collect())
            }
        };
        let ready = worker
            .socket
            .send(&hello, &handed, late)
            .and_then(|()| worker.socket.receive(READY_BYTES_MAX, late, |bytes| decode::<Ready>(bytes)));
        match ready {
            Ok(Ok(report)) => isolation.demand(&report).map(|()| worker).map_err(io::Error::other),
            Ok(Err(why)) => Err(io::Error::other(one_line(why))),
            Err(Broken::Closed) => {
                Err(io::Error::other(format!("a worker ended at its start: {}", worker.describe_end())))
            }
            Err(broken) => Err(io::Error::other(format!("a worker does not start: {broken}"))),
        }
    }

    /// Any process with a socket, as one that has served.
    #[cfg(test)]
    pub(super) fn of_process(child: Child, socket: Socket, spec: WorkerSpec, reaper: &Sender<Child>) -> Self {
        let (placement, served, reaper) =
            (Placement::new(Pid::from_child(&child)), Instant::now(), reaper.clone());
        Self { child: Some(child), socket, placement, calls: 1, spec, served, reaper }
    }

    /// How long it waits.
    pub(super) fn idle_for(&self) -> Duration {
        self.served.elapsed()
    }

    /// How it ended, in words, for a worker that closed its socket.
    pub(super) fn describe_end(&mut self) -> String {
        match self.try_wait() {
            Ok(Some(status)) => match status.signal() {
                Some(signal) => format!("killed by signal {signal}"),
                None => format!("exit status {}", status.code().unwrap_or_default()),
            },
            Ok(None) => "it does not end".into(),
            Err(error) => error.to_string(),
        }
    }

    /// The signal that ended a worker which closed its socket.
    pub(super) fn end_signal(&mut self) -> Option<i32> {
        self.try_wait().ok().flatten().and_then(|status| status.signal())
    }

    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        // It closed its socket, so it is ending; a moment is enough unless the system holds it.
        for _ in 0..50 {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(None)
    }
}

/// A worker's words, which may be anything, on a line.
fn one_line(why: StartError) -> StartError {
    let line = |text: String| bound_words(&text);
    match why {
        StartError::Confine(why) => StartError::Confine(line(why)),
        StartError::Engine(why) => StartError::Engine(line(why)),
        StartError::Code(why) => StartError::Code(line(why)),
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            if !matches!(child.try_wait(), Ok(Some(_))) {
                // Without a reaper the gateway is ending, and the system cleans up after it.
                let _ = self.reaper.send(child);
            }
        }
    }
}

fn spawn(socket: OwnedFd) -> io::Result<Child> {
    let mut command = Command::new(program::path().map_err(memfd_error)?);
    command
        .arg0("cofferdam-worker")
        .env_clear()
        .current_dir("/")
        // Ctrl-C on a terminal is for the gateway, which stops what a worker runs in its own way.
        .process_group(0)
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    confine::spawn_expendable(|| command.spawn()).map_err(memfd_error)
}

/// With what to do about it: the system may refuse to make a memory file that can be run, or to run
/// it.
fn memfd_error(error: io::Error) -> io::Error {
    let mend = match error.kind() {
        io::ErrorKind::PermissionDenied => "; where sysctl vm.memfd_noexec is 2, set it to 1",
        io::ErrorKind::NotFound => "; it is started through /proc, which must be mounted",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot start a worker from memory: {error}{mend}"))
}
