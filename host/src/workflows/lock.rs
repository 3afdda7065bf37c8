//! One executor a run: the lock of each run, which its process holds and the kernel lets go of. Who
//! moves the store keeps all of them from being taken.

use cofferdam_warden::files::{lock_within, open_if_regular};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the lock is asked for, and the pause between.
const TRIES_MAX: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// Held until dropped.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
    /// Shared with those who carry out other runs.
    _all: File,
}

/// While this is held nobody carries a run out. Held until dropped.
#[derive(Debug)]
pub struct NoRuns {
    _file: File,
}

impl NoRuns {
    /// Waits for a moment; none where somebody carries a run out.
    ///
    /// # Errors
    /// What the system says.
    pub fn take(state_dir: &Path) -> io::Result<Option<Self>> {
        let file = open_all(state_dir)?;
        // Who cancels a run shares it for a moment.
        let is_locked = lock_within(&file, PAUSE * TRIES_MAX, PAUSE)?;
        Ok(is_locked.then_some(Self { _file: file }))
    }
}

impl RunLock {
    /// Takes the lock of a run; none where another process carries it out.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::WouldBlock`] while somebody holds [`NoRuns`].
    pub fn take(state_dir: &Path, run: &str) -> io::Result<Option<Self>> {
        let path = file(state_dir, run);
        path.parent().map_or(Ok(()), |dir| DirBuilder::new().recursive(true).mode(0o700).create(dir))?;
        let all = share_all(state_dir)?;
        // Who only looks holds it for a moment, and who ends a run removes the file.
        for _ in 0..TRIES_MAX {
            let file = open(&path, true)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_file_at(&file, &path) => return Ok(Some(Self { _file: file, _all: all })),
                Ok(()) | Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(None)
    }

    /// Whether somebody carries the run out now. Makes nothing.
    pub fn is_held(state_dir: &Path, run: &str) -> bool {
        let Ok(file) = open(&file(state_dir, run), false) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    }

    /// The locks whose files lie there and that nobody holds, now held, with the names of their
    /// runs: those that wait, and those whose process was killed before it had written down their
    /// end.
    pub fn find_left(state_dir: &Path) -> Vec<(String, Self)> {
        let entries = std::fs::read_dir(state_dir.join("runs")).into_iter().flatten().flatten();
        let free = |path: PathBuf| {
            let run = path.file_stem()?.to_str()?.to_owned();
            let all = share_all(state_dir).ok()?;
            let file = open(&path, false).ok()?;
            flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
            is_file_at(&file, &path).then_some((run, Self { _file: file, _all: all }))
        };
        entries.filter_map(|entry| free(entry.path())).collect()
    }

    /// Removes the file of a run that has ended, while its lock is held.
    pub fn end(self, state_dir: &Path, run: &str) {
        // Without it nothing is lost; the next one makes it again.
        let _ = std::fs::remove_file(file(state_dir, run));
    }
}

/// What everybody shares who carries a run out.
fn share_all(state_dir: &Path) -> io::Result<File> {
    let file = open_all(state_dir)?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(file),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => {
                let why = "`cofferdam store copy` is under way; try again when it has ended";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Its file; it stays. NFS locks for some what they may read, and for one what they may write.
fn open_all(state_dir: &Path) -> io::Result<File> {
    let file = state_dir.join("runs.lock");
    File::options().create(true).truncate(false).read(true).write(true).open(file)
}

/// The file of a run.
fn open(path: &Path, is_made: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(is_made).truncate(false);
    let opened = open_if_regular(path, OFlags::empty(), &mut options)?;
    let why = || format!("{} is not a regular file; move it away", path.display());
    opened.ok_or_else(|| io::Error::other(why()))
}

/// Whether a file is still the one of this name.
fn is_file_at(file: &File, path: &Path) -> bool {
    let id = |found: std::fs::Metadata| (found.dev(), found.ino());
    let (own, there) = (file.metadata().map(id), std::fs::metadata(path).map(id));
    own.is_ok_and(|own| there.is_ok_and(|there| own == there))
}

/// A run's id is plain: a workflow's id and hexadecimal digits.
fn file(state_dir: &Path, run: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let name: String = run.chars().take(200).map(plain).collect();
    state_dir.join("runs").join(format!("{name}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_carries_a_run_out_and_its_end_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let take = || RunLock::take(dir.path(), "w-1").expect("it can be asked for");
        assert!(!RunLock::is_held(dir.path(), "w-1"));
        let lock = take().expect("free");
        assert!(take().is_none() && RunLock::is_held(dir.path(), "w-1"));
        // Another run's is another one.
        assert!(RunLock::take(dir.path(), "w-2").expect("asked").is_some());
        lock.end(dir.path(), "w-1");
        assert!(!RunLock::is_held(dir.path(), "w-1") && !file(dir.path(), "w-1").exists());
        let held = take().expect("free");
        assert!(
            RunLock::take(dir.path(), "w-3").expect("asked").is_some() && file(dir.path(), "w-3").exists()
        );
        let left = RunLock::find_left(dir.path());
        assert_eq!(
            left.iter().map(|(run, _)| run.as_str()).filter(|run| *run != "w-2").collect::<Vec<_>>(),
            ["w-3"]
        );
        assert!(RunLock::is_held(dir.path(), "w-3"));
        left.into_iter().for_each(|(run, lock)| lock.end(dir.path(), &run));
        assert!(!file(dir.path(), "w-3").exists() && file(dir.path(), "w-1").exists());
        assert!(take().is_none(), "who holds one keeps it");
        drop(held);
        assert!(take().is_some());
        assert_eq!(file(dir.path(), "../../x").parent(), Some(dir.path().join("runs").as_path()));
    }

    #[test]
    fn while_nobody_may_carry_a_run_out_none_is_begun_and_while_somebody_does_that_is_not_had() {
        let dir = tempfile::tempdir().expect("a folder");
        let no_runs = || NoRuns::take(dir.path()).expect("it can be asked for");
        let take = |run| RunLock::take(dir.path(), run);
        let locks = [take("w-1"), take("w-2")].map(|lock| lock.expect("asked").expect("free"));
        assert!(no_runs().is_none());
        // One of them is killed, the other one ends.
        let [killed, ended] = locks;
        drop(killed);
        assert!(no_runs().is_none());
        ended.end(dir.path(), "w-2");
        let held = no_runs().expect("a file that nobody holds is in nobody's way");
        assert!(file(dir.path(), "w-1").exists());
        let refused = take("w-3").expect_err("refused");
        assert!(refused.to_string().contains("store copy"), "{refused}");
        assert!(RunLock::find_left(dir.path()).is_empty() && no_runs().is_none());
        drop(held);
        assert_eq!(RunLock::find_left(dir.path()).len(), 1);
        assert!(take("w-3").expect("asked").is_some());
    }

    /// Nobody is at its other end.
    #[test]
    fn a_fifo_in_its_place_is_nobodys_lock_and_not_waited_for() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = file(dir.path(), "w-1");
        std::fs::create_dir(dir.path().join("runs")).expect("writable");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).expect("ours");
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let held = RunLock::is_held(dir.path(), "w-1");
                (held, RunLock::find_left(dir.path()).len(), RunLock::take(dir.path(), "w-1"))
            });
            for _ in 0..500 {
                if !asked.is_finished() {
                    std::thread::sleep(PAUSE);
                }
            }
            let in_time = asked.is_finished();
            // One that did wait goes on.
            let _reader = File::options().read(true).write(true).open(&path).expect("ours");
            let (held, left, taken) = asked.join().expect("no panic");
            assert!(in_time && !held && left == 0);
            let refused = taken.expect_err("refused");
            assert!(refused.to_string().contains("w-1.lock is not a regular file"), "{refused}");
        });
    }
}
