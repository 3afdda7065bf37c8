//! The kernel's confinement of this process: capabilities, rlimits, Landlock, seccomp, one way
//! only.
//!
//! It knows no tools, no wasmtime and no runtime: callers say what must stay reachable, everything
//! else is gone. What the kernel cannot do is reported, never guessed; what it can do and fails is
//! an error.

mod expendable;
mod landlock;
mod privileges;
mod report;
mod rlimits;
mod seccomp;
mod status;
#[cfg(test)]
mod tests;
pub mod trial;

pub use expendable::spawn_expendable;
pub use privileges::close_inherited;
pub use report::{
    Capabilities, ConfinementMode, IncompleteError, LANDLOCK_ABI_MIN, Landlock, MissingControl, Report,
    Seccomp,
};
pub use rlimits::{COMPILE_CPU_SECONDS, WORKER_DATA_BYTES_MAX, WORKER_FD_MAX};
pub use status::own_program;

use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

/// `[isolation]` of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether nothing starts unless the whole isolation is in force.
    pub require: bool,
}

impl Config {
    /// Refuses a process's isolation when it must be whole and is not.
    ///
    /// # Errors
    /// [`IncompleteError`], which names what is missing and how to mend it.
    pub fn demand(&self, report: &Report) -> Result<(), IncompleteError> {
        let missing = report.missing_controls();
        if !self.require || missing.is_empty() {
            Ok(())
        } else {
            Err(IncompleteError { who: report.who, missing })
        }
    }
}

/// What a worker is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerKind {
    /// Runs calls: reads its mounts.
    Call,
    /// Compiles components: reads and writes nothing but its descriptors, and has a CPU budget.
    Compile {
        /// Over all its threads.
        cpu_seconds: u64,
    },
}

/// The places that a gateway reaches after its configuration is read. Those that are missing are
/// left out, [`GatewayPaths::read_write`] apart.
#[derive(Clone, Debug, Default)]
pub struct GatewayPaths {
    /// Folders with all that is beneath them, which must exist.
    pub read_write: Vec<PathBuf>,
    /// Folders with all that is beneath them, or files.
    pub read_only: Vec<PathBuf>,
    /// Programs that it starts, with their loader.
    pub execute: Vec<PathBuf>,
}

/// Why a process is not confined. It must not go on.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// Threads that run already would stay free.
    #[error("{0} threads run already; confinement comes before the first thread is started")]
    Threads(usize),
    /// `/proc` says what is in force, and nothing else does.
    #[error("cannot read {0}: {1}; mount /proc for this process")]
    Proc(&'static str, io::Error),
    /// A place that must stay reachable cannot be named to the kernel.
    #[error("cannot keep {0} reachable: {1}")]
    Place(String, io::Error),
    /// The kernel refused a step that it supports.
    #[error("cannot {0}: {1}")]
    Refused(&'static str, String),
}

impl ConfineError {
    fn refused(step: &'static str, cause: impl ToString) -> Self {
        Self::Refused(step, cause.to_string())
    }
}

/// Confines this process as a worker and says what is in force. There is no way back, and the
/// process dies with its parent thread.
///
/// Legal while the process has one thread; threads may be started afterwards, processes may not.
/// What is needed once and lies elsewhere (`/proc/self/fd`, `/proc/self/pagemap`) is opened before.
/// Descriptors that are open stay as they are. A system call off the list ends the process by
/// SIGSYS; what libraries only try (`clone3`, other `ioctl`, `fcntl` and `prctl` commands) fails
/// with an error number instead.
///
/// `mounts` are folders that stay readable with all beneath them. A worker of kind
/// [`WorkerKind::Compile`] is given none.
///
/// # Errors
/// [`ConfineError`]: the process is half confined and must exit.
pub fn worker(kind: WorkerKind, mounts: &[BorrowedFd<'_>]) -> Result<Report, ConfineError> {
    status::single_threaded()?;
    let status = status::open_status()?;
    privileges::drop_all()?;
    privileges::hide_and_die_with_parent()?;
    let rlimits = rlimits::worker(kind)?;
    let landlock = landlock::worker(mounts)?;
    // Last: it forbids what the steps above use.
    let filtered = seccomp::worker(kind)?;
    let who = match kind {
        WorkerKind::Call => ConfinementMode::CallWorker,
        WorkerKind::Compile { .. } => ConfinementMode::CompileWorker,
    };
    status::report(&status, who, landlock, filtered, rlimits)
}

/// Confines the gateway and says what is in force. Its workers inherit all of it.
///
/// Legal after the configuration is read, while the process has one thread. `ports` are the TCP
/// ports that it may connect to, `None` all of them; it may listen on none.
///
/// # Errors
/// [`ConfineError`]: the process is half confined and must exit.
pub fn gateway(paths: &GatewayPaths, ports: Option<&[u16]>) -> Result<Report, ConfineError> {
    status::single_threaded()?;
    let status = status::open_status()?;
    expendable::prepare();
    privileges::keep_file_capabilities()?;
    let rlimits = rlimits::gateway()?;
    let landlock = landlock::gateway(paths, ports)?;
    let filtered = seccomp::gateway()?;
    status::report(&status, ConfinementMode::Gateway, landlock, filtered, rlimits)
}
