//! What a confined process tries, so that its confinement is seen and not believed: a table of what
//! must be refused and what must still work. Each row is tried in a process of its own, since it
//! may end it.
//!
//! It proves nothing in a process that is not confined, and there it may do what it tries.

use super::{COMPILE_CPU_SECONDS, ConfineError, ConfinementMode, GatewayPaths, Report, WorkerKind};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

mod child;
mod deeds;
mod table;

pub use child::run_in_child;
use table::{GATEWAY, GATEWAY_NEVER, WORKER, WORKER_NEVER};

/// What must become of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedResult {
    /// It works.
    Done,
    /// The kernel refuses it, or ends the process.
    Refused,
}

/// One row of the table.
#[derive(Clone, Copy)]
pub struct Trial {
    /// What is tried, in a few words; unique in its table.
    pub name: &'static str,
    /// What must become of it.
    pub expected: ExpectedResult,
    deed: fn(&TrialFolder) -> io::Result<()>,
}

/// What became of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialResult {
    /// It worked.
    Done,
    /// It failed with an error number that confinement answers with.
    Refused(i32),
    /// It failed otherwise: the kernel got as far as looking at it.
    Failed(i32),
    /// It ended the process by this signal.
    Killed(i32),
}

impl TrialResult {
    /// Whether it is what the table expects.
    pub fn is(self, expected: ExpectedResult) -> bool {
        match expected {
            ExpectedResult::Done => self == Self::Done,
            ExpectedResult::Refused => {
                matches!(self, Self::Refused(_) | Self::Killed(libc::SIGSYS | libc::SIGXFSZ))
            }
        }
    }
}

/// The table for a kind of process. A compiling worker has no mounts, so that what reads them is
/// refused there, and may start threads. Its filter is the other worker's, so that single system
/// calls are not tried again.
pub fn table(who: ConfinementMode) -> Vec<Trial> {
    let compiles = |trial: &Trial| match trial.name {
        "start a thread" => Trial { expected: ExpectedResult::Done, ..*trial },
        name if name.starts_with("read ") => Trial { expected: ExpectedResult::Refused, ..*trial },
        _ => *trial,
    };
    match who {
        ConfinementMode::Gateway => [GATEWAY, GATEWAY_NEVER].concat(),
        ConfinementMode::CallWorker => [WORKER, WORKER_NEVER].concat(),
        ConfinementMode::CompileWorker => WORKER.iter().map(compiles).collect(),
    }
}

/// A folder with everything that trials touch.
pub struct TrialFolder {
    root: PathBuf,
    mount: OwnedFd,
    cache: OwnedFd,
    outside: OwnedFd,
    /// `/proc/self/fd`, opened while it can be.
    descriptors: OwnedFd,
    socket: std::os::unix::net::UnixStream,
    /// A gateway's listeners on loopback: the first on a port that it is granted.
    listeners: Vec<OwnedFd>,
    parent: Option<rustix::process::Pid>,
    program: PathBuf,
}

impl TrialFolder {
    /// Makes the files of a scene in an empty folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn prepare(root: &Path) -> io::Result<()> {
        for folder in ["mount/folder", "cache", "outside", "state"] {
            std::fs::create_dir_all(root.join(folder))?;
        }
        for file in ["mount/file", "mount/folder/inner", "cache/entry", "outside/file", "state/file"] {
            std::fs::write(root.join(file), "text")?;
        }
        // The kernel would begin to run it, and find that it is no program.
        let program = root.join("outside/program");
        std::fs::write(&program, "text")?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        std::os::unix::fs::symlink("../outside/file", root.join("mount/link"))
    }

    /// Opens a scene for a process that will be confined as `who`.
    ///
    /// # Errors
    /// When something of it cannot be opened.
    pub fn open(root: &Path, who: ConfinementMode) -> io::Result<Self> {
        let folder = |path: PathBuf| -> io::Result<OwnedFd> {
            Ok(rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
        };
        Ok(Self {
            mount: folder(root.join("mount"))?,
            cache: folder(root.join("cache"))?,
            outside: folder(root.join("outside"))?,
            descriptors: folder("/proc/self/fd".into())?,
            socket: std::os::unix::net::UnixStream::pair()?.0,
            // A worker is started by a gateway that cannot listen.
            listeners: match who {
                ConfinementMode::Gateway => vec![deeds::listen()?, deeds::listen()?],
                ConfinementMode::CallWorker | ConfinementMode::CompileWorker => Vec::new(),
            },
            parent: rustix::process::getppid(),
            program: std::env::current_exe()?,
            root: root.to_owned(),
        })
    }

    /// Confines this process as `who`, for good.
    ///
    /// # Errors
    /// [`ConfineError`].
    pub fn confine(&self, who: ConfinementMode) -> Result<Report, ConfineError> {
        match who {
            ConfinementMode::Gateway => {
                let mut paths: GatewayPaths = super::own_program()?;
                paths.read_write.extend([self.root.join("mount"), self.root.join("state")]);
                paths.read_only.extend([self.root.join("cache"), "/etc".into(), "/proc".into()]);
                let granted = self.port(0).map_err(|e| ConfineError::refused("ask for a port", e))?;
                super::gateway(&paths, Some(&[granted]))
            }
            ConfinementMode::CallWorker => super::worker(WorkerKind::Call, &[self.mount.as_fd()]),
            ConfinementMode::CompileWorker => {
                super::worker(WorkerKind::Compile { cpu_seconds: COMPILE_CPU_SECONDS }, &[])
            }
        }
    }

    /// Tries one thing in this confined process.
    pub fn attempt(&self, trial: &Trial) -> TrialResult {
        // The last two are of resource limits.
        const REFUSALS: [Errno; 7] =
            [Errno::ACCESS, Errno::PERM, Errno::NOSYS, Errno::XDEV, Errno::ROFS, Errno::MFILE, Errno::NOMEM];
        match (trial.deed)(self).map_err(|e| e.raw_os_error().unwrap_or(0)) {
            Ok(()) => TrialResult::Done,
            Err(code) if REFUSALS.iter().any(|errno| errno.raw_os_error() == code) => {
                TrialResult::Refused(code)
            }
            Err(code) => TrialResult::Failed(code),
        }
    }

    /// The port of a listener, or one that nobody needs to listen on.
    fn port(&self, listener: usize) -> io::Result<u16> {
        self.listeners.get(listener).map_or(Ok(9), deeds::port)
    }

    fn parent_id(&self) -> libc::c_long {
        self.parent.map_or(1, |pid| pid.as_raw_nonzero().get().into())
    }

    fn open_in_mount(&self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(&self.mount, path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))?)
    }

    /// The same where nothing more is done with it.
    fn try_open(&self, path: &str, flags: OFlags) -> io::Result<()> {
        self.open_in_mount(path, flags).map(drop)
    }

    fn handle(&self) -> io::Result<OwnedFd> {
        self.open_in_mount("file", OFlags::PATH)
    }

    /// Opens what a handle stands for once more, by its name among the descriptors.
    fn reopen(&self, handle: &OwnedFd, flags: OFlags) -> io::Result<OwnedFd> {
        let name = handle.as_raw_fd().to_string();
        Ok(rustix::fs::openat(&self.descriptors, name, flags | OFlags::CLOEXEC, Mode::empty())?)
    }
}

/// Reads a byte, so that "it works" means more than an open.
fn read(fd: impl AsFd) -> io::Result<()> {
    match rustix::io::read(fd, &mut [0; 1])? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
