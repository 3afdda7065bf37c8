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
use super::super::machine::{Job, Linked, Machine, Reach};
use super::super::missing::Missing;
use super::asking::FromWorker;
use super::protocol::{Compiled, Described, Hello, Kind, Ready, TO_WORKER_BYTES_MAX, ToWorker};
use super::remote::Remote;
use super::socket::{Broken, Socket, decode};
use crate::confine;
use cofferdam_core::capability::Grants;
use cofferdam_core::limits::Limits;
use cofferdam_core::tool::{ErrorCode, ToolError};
use serde_bytes::Bytes;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wasmtime::component::Component;

/// Runs the worker on the socket that is its standard input.
pub fn main() -> ExitCode {
    if confine::close_inherited().is_err() {
        return ExitCode::FAILURE;
    }
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
        Kind::Compile { cpu_seconds } => compile(socket, cpu_seconds),
        Kind::Call => serve(socket, &hello.mounts),
    }
}

fn receive<T>(socket: &mut Socket, take: impl FnOnce(&[u8]) -> Result<T, Broken>) -> Result<T, Broken> {
    socket.receive(TO_WORKER_BYTES_MAX, || false, take)
}

fn send(socket: &mut Socket, message: &impl serde::Serialize) -> Result<(), Broken> {
    socket.send(message, &[], || false)
}

