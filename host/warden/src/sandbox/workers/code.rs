//! Machine code for workers, in sealed memory files: embedded in this program, kept in the cache,
//! or compiled in a process of its own.
//!
//! It looks into no code, and runs none.

use super::process::Worker;
use super::program::seal_memory_file;
use super::starter::{WorkerSpec, WorkerStarter};
use super::{bound_words, start_error};
use crate::sandbox::binary::{Binary, ComponentBytes};
use crate::sandbox::cache::CompileCache;
use crate::sandbox::notice::report_compiling;
use crate::sandbox::{COMPONENT_BYTES_MAX, SandboxError};
use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_core::lock::lock;
use cofferdam_ipc::{Broken, COMPILED_BYTES_MAX, Compiled, Socket, decode};
use rustix::fs::MemfdFlags;
use serde_bytes::Bytes;
use std::collections::VecDeque;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Instant;

#[cfg(test)]
mod tests;

/// What its memory files are called, for people who look at the process.
const CODE_FILE: &str = "cofferdam-code";
/// Bytes of machine code that are held in memory files: what one component may have fits. What was
/// wanted longest ago goes, and is read or compiled again.
pub const CODE_BYTES_MAX: usize = COMPILED_BYTES_MAX;

/// All machine code there is.
pub(in crate::sandbox) struct CodeStore {
    pub(super) cache: CompileCache,
    /// How long a component may compile.
    compile_time: TimeSpan,
    held: Mutex<CodeFiles<OwnedFd>>,
}

impl CodeStore {
    pub(super) fn new(cache: CompileCache, compile_time: TimeSpan) -> Self {
        Self { cache, compile_time, held: Mutex::new(CodeFiles::new(CODE_BYTES_MAX)) }
    }

    /// The code of a component, which is compiled if there is none.
    ///
    /// # Errors
    /// [`SandboxError`]: it does not compile, or no process does it.
    pub(super) fn get(&self, starter: &WorkerStarter, binary: &Binary) -> Result<Arc<OwnedFd>, SandboxError> {
        let held = lock(&self.held).get(binary.sha256());
        if let Some(code) = held {
            return Ok(code);
        }
        let bytes = match &binary.content {
            ComponentBytes::Embedded(made) => {
                let sealed = made.code.seal(CODE_FILE, MemfdFlags::NOEXEC_SEAL);
                let (file, size) = sealed.map_err(start_error)?;
                return Ok(self.keep(binary, file, size as usize));
            }
            ComponentBytes::Bytes(bytes) => bytes,
        };
        if let Some(code) = self.cache.code(binary.sha256()) {
            return self.hold(binary, &code);
        }
        // One process compiles a component; who comes meanwhile finds it in the cache.
        report_compiling(bytes.len(), || {
            let turn = self.cache.wait_for_turn(binary.sha256(), self.compile_time.0);
            let waited = turn.as_ref().is_some_and(|turn| turn.waited);
            match waited.then(|| self.cache.code(binary.sha256())).flatten() {
                Some(code) => self.hold(binary, &code),
                None => self.compile(starter, binary, bytes),
            }
        })
    }

    /// The code of a component of these bytes, compiled anew, since what there was does not load.
    pub(super) fn renew(
        &self,
        starter: &WorkerStarter,
        binary: &Binary,
        bytes: &[u8],
    ) -> Result<Arc<OwnedFd>, SandboxError> {
        let _turn = self.cache.wait_for_turn(binary.sha256(), self.compile_time.0);
        self.compile(starter, binary, bytes)
    }

    fn hold(&self, binary: &Binary, code: &[u8]) -> Result<Arc<OwnedFd>, SandboxError> {
        let file = seal_memory_file(CODE_FILE, MemfdFlags::NOEXEC_SEAL, |file| file.write_all(code));
        Ok(self.keep(binary, file.map_err(start_error)?, code.len()))
    }

    fn keep(&self, binary: &Binary, file: OwnedFd, size: usize) -> Arc<OwnedFd> {
        let file = Arc::new(file);
        lock(&self.held).keep(binary.sha256(), size, file.clone());
        file
    }

    /// Compiles a component in a process of its own and keeps the code, on disk if that is
    /// possible.
    fn compile(
        &self,
        starter: &WorkerStarter,
        binary: &Binary,
        bytes: &[u8],
    ) -> Result<Arc<OwnedFd>, SandboxError> {
        if bytes.len() > COMPONENT_BYTES_MAX {
            return Err(SandboxError::TooLarge(bytes.len()));
        }
        // Over all its threads, and in case nobody is left to end it.
        let cpu_seconds = self.compile_time.0.as_secs_f64().ceil() as u64;
        let mut worker = starter.worker(WorkerSpec::Compile { cpu_seconds }).map_err(start_error)?;
        let started = Instant::now();
        let late = || started.elapsed() >= self.compile_time.0;
        let hold = |code: &[u8]| {
            self.cache.keep_code(binary.sha256(), code);
            self.hold(binary, code)
        };
        let code = match compiled(&mut worker.socket, bytes, late, hold) {
            Ok(compiled) => compiled.map_err(SandboxError::Compile)??,
            Err(broken) => return Err(self.not_compiled(&mut worker, &broken)),
        };
        let ms = started.elapsed().as_millis() as u64;
        tracing::info!(component = &binary.sha256()[..12], ms, "compiled");
        Ok(code)
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
            broken => match worker.end_signal() {
                Some(libc::SIGXCPU) => too_slow(),
                _ => format!("its process ended ({}; {broken})", worker.describe_end()),
            },
        })
    }
}

/// Has a component compiled by the process at the other end, and its code taken; or says why there
/// is none.
fn compiled<T>(
    socket: &mut Socket,
    component: &[u8],
    late: impl Fn() -> bool,
    take: impl FnOnce(&[u8]) -> T,
) -> Result<Result<T, String>, Broken> {
    socket.begin_call();
    socket.send(&Bytes::new(component), &[], &late)?;
    socket.receive(COMPILED_BYTES_MAX, &late, |bytes| {
        let compiled: Compiled<'_> = decode(bytes)?;
        Ok(compiled.map(|code| take(code)).map_err(|why| bound_words(&why)))
    })
}

/// Codes by their components' SHA-256, within a bound; the one that was wanted last at the end.
struct CodeFiles<C> {
    bytes_max: usize,
    codes: VecDeque<(String, usize, Arc<C>)>,
}

impl<C> CodeFiles<C> {
    fn new(bytes_max: usize) -> Self {
        Self { bytes_max, codes: VecDeque::new() }
    }

    fn get(&mut self, sha256: &str) -> Option<Arc<C>> {
        let found = self.codes.iter().position(|(of, ..)| of == sha256)?;
        let wanted = self.codes.remove(found)?;
        let code = wanted.2.clone();
        self.codes.push_back(wanted);
        Some(code)
    }

    fn keep(&mut self, sha256: &str, bytes: usize, code: Arc<C>) {
        self.codes.retain(|(of, ..)| of != sha256);
        self.codes.push_back((sha256.to_owned(), bytes, code));
        while self.bytes() > self.bytes_max {
            self.codes.pop_front();
        }
    }

    fn bytes(&self) -> usize {
        self.codes.iter().map(|(_, bytes, _)| bytes).sum()
    }
}
