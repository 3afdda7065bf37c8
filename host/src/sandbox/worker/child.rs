//! The worker process: confines itself, then runs what the gateway asks for, one at a time, until the
//! gateway is gone.
//!
//! It holds one socket, the folders of its mounts and of the compile cache, and nothing else: no secret, no
//! writable descriptor, no network, and no way to get them.

use super::super::SandboxError;
use super::super::cache::{self, Compatibility, Entries};
use super::super::clock::Clock;
use super::super::engine;
use super::super::files::{self, Mount};
use super::super::host_calls::SharedCalls;
use super::super::machine::{Job, Linked, Machine};
use super::protocol::{Compiled, Described, FromWorker, Hello, Kind, Ready, TO_WORKER_BYTES_MAX, ToWorker};
use super::remote::Remote;
use super::socket::{Broken, Socket, decode};
use crate::confine;
use cofferdam_core::capability::Grants;
use cofferdam_core::limits::Limits;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs the worker on the socket that is its standard input.
pub fn main() -> ExitCode {
    let socket = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(fd) => Socket::new(fd),
        Err(_) => return ExitCode::FAILURE,
    };
    match work(socket) {
        Ok(()) | Err(Broken::Closed) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn work(mut socket: Socket) -> Result<(), Broken> {
    let hello: Hello = receive(&mut socket, |bytes| decode(bytes))?;
    match hello.kind {
        Kind::Compile => compile(socket),
        Kind::Call => serve(socket, &hello.mounts),
    }
}

fn receive<T>(socket: &mut Socket, take: impl FnOnce(&[u8]) -> Result<T, Broken>) -> Result<T, Broken> {
    socket.receive(TO_WORKER_BYTES_MAX, || false, take)
}

fn send(socket: &mut Socket, message: &impl serde::Serialize) -> Result<(), Broken> {
    socket.send(message, &[], || false)
}

/// No way back. What fails here ends the process: the gateway sees it close.
fn confine(
    socket: &mut Socket,
    kind: confine::WorkerKind,
    mounts: &[BorrowedFd<'_>],
    cache: Option<BorrowedFd<'_>>,
) -> Result<(), Broken> {
    let report = confine::worker(kind, mounts, cache).map_err(|e| Broken::Io(std::io::Error::other(e)))?;
    send(socket, &Ready { report })
}

fn compile(mut socket: Socket) -> Result<(), Broken> {
    confine(&mut socket, confine::WorkerKind::Compile, &[], None)?;
    let compiled = receive(&mut socket, |bytes| match decode(bytes)? {
        ToWorker::Compile(component) => Ok(engine::engine(1, Limits::CEILING.memory.0 as usize)
            .and_then(|engine| Ok((Compatibility::of(&engine), cache::compile(&engine, &component)?)))),
        _ => Err(Broken::Malformed("a compiling worker compiles")),
    })?;
    let compiled: Compiled<'_> = match &compiled {
        Ok((compatibility, code)) => Ok((*compatibility, Cow::Borrowed(code))),
        Err(error) => Err(error.to_string()),
    };
    send(&mut socket, &compiled)
}

/// A worker that runs guests.
struct Server {
    machine: Machine,
    entries: Entries,
    /// Components by their SHA-256, linked with the grants of this worker's profile.
    linked: HashMap<String, (Grants, Linked)>,
}

fn serve(mut socket: Socket, mounts: &[String]) -> Result<(), Broken> {
    let cache = socket.descriptor()?;
    let folders: Vec<OwnedFd> = mounts.iter().map(|_| socket.descriptor()).collect::<Result<_, _>>()?;
    // Opened now, as what the engine needs of /proc: afterwards nothing outside the mounts can be.
    let _ = files::handles();
    let shared = folders.iter().map(OwnedFd::try_clone).collect::<Result<Vec<_>, _>>()?;
    let visible = mounts.iter().zip(shared).map(|(guest, dir)| Mount::new(guest, File::from(dir)));
    let machine = Machine::uninterrupted(1, visible.collect()).map_err(|_| Broken::Closed)?;
    let borrowed: Vec<_> = folders.iter().map(AsFd::as_fd).collect();
    confine(&mut socket, confine::WorkerKind::Call, &borrowed, Some(cache.as_fd()))?;
    drop(folders);
    let mut server = Server { machine, entries: Entries::new(cache), linked: HashMap::new() };
    let socket = Arc::new(Mutex::new(socket));
    loop {
        server.next(&socket)?;
    }
}

/// What is wanted next, on its own.
enum Wanted {
    Describe { sha256: String, grants: Grants, time: Duration },
    Call { sha256: String, job: Job, time: Duration },
}

impl Server {
    fn next(&mut self, socket: &Arc<Mutex<Socket>>) -> Result<(), Broken> {
        let lock = || socket.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = receive(&mut lock(), |bytes| {
            Ok(match decode(bytes)? {
                ToWorker::Describe { sha256, grants, time_ms } => Wanted::Describe {
                    sha256: sha256.into_owned(),
                    grants: grants.into_owned(),
                    time: Duration::from_millis(time_ms),
                },
                ToWorker::Call { sha256, job, time_ms } => Wanted::Call {
                    sha256: sha256.into_owned(),
                    job: job.into_owned(),
                    time: Duration::from_millis(time_ms),
                },
                ToWorker::Compile(_) => return Err(Broken::Malformed("this worker does not compile")),
            })
        })?;
        match wanted {
            Wanted::Describe { sha256, grants, time } => {
                let described = self.describe(&sha256, &grants, &Clock::until(Instant::now() + time));
                send(&mut lock(), &described)
            }
            Wanted::Call { sha256, job, time } => {
                let clock = Clock::until(Instant::now() + time);
                let ended = match self.link(&sha256, &job.grants) {
                    Ok(Some(linked)) => {
                        let calls: SharedCalls = Arc::new(Mutex::new(Remote(socket.clone())));
                        FromWorker::Ended(self.machine.run(&linked, &job, calls, &clock).map(Cow::Owned))
                    }
                    // An entry that was good at the start and is not now is compiled again.
                    Ok(None) | Err(_) => FromWorker::NotCompiled,
                };
                send(&mut lock(), &ended)
            }
        }
    }

    fn describe(&mut self, sha256: &str, grants: &Grants, clock: &Clock) -> Described {
        let said = match self.link(sha256, grants) {
            Ok(Some(linked)) => self.machine.describe(&linked, clock),
            Ok(None) => return Described::NotCompiled,
            Err(error) => Err(error),
        };
        match said {
            Ok(said) => Described::Said(said),
            Err(SandboxError::Link(why)) => Described::Link(why),
            Err(SandboxError::Describe(why)) => Described::Describe(why),
            Err(error) => Described::Engine(error.to_string()),
        }
    }

    /// The component from the cache, linked; none without a sound entry.
    fn link(&mut self, sha256: &str, grants: &Grants) -> Result<Option<Linked>, SandboxError> {
        if let Some((under, linked)) = self.linked.get(sha256)
            && under == grants
        {
            return Ok(Some(linked.clone()));
        }
        let Some(component) = self.entries.read(self.machine.engine(), sha256) else { return Ok(None) };
        let linked = self.machine.link(&component, grants)?;
        self.linked.insert(sha256.to_owned(), (grants.clone(), linked.clone()));
        Ok(Some(linked))
    }
}