/// No way back. What fails here ends the process, and the gateway is told why.
fn confine(
    socket: &mut Socket,
    kind: confine::WorkerKind,
    mounts: &[BorrowedFd<'_>],
    cache: Option<BorrowedFd<'_>>,
) -> Result<(), Broken> {
    let confined = confine::worker(kind, mounts, cache);
    let ready: Ready = confined.as_ref().map(Clone::clone).map_err(ToString::to_string);
    send(socket, &ready)?;
    confined.map(drop).map_err(|e| Broken::Io(std::io::Error::other(e)))
}

fn compile(mut socket: Socket, cpu_seconds: u64) -> Result<(), Broken> {
    confine(&mut socket, confine::WorkerKind::Compile { cpu_seconds }, &[], None)?;
    let compiled = receive(&mut socket, |bytes| match decode(bytes)? {
        ToWorker::Compile(component) => Ok(loadable(component)),
        _ => Err(Broken::Malformed("a compiling worker compiles")),
    })?;
    let compiled = match &compiled {
        Ok((compatibility, code)) => Compiled::Code(*compatibility, Bytes::new(code)),
        // The gateway says that it does not compile.
        Err(SandboxError::Compile(why)) => Compiled::Refused(why.clone()),
        Err(error) => Compiled::Refused(error.to_string()),
    };
    send(&mut socket, &compiled)
}

/// The machine code of a component, once it is sure that a worker can load it: one with more parts than an
/// instance may have is refused here, with the reason.
fn loadable(component: &[u8]) -> Result<(Compatibility, Vec<u8>), SandboxError> {
    let engine = engine::engine(1, Limits::CEILING.memory.0 as usize)?;
    let code = cache::compile(&engine, component)?;
    cache::deserialize(&engine, &code)?;
    Ok((Compatibility::of(&engine), code))
}

/// A worker that runs guests.
struct Server {
    machine: Machine,
    mounts: Vec<Mount>,
    entries: Entries,
    /// Components that the cache does not keep, by their SHA-256.
    given: HashMap<String, Component>,
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
    let mounts = visible.collect();
    let machine = Machine::uninterrupted(1).map_err(|_| Broken::Closed)?;
    let borrowed: Vec<_> = folders.iter().map(AsFd::as_fd).collect();
    confine(&mut socket, confine::WorkerKind::Call, &borrowed, Some(cache.as_fd()))?;
    drop(folders);
    let (entries, given, linked) = (Entries::new(cache), HashMap::new(), HashMap::new());
    let mut server = Server { machine, mounts, entries, given, linked };
    let socket = Arc::new(Mutex::new(socket));
    loop {
        server.next(&socket)?;
    }
}

/// What is wanted next, on its own.
enum Wanted {
    Code { sha256: String, code: Result<Component, SandboxError> },
    Describe { sha256: String, grants: Grants, time: Duration },
    Call { sha256: String, job: Job, time: Duration },
}

impl Server {
    fn next(&mut self, socket: &Arc<Mutex<Socket>>) -> Result<(), Broken> {
        let lock = || socket.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = self.machine.engine();
        let wanted = receive(&mut lock(), |bytes| {
            Ok(match decode(bytes)? {
                ToWorker::Code { sha256, code } => {
                    Wanted::Code { sha256: sha256.into_owned(), code: cache::deserialize(engine, code) }
                }
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
            Wanted::Code { sha256, code: Ok(code) } => {
                self.given.insert(sha256, code);
                Ok(())
            }
            Wanted::Code { .. } => Err(Broken::Malformed("it is no machine code")),
            Wanted::Describe { sha256, grants, time } => {
                let described = self.describe(&sha256, &grants, &Clock::until(Instant::now() + time));
                send(&mut lock(), &described)
            }
            Wanted::Call { sha256, job, time } => {
                let clock = Clock::until(Instant::now() + time);
                let ended = match self.link(&sha256, &job.grants) {
                    Ok(Ok(linked)) => {
                        let calls: SharedCalls = Arc::new(Mutex::new(Remote(socket.clone())));
                        let reach = Reach { mounts: self.mounts.clone(), calls };
                        FromWorker::Ended(self.machine.run(&linked, &job, reach, &clock).map(Cow::Owned))
                    }
                    Ok(Err(missing)) => FromWorker::NotCompiled(missing),
                    // It linked when it was loaded, under the same grants.
                    Err(error) => {
                        FromWorker::Ended(Err(ToolError::new(ErrorCode::ToolUnavailable, error.to_string())))
                    }
                };
                send(&mut lock(), &ended)
            }
        }
    }

    fn describe(&mut self, sha256: &str, grants: &Grants, clock: &Clock) -> Described {
        let said = match self.link(sha256, grants) {
            Ok(Ok(linked)) => self.machine.describe(&linked, clock),
            Ok(Err(missing)) => return Described::NotCompiled(missing),
            Err(error) => Err(error),
        };
        match said {
            Ok(said) => Described::Said(Compatibility::of(self.machine.engine()), said),
            Err(SandboxError::Link(why)) => Described::Link(why),
            Err(SandboxError::Describe(why)) => Described::Describe(why),
            Err(error) => Described::Engine(error.to_string()),
        }
    }

    /// The component, linked; or why there is no code of it.
    fn link(&mut self, sha256: &str, grants: &Grants) -> Result<Result<Linked, Missing>, SandboxError> {
        if let Some((under, linked)) = self.linked.get(sha256)
            && under == grants
        {
            return Ok(Ok(linked.clone()));
        }
        let component = match self.given.get(sha256) {
            Some(component) => component.clone(),
            None => match self.entries.read(self.machine.engine(), sha256) {
                Ok(component) => component,
                Err(missing) => return Ok(Err(missing)),
            },
        };
        let linked = self.machine.link(&component, grants)?;
        self.linked.insert(sha256.to_owned(), (grants.clone(), linked.clone()));
        Ok(Ok(linked))
    }
}

#[cfg(test)]
mod tests {
    use super::super::socket::pair;
    use super::*;
    use std::io::Write;

    /// How a worker ends that is promised a message of so many bytes, of which none comes.
    fn promised(bytes: usize) -> Broken {
        let (socket, mut gateway) = pair();
        gateway.write_all(&u32::try_from(bytes).expect("fits").to_le_bytes()).expect("there is room");
        drop(gateway);
        work(socket).expect_err("nothing to do")
    }

    #[test]
    fn a_message_to_a_worker_has_a_longest_length() {
        assert!(matches!(promised(TO_WORKER_BYTES_MAX), Broken::Closed));
        assert!(matches!(promised(TO_WORKER_BYTES_MAX + 1), Broken::TooLong));
    }
}
