//! One executor a run: the lock of each run, which its process holds and the kernel lets go of.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Held until dropped.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl RunLock {
    /// Takes the lock of a run; none where another process carries it out.
    ///
    /// # Errors
    /// What the system says.
    pub fn take(state_dir: &Path, run: &str) -> io::Result<Option<Self>> {
        let path = file(state_dir, run);
        path.parent().map_or(Ok(()), |dir| DirBuilder::new().recursive(true).mode(0o700).create(dir))?;
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether somebody carries the run out now. Makes nothing.
    pub fn is_held(state_dir: &Path, run: &str) -> bool {
        let Ok(file) = File::options().write(true).open(file(state_dir, run)) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    }

    /// Removes the file of a run that has ended, while its lock is held.
    pub fn end(self, state_dir: &Path, run: &str) {
        // Without it nothing is lost; the next one makes it again.
        let _ = std::fs::remove_file(file(state_dir, run));
    }
}

/// A run's id is plain: a workflow's id and hexadecimal digits.
fn file(state_dir: &Path, run: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let name: String = run.chars().take(200).map(plain).collect();
    state_dir.join("runs").join(format!("{name}.lock"))
}
