//! One worker process as the gateway holds it: started with nothing but a socket, and killed when it is of
//! no use any more.

use super::protocol::{Hello, Ready};
use super::socket::{Broken, Socket, decode};
use super::starter::Recipe;
use crate::confine;
use cofferdam_core::text::one_line;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
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
pub(super) struct Worker {
    /// Taken when it is dropped.
    child: Option<Child>,
    pub(super) socket: Socket,
    /// Calls that it has run.
    pub(super) calls: u32,
    /// What it was started with, for the one that takes its place.
    pub(super) recipe: Recipe,
    /// Waits for the process to be gone, which may take as long as the system holds it.
    reaper: Sender<Child>,
}

/// A process that is no worker yet: it waits to be told what it will serve, and has nothing of it. It ends when
/// its socket is closed.
#[derive(Debug)]
pub(super) struct Blank {
    child: Child,
    socket: Socket,
}

impl Blank {
    /// Starts one of this very program.
    pub(super) fn start() -> io::Result<Self> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok(Self { child: spawn(theirs)?, socket: Socket::new(ours) })
    }

    /// Whether it runs still.
    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Worker {
    /// Makes a worker of a process and waits until it is confined, as far as `isolation` demands.
    ///
    /// The thread that started the process must outlive it: the kernel kills a worker with its parent thread.
    pub(super) fn start(
        blank: Blank,
        recipe: Recipe,
        isolation: confine::Config,
        reaper: &Sender<Child>,
    ) -> io::Result<Self> {
        let Blank { child, socket } = blank;
        // From here on dropping it ends the process.
        let (child, reaper) = (Some(child), reaper.clone());
        let mut worker = Self { child, socket, calls: 0, recipe, reaper };
        worker.socket.set_patience(PATIENCE)?;
        let end = Instant::now() + START_MAX;
        let late = || Instant::now() >= end;
        let mounts = &worker.recipe.mounts;
        let hello = Hello {
            kind: worker.recipe.kind,
            mounts: mounts.iter().map(|(guest, _)| guest.clone()).collect(),
        };
        let cache = worker.recipe.cache.iter().map(|dir| dir.as_fd());
        let folders: Vec<_> = cache.chain(mounts.iter().map(|(_, dir)| dir.as_fd())).collect();
        let ready = worker
            .socket
            .send(&hello, &folders, late)
            .and_then(|()| worker.socket.receive(READY_BYTES_MAX, late, |bytes| decode::<Ready>(bytes)));
        match ready {
            Ok(Ok(report)) => isolation.demand(&report).map(|()| worker).map_err(io::Error::other),
            Ok(Err(why)) => {
                let why = one_line(&why, 500);
                Err(io::Error::other(format!("a worker cannot confine itself, so no guest runs: {why}")))
            }
            Err(Broken::Closed) => {
                Err(io::Error::other(format!("a worker ended at its start: {}", worker.epitaph())))
            }
            Err(broken) => Err(io::Error::other(format!("a worker does not start: {broken}"))),
        }
    }

    /// Whether it runs: one that died while it was idle is of no use.
    pub(super) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// How it ended, in words, for a worker that closed its socket.
    pub(super) fn epitaph(&mut self) -> String {
        match self.ending() {
            Ok(Some(status)) => match status.signal() {
                Some(signal) => format!("killed by signal {signal}"),
                None => format!("exit status {}", status.code().unwrap_or_default()),
            },
            Ok(None) => "it does not end".into(),
            Err(error) => error.to_string(),
        }
    }

    /// The signal that ended a worker which closed its socket.
    pub(super) fn ended_by(&mut self) -> Option<i32> {
        self.ending().ok().flatten().and_then(|status| status.signal())
    }

    fn ending(&mut self) -> io::Result<Option<ExitStatus>> {
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
    // The program that is running, even if its file was replaced meanwhile.
    Command::new("/proc/self/exe")
        .arg0("cofferdam-worker")
        .arg(super::COMMAND)
        .env_clear()
        .current_dir("/")
        // Ctrl-C on a terminal is for the gateway, which stops what a worker runs in its own way.
        .process_group(0)
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}
