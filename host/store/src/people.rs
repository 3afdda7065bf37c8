//! People whom the operator has let in besides those of the configuration, and strangers whose
//! one-time code waits for the operator.
//!
//! A file of its own beside the database, since `cofferdam allow` changes it while `serve` runs: it
//! is read whole, and written whole under a lock, by one rename. What cannot be read lets nobody
//! in.

mod code;
mod edit;

pub use code::read_code;
pub use edit::{NewCode, PeopleEdit};

use cofferdam_core::lock::lock;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Strangers whose code waits for the operator; further ones get none until one is used or expires.
pub const CODES_MAX: usize = 32;
/// People whom the operator has let in.
pub const PAIRED_MAX: usize = 1000;
/// A longer file is none of ours.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// How long another process that changes the file is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// The file's name within the state directory.
const FILE_NAME: &str = "people.json";
const LOCK_NAME: &str = "people.lock";

/// Somebody whom the operator has let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairedPerson {
    /// The channel, `telegram`.
    pub channel: String,
    /// The channel's immutable id of the person.
    pub sender: String,
    /// What they called themselves; information only.
    pub name: String,
    /// When they were let in, in milliseconds since 1970 UTC.
    pub since: i64,
    /// Who let them in: channel and sender, `cli:1000`.
    pub by: String,
}

/// A stranger whose code waits for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitingStranger {
    /// The channel.
    pub channel: String,
    /// The channel's immutable id of the person.
    pub sender: String,
    /// What they call themselves; information only.
    pub name: String,
    /// The code, as it is shown.
    pub code: String,
    /// When it was made.
    pub issued_at: i64,
    /// From when it is good for nothing.
    pub expires_at: i64,
}

impl WaitingStranger {
    /// Whether the code lets its person in. One from a time that is still to come was made by a
    /// clock that ran ahead: it would be good until that future.
    pub fn is_good(&self, now: i64) -> bool {
        self.issued_at <= now && now < self.expires_at
    }
}

/// Everybody in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeopleList {
    /// Who was let in.
    pub paired: Vec<PairedPerson>,
    /// Whose code waits, expired ones included.
    pub waiting: Vec<WaitingStranger>,
}

/// The file; clones share what was read of it.
#[derive(Clone, Debug)]
pub struct People {
    dir: PathBuf,
    seen: Arc<Mutex<Option<PeopleSnapshot>>>,
}

/// What was read of the file last, behind what tells that state of it from another: each is a file
/// of its own.
type PeopleSnapshot = ((u64, u64, i64, i64), Arc<PeopleList>);

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// It cannot be read or written.
    #[error("{0}: {1}")]
    Io(String, io::Error),
    /// It says something that no release writes.
    #[error("{0} is not what any release writes ({1}); restore it, or remove it, which lets in nobody")]
    Foreign(String, String),
    /// Another process holds it.
    #[error("another process has been changing {0} for {secs} s; try again", secs = LOCK_WAIT.as_secs())]
    Busy(String),
    /// The code is none, or not any more.
    #[error(
        "no stranger has the code {0}: it was used, has expired, or was never given; they get one by writing to the bot"
    )]
    UnknownCode(String),
    /// There is no room.
    #[error("{PAIRED_MAX} people were let in already; name further ones in the configuration")]
    TooMany,
    /// No code can be made.
    #[error("the system gives no random numbers")]
    NoRandom,
}

impl People {
    /// The file of a state directory. It is looked at when it is asked.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), seen: Arc::default() }
    }

    /// Everybody in it now; read again only when it has changed. Blocks on the disk, for a moment.
    ///
    /// # Errors
    /// [`PeopleError`]; then nobody is let in by it.
    pub fn load(&self) -> Result<Arc<PeopleList>, PeopleError> {
        let mut seen = lock(&self.seen);
        // Without blocking: opening a FIFO waits for its other end.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = rustix::fs::open(self.file(), flags, Mode::empty());
        let file = match opened {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => {
                *seen = None;
                return Ok(Arc::default());
            }
            Err(errno) => return Err(self.failed(errno.into())),
        };
        let foreign = |why: String| PeopleError::Foreign(self.file().display().to_string(), why);
        let meta = file.metadata().map_err(|cause| self.failed(cause))?;
        if !meta.is_file() {
            return Err(foreign("it is not a regular file".to_owned()));
        }
        let stamp = (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec());
        if let Some((_, listed)) = seen.as_ref().filter(|(before, _)| *before == stamp) {
            return Ok(listed.clone());
        }
        let text = io::read_to_string(file.take(FILE_BYTES_MAX)).map_err(|cause| self.failed(cause))?;
        let listed = serde_json::from_str(&text).map_err(|why| foreign(why.to_string()))?;
        let listed: Arc<PeopleList> = Arc::new(listed);
        *seen = Some((stamp, listed.clone()));
        Ok(listed)
    }

    /// Begins to change it; nobody else changes it meanwhile. Waits for those who do, so it is not
    /// for async threads.
    ///
    /// # Errors
    /// [`PeopleError`]
    pub fn edit(&self) -> Result<PeopleEdit<'_>, PeopleError> {
        let path = self.dir.join(LOCK_NAME);
        let at = |cause: io::Error| PeopleError::Io(path.display().to_string(), cause);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let lock = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(|e| at(e.into()))?;
        let lock = File::from(lock);
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(cause)) => return Err(at(cause)),
                Err(TryLockError::WouldBlock) if start.elapsed() >= LOCK_WAIT => {
                    return Err(PeopleError::Busy(self.file().display().to_string()));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        let listed = (*self.load()?).clone();
        Ok(PeopleEdit::new(self, lock, listed))
    }

    fn file(&self) -> PathBuf {
        self.dir.join(FILE_NAME)
    }

    fn failed(&self, cause: io::Error) -> PeopleError {
        PeopleError::Io(self.file().display().to_string(), cause)
    }
}
