//! Machine code for workers: of each component compiled in a process of its own, and kept in the cache or, where that
//! keeps nothing, here.
//!
//! It looks into no code, and runs none.

use super::super::cache::{Cache, Compatibility};
use super::super::notice::compiling;
use super::super::{COMPONENT_BYTES_MAX, SandboxError};
use super::not_started;
use super::pool::{Known, looking};
use super::process::Worker;
use super::protocol::{COMPILED_BYTES_MAX, Compiled, Kind, ToWorker};
use super::socket::{Broken, Socket, decode};
use super::starter::{Recipe, Starter};
use super::unkept::Unkept;
use cofferdam_core::limits::{ByteSize, Span};
use serde_bytes::Bytes;
use std::borrow::Cow;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// How long a worker may take to receive machine code.
const CODE_TIME_MAX: Duration = Duration::from_secs(60);

/// All machine code there is.
pub(super) struct Code {
    pub(super) cache: Cache,
    /// How long a component may compile.
    compile_time: Span,
    /// What the cache could not keep.
    unkept: Mutex<Unkept>,
}

/// Where compiled code is.
enum Compilation {
    /// In the cache.
    Kept,
    /// Here alone.
    Unkept(Arc<[u8]>),
}

impl Code {
    pub(super) fn new(cache: Cache, compile_time: Span) -> Self {
        Self { cache, compile_time, unkept: Mutex::default() }
    }

    /// Sees to it that a worker finds the code of a component, which is compiled if there is none.
    pub(super) fn bring(
        &self,
        starter: &Starter,
        worker: &mut Worker,
        known: Known<'_>,
    ) -> Result<(), SandboxError> {
        let unkept = self.unkept().get(known.sha256);
        let code = match unkept {
            Some(code) => code,
            None => match compiling(known.bytes.len(), || self.compile(starter, known))? {
                Compilation::Kept => return Ok(()),
                Compilation::Unkept(code) => code,
            },
        };
        hand(&mut worker.socket, known.sha256, &code, CODE_TIME_MAX)
            .map_err(|broken| not_started(io::Error::other(broken)))
    }

    fn unkept(&self) -> MutexGuard<'_, Unkept> {
        self.unkept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compiles a component in a process of its own and keeps the code, on disk if that is possible.
    fn compile(&self, starter: &Starter, known: Known<'_>) -> Result<Compilation, SandboxError> {
        if known.bytes.len() > COMPONENT_BYTES_MAX {
            return Err(SandboxError::TooLarge(known.bytes.len()));
        }
        // Over all its threads, and in case nobody is left to end it.
        let cpu_seconds = self.compile_time.0.as_secs_f64().ceil() as u64;
        let seat = looking();
        let kind = Kind::Compile { cpu_seconds };
        let recipe = Recipe { kind, profile: seat.profile, mounts: seat.folders, cache: None };
        let mut worker = starter.wait_for(recipe, || None).map_err(not_started)?;
        let started = Instant::now();
        let late = || started.elapsed() >= self.compile_time.0;
        let store = |compatibility, code: &[u8]| match self.cache.store(compatibility, known.sha256, code) {
            Ok(()) => Compilation::Kept,
            Err(_) => Compilation::Unkept(Arc::from(code)),
        };
        let compilation = match compiled(&mut worker.socket, known.bytes, late, store) {
            Ok(compiled) => compiled.map_err(SandboxError::Compile)?,
            Err(broken) => return Err(self.not_compiled(&mut worker, &broken)),
        };
        if let Compilation::Unkept(code) = &compilation {
            self.unkept().keep(known.sha256, code.clone());
        }
        let ms = started.elapsed().as_millis() as u64;
        tracing::info!(component = &known.sha256[..12], ms, "compiled");
        Ok(compilation)
    }

    /// The error of a component whose process did not come to an end with it.
    fn not_compiled(&self, worker: &mut Worker, broken: &Broken) -> SandboxError {
        let too_slow = || {
            let time = self.compile_time;
            format!("it is not compiled after {time}; make it smaller, or raise sandbox.compile_time")
        };
        SandboxError::Compile(match broken {
            Broken::Stopped => too_slow(),
            Broken::TooLong => {
                let bytes_max = ByteSize(COMPILED_BYTES_MAX as u64);
                format!("its machine code has more than {bytes_max}; make it smaller")
            }
            broken => match worker.ended_by() {
                Some(libc::SIGXCPU) => too_slow(),
                _ => format!("its process ended ({}; {broken})", worker.epitaph()),
            },
        })
    }
}

/// Has a component compiled by the process at the other end, and its code kept; or says why there is none.
fn compiled<T>(
    socket: &mut Socket,
    component: &[u8],
    late: impl Fn() -> bool,
    keep: impl FnOnce(Compatibility, &[u8]) -> T,
) -> Result<Result<T, String>, Broken> {
    socket.send(&ToWorker::Compile(Bytes::new(component)), &[], &late)?;
    socket.receive(COMPILED_BYTES_MAX, &late, |bytes| {
        Ok(match decode(bytes)? {
            Compiled::Code(compatibility, code) => Ok(keep(compatibility, code)),
            Compiled::Refused(why) => Err(why),
        })
    })
}

/// Hands machine code to the worker at the other end, which must have taken it within `time_max`.
fn hand(socket: &mut Socket, sha256: &str, code: &[u8], time_max: Duration) -> Result<(), Broken> {
    let end = Instant::now() + time_max;
    let message = ToWorker::Code { sha256: Cow::Borrowed(sha256), code: Bytes::new(code) };
    socket.send(&message, &[], || Instant::now() >= end)
}
