//! What a worker does: confines itself, then serves what its gateway asks for, one at a time, until
//! that is gone.
//!
//! It holds one socket, machine code and the folders of its mounts, and nothing else: no secret, no
//! writable descriptor, no network, and no way to get them.

use crate::code;
use crate::engine;
use crate::files::{self, GuestMount};
use crate::function;
use crate::gateway::GatewayLink;
use crate::machine::{self, LinkedComponent};
use cofferdam_confine::{self as confine, Report, WorkerKind};
use cofferdam_core::capability::Grants;
use cofferdam_core::entry::EntryPoint;
use cofferdam_core::lock::lock;
use cofferdam_core::tool::{ErrorCode, ToolError};
use cofferdam_ipc::{
    Broken, Compiled, DescribeError, Description, FromWorker, Hello, Ready, Socket, StartError,
    TO_WORKER_BYTES_MAX, ToWorker, decode,
};
use serde_bytes::Bytes;
use std::borrow::Cow;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Serves the gateway at the other end.
///
/// # Errors
/// [`Broken::Closed`] at the usual end: the gateway is gone, or wants nothing more.
pub(crate) fn serve(mut socket: Socket) -> Result<(), Broken> {
    // Before anybody waits: a process ahead of its first call has its engine.
    let engine = engine::engine();
    let hello: Hello = socket.receive_next(TO_WORKER_BYTES_MAX, |bytes| decode(bytes))?;
    let engine = match engine {
        Ok(engine) => engine,
        Err(why) => return refuse(&mut socket, StartError::Engine(why)),
    };
    match hello {
        Hello::Compile { cpu_seconds } => compile(socket, &engine, cpu_seconds),
        Hello::Call { mounts } => call(socket, &engine, &mounts),
    }
}

/// Says why it cannot serve, and ends.
fn refuse(socket: &mut Socket, why: StartError) -> Result<(), Broken> {
    let ready: Ready = Err(why);
    socket.send(&ready, &[], || false)
}

/// No way back. What fails here ends the process, and the gateway is told why.
fn confine(kind: WorkerKind, mounts: &[BorrowedFd<'_>]) -> Result<Report, StartError> {
    confine::worker(kind, mounts).map_err(|e| StartError::Confine(e.to_string()))
}

fn compile(mut socket: Socket, engine: &Engine, cpu_seconds: u64) -> Result<(), Broken> {
    let report = match confine(WorkerKind::Compile { cpu_seconds }, &[]) {
        Ok(report) => report,
        Err(why) => return refuse(&mut socket, why),
    };
    socket.send(&Ready::Ok(report), &[], || false)?;
    let compiled = socket.receive_next(TO_WORKER_BYTES_MAX, |bytes| {
        decode::<&Bytes>(bytes).map(|component| code::compile(engine, component))
    })?;
    let compiled: Compiled<'_> = compiled.as_deref().map(Bytes::new).map_err(String::clone);
    socket.send(&compiled, &[], || false)
}

fn call(mut socket: Socket, engine: &Engine, mounts: &[String]) -> Result<(), Broken> {
    let code = socket.descriptor()?;
    let folders: Vec<OwnedFd> = mounts.iter().map(|_| socket.descriptor()).collect::<Result<_, _>>()?;
    // Opened now: afterwards nothing outside the mounts can be.
    let _ = files::own_handles();
    let shared = folders.iter().map(OwnedFd::try_clone).collect::<Result<Vec<_>, _>>()?;
    let visible = mounts.iter().zip(shared).map(|(guest, dir)| GuestMount::new(guest, File::from(dir)));
    let mounts = visible.collect();
    let borrowed: Vec<_> = folders.iter().map(AsFd::as_fd).collect();
    let ready = confine(WorkerKind::Call, &borrowed).and_then(|report| {
        let component = code::load(engine, &code).map_err(StartError::Code)?;
        Ok((report, component))
    });
    let (report, component) = match ready {
        Ok(ready) => ready,
        Err(why) => return refuse(&mut socket, why),
    };
    socket.send(&Ready::Ok(report), &[], || false)?;
    drop((code, folders));
    let mut server = WorkerServer { mounts, component, linked: None };
    let socket = Arc::new(Mutex::new(socket));
    loop {
        server.next(&socket)?;
    }
}

/// A worker that runs the guests of one component.
struct WorkerServer {
    mounts: Vec<GuestMount>,
    component: Component,
    /// The component, linked with the grants of the last call, for its entry point.
    linked: Option<(Grants, EntryPoint, LinkedComponent)>,
}

impl WorkerServer {
    fn next(&mut self, socket: &Arc<Mutex<Socket>>) -> Result<(), Broken> {
        let wanted: ToWorker<'static> =
            lock(socket).receive_next(TO_WORKER_BYTES_MAX, |bytes| decode(bytes))?;
        match wanted {
            ToWorker::Describe { grants, point } => {
                let described: Result<Description, DescribeError> =
                    self.link(&grants, &point).and_then(|linked| machine::describe(&linked));
                lock(socket).send(&described, &[], || false)
            }
            ToWorker::Functions => lock(socket).send(&function::list(&self.component), &[], || false),
            ToWorker::Call { spec, time_ms } => {
                let deadline = Instant::now() + Duration::from_millis(time_ms);
                let (ended, spent) = match self.link(&spec.grants, &spec.entry.point()) {
                    Ok(linked) => {
                        let gateway = GatewayLink::new(socket.clone());
                        let reach = (self.mounts.clone(), gateway);
                        machine::run(self.component.engine(), &linked, &spec, reach, deadline)
                    }
                    // It linked when it was loaded, under the same grants.
                    Err(error) => (Err(ToolError::new(ErrorCode::ToolUnavailable, error.to_string())), None),
                };
                let sent = lock(socket).send(&FromWorker::Ended(ended.map(Cow::Owned)), &[], || false);
                drop(spent);
                sent
            }
        }
    }

    fn link(&mut self, grants: &Grants, point: &EntryPoint) -> Result<LinkedComponent, DescribeError> {
        if let Some((under, of, linked)) = &self.linked
            && (under, of) == (grants, point)
        {
            return Ok(linked.clone());
        }
        let linked = machine::link(&self.component, grants, point)?;
        self.linked = Some((grants.clone(), point.clone(), linked.clone()));
        Ok(linked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// How a worker ends that is promised a message of so many bytes, of which none comes.
    fn promised(bytes: usize) -> Broken {
        let (ours, mut gateway) = UnixStream::pair().expect("a pair");
        let header = [u32::try_from(bytes).expect("fits").to_le_bytes(), [0; 4]].concat();
        gateway.write_all(&header).expect("there is room");
        drop(gateway);
        serve(Socket::of_worker(ours.into())).expect_err("nothing to do")
    }

    #[test]
    fn a_message_to_a_worker_has_a_longest_length() {
        assert!(matches!(promised(TO_WORKER_BYTES_MAX), Broken::Closed));
        assert!(matches!(promised(TO_WORKER_BYTES_MAX + 1), Broken::TooLong));
    }
}
