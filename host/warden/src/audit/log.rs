//! Appending to the audit: one record, one lock, one write; rotating before it where the file is
//! full.
//!
//! It refuses to claim what the disk did not confirm: after a failed synchronization nothing more
//! is appended by this process, because a later success would not cover the earlier record. It
//! refuses to go on behind a record that it knows: a log that was cut or taken away while in use
//! stays as it is.

use super::lock::{self, AUDIT_FILE, HeldLock, PUBLISHING_LOCK, TryLock};
use super::reading::VERSION;
use super::sign::SecretKey;
use super::tail::{LogTail, TailRest};
use super::{AuditError, Config, Head, LINE_BYTES_MAX, LOCK_WAIT, NESTING_MAX, OUTCOME_BYTES_MAX, files};
use super::{open, rotate};
use cofferdam_core::audit::{AuditEvent, CallFacts, Record, sha256_hex};
use cofferdam_core::counts::COUNTS;
use cofferdam_core::lock::lock;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often one append finds the file rotated away by others before it gives up.
const MOVES_MAX: usize = 64;

/// With less room on the disk than this, a record could not be appended; most need less.
const ROOM_BYTES: u64 = 64 * 1024;

/// What an append promises when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The record survives a power loss.
    Synced,
    /// The record survives the end of the process; a power loss may take it.
    Buffered,
}

/// The open audit. Shared between threads; several processes may each hold one.
#[derive(Debug)]
pub struct AuditLog {
    pub(super) path: PathBuf,
    pub(super) folder: File,
    pub(super) sign_key: Option<SecretKey>,
    /// Sound after a panic too: the file's length tells whether the tail is current.
    current: Mutex<ActiveFile>,
    /// Up to which `seq` the disk has confirmed the log. Held while synchronizing, so that one
    /// synchronization serves every thread that waits for it.
    confirmed: Mutex<u64>,
    unconfirmed: AtomicBool,
    lock_wait: Duration,
    rotate_bytes: u64,
    /// Whose chain it is.
    pub(super) node: Option<String>,
    /// The state folder with the gateway's other chains, where they are known, and how they are
    /// opened.
    pub(super) siblings: Option<(PathBuf, Config)>,
}

/// The active file as this process knows it.
#[derive(Debug)]
pub(super) struct ActiveFile {
    pub(super) file: Arc<File>,
    pub(super) tail: LogTail,
    /// Device and inode.
    pub(super) id: (u64, u64),
    /// It is rotated away once it is this long.
    rotate_at: u64,
}

impl AuditLog {
    /// The log whose active file is at `path`, with the default configuration.
    ///
    /// # Errors
    /// As [`AuditLog::open_with`].
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        Self::open_with(path, &Config::default())
    }

    /// The log whose active file is at `path`, created with mode 0600 when absent. Reads only its
    /// end and changes nothing: a torn end is continued by the next append.
    ///
    /// # Errors
    /// Among others [`AuditError::Foreign`] and [`AuditError::Unrecognizable`] when the log ends in
    /// something that must not be continued, and [`AuditError::Key`] when the signing key is
    /// unusable.
    pub fn open_with(path: &Path, config: &Config) -> Result<Self, AuditError> {
        let sign_key = config.sign_key_file.as_deref().map(SecretKey::load).transpose()?;
        let log = Self::from_file(open::open_for_append(path)?, path, LOCK_WAIT)?;
        lock(&log.current).rotate_at = config.rotate_bytes.0;
        Ok(Self { sign_key, rotate_bytes: config.rotate_bytes.0, ..log })
    }

    /// Looks whether [`AuditLog::open_with`] would succeed, and whether the lock that a start takes
    /// would open. Where there is no log, its folder is somebody else's business.
    ///
    /// # Errors
    /// As `open_with`.
    pub fn check_open(path: &Path, config: &Config) -> Result<(), AuditError> {
        open::check_for_append(&path.with_file_name(PUBLISHING_LOCK))?;
        match path.try_exists() {
            Ok(false) if path.symlink_metadata().is_err() => {
                config.sign_key_file.as_deref().map(SecretKey::load).transpose()?;
                Ok(())
            }
            _ => Self::open_with(path, config).map(drop),
        }
    }

    /// The log in `file`, which is never rotated; appends wait `lock_wait` for other processes.
    pub(super) fn from_file(file: File, path: &Path, lock_wait: Duration) -> Result<Self, AuditError> {
        let parent = files::folder(path);
        let failed = |source| AuditError::Open { path: parent.to_owned(), source };
        let folder = File::open(parent).map_err(failed)?;
        let end = open::settled_length(&file)?;
        let tail = rotate::tail(path, &folder, &file, end)?;
        let id = files::identity(&file)?;
        Ok(Self {
            path: path.to_owned(),
            folder,
            sign_key: None,
            current: Mutex::new(ActiveFile { file: Arc::new(file), tail, id, rotate_at: u64::MAX }),
            confirmed: Mutex::new(0),
            unconfirmed: AtomicBool::new(false),
            lock_wait,
            rotate_bytes: u64::MAX,
            node: None,
            siblings: None,
        })
    }

    /// Appends one record and gives its `seq`. An intent is appended under the lock of
    /// `publishing`.
    ///
    /// What other processes have appended is taken into account, and a torn end is recorded first.
    /// A full file is rotated away before.
    ///
    /// # Errors
    /// On any error the side effect must not happen. Except after [`AuditError::Sync`], the record
    /// is not in the log; a failed write is taken back, or recognized as torn by the next append.
    pub fn append(&self, event: AuditEvent, durability: Durability) -> Result<u64, AuditError> {
        if self.unconfirmed.load(Ordering::Acquire) {
            return Err(AuditError::Unconfirmed);
        }
        check_nesting(&event)?;
        let seq = {
            let mut current = lock(&self.current);
            let _lock = self.lock_active(&mut current)?;
            write(&mut current, event)?
        };
        COUNTS.audit_records.add(1);
        if durability == Durability::Synced {
            self.confirm(seq)?;
        }
        Ok(seq)
    }

    /// Whether a record could be appended now, as far as looking tells. Appends nothing.
    ///
    /// # Errors
    /// Why it could not: among others [`AuditError::Deleted`], and [`AuditError::Unconfirmed`].
    pub fn check(&self) -> Result<(), AuditError> {
        if self.unconfirmed.load(Ordering::Acquire) {
            return Err(AuditError::Unconfirmed);
        }
        let _lock = self.lock_active(&mut lock(&self.current))?;
        let space = rustix::fs::fstatvfs(&self.folder).map_err(|errno| AuditError::Read(errno.into()))?;
        if space.f_bavail.saturating_mul(space.f_frsize) < ROOM_BYTES {
            return Err(AuditError::Write(rustix::io::Errno::NOSPC.into()));
        }
        Ok(())
    }

    /// The last record that this process knows: the head at the last open or append.
    pub fn head(&self) -> Head {
        lock(&self.current).tail.head.clone()
    }

    /// The node whose chain it is, where several share the state folder.
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// The last record of the chain, also where another process has appended it, once the disk has
    /// it.
    ///
    /// # Errors
    /// As [`AuditLog::check`] where nothing could be appended to the file; [`AuditError::Sync`].
    pub fn confirm_newest_head(&self) -> Result<Head, AuditError> {
        let head = {
            let mut current = lock(&self.current);
            let _lock = self.lock_active(&mut current)?;
            current.tail.head.clone()
        };
        self.confirm(head.seq)?;
        Ok(head)
    }

    /// The lock to hold from before an intent to after its outcome: it says that a side effect may
    /// be under way.
    ///
    /// While any process holds one, nobody reconciles, so an intent without an outcome that a
    /// reconciler finds can only come from a crash.
    ///
    /// # Errors
    /// [`AuditError::Busy`] when another process reconciles for longer than [`LOCK_WAIT`].
    pub(crate) fn lock_publishing(&self) -> Result<HeldLock<File>, AuditError> {
        self.acquire_publishing(File::try_lock_shared, self.lock_wait)
    }

    /// The lock of publications. Each holder has its own open file: locks belong to those.
    pub(super) fn acquire_publishing(
        &self,
        try_lock: TryLock,
        wait: Duration,
    ) -> Result<HeldLock<File>, AuditError> {
        let file = open::open_for_append(&self.sibling_path(PUBLISHING_LOCK))?;
        lock::acquire(file, PUBLISHING_LOCK, try_lock, wait)
    }

    /// A file that belongs to the log, in its folder.
    pub(super) fn sibling_path(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// The lock on the active file, whose tail is known then and which has room for a record.
    fn lock_active(&self, current: &mut ActiveFile) -> Result<HeldLock<Arc<File>>, AuditError> {
        for _ in 0..MOVES_MAX {
            let lock = lock::acquire(current.file.clone(), AUDIT_FILE, File::try_lock, self.lock_wait)?;
            let now = current.file.metadata().map_err(AuditError::Read)?;
            if now.nlink() == 0 {
                return Err(AuditError::Deleted);
            }
            // The seal tells a rotation for no system call more than the length costs.
            let sealed = rotate::is_sealed(&now);
            if !sealed || rotate::is_active(self, current)? {
                if now.len() != current.tail.end {
                    self.read_tail(current, now.len())?;
                }
                let full = sealed || current.tail.end >= current.rotate_at;
                if !full || !self.rotate_if_due(current)? {
                    return Ok(lock);
                }
            }
            // Still under the lock of the old file, for which the others wait.
            let file = open::open_for_append(&self.path)?;
            current.id = files::identity(&file)?;
            current.file = Arc::new(file);
            current.rotate_at = self.rotate_bytes;
            // No file is this long: the next round reads the new one's end.
            current.tail.end = u64::MAX;
        }
        Err(AuditError::Busy { what: AUDIT_FILE, waited: self.lock_wait })
    }

    /// The tail of the file as it is now, which never lies before what is known of the log.
    fn read_tail(&self, current: &mut ActiveFile, len: u64) -> Result<(), AuditError> {
        let tail = rotate::tail(&self.path, &self.folder, &current.file, len)?;
        if tail.head.seq < current.tail.head.seq {
            return Err(AuditError::WentBack { known: current.tail.head.seq, found: tail.head.seq });
        }
        current.tail = tail;
        Ok(())
    }

    /// Rotates the file away; `false` where it must or can go on as it is. The lock is held.
    fn rotate_if_due(&self, current: &mut ActiveFile) -> Result<bool, AuditError> {
        // A torn end is recorded in the file that it ends.
        if current.tail.rest != TailRest::Whole {
            return Ok(false);
        }
        current.file.sync_data().map_err(|source| self.append_error(source))?;
        if rotate::rotate_away(self, current) {
            return Ok(true);
        }
        current.rotate_at = current.tail.end.saturating_add(rotate::RETRY_BYTES);
        Ok(false)
    }

    /// Returns when the disk holds everything up to `seq`; other appends go on meanwhile.
    pub(super) fn confirm(&self, seq: u64) -> Result<(), AuditError> {
        let mut confirmed = lock(&self.confirmed);
        if self.unconfirmed.load(Ordering::Acquire) {
            return Err(AuditError::Unconfirmed);
        }
        if *confirmed >= seq {
            return Ok(());
        }
        // A rotation synchronizes first, so this file is all that the disk may lack.
        let (file, written) = {
            let current = lock(&self.current);
            (current.file.clone(), current.tail.head.seq)
        };
        file.sync_data().map_err(|source| self.append_error(source))?;
        *confirmed = written;
        Ok(())
    }

    fn append_error(&self, source: std::io::Error) -> AuditError {
        self.unconfirmed.store(true, Ordering::Release);
        AuditError::Sync(source)
    }
}

/// Writes the record, after what mends the end; the lock is held. Gives its `seq`.
fn write(current: &mut ActiveFile, event: AuditEvent) -> Result<u64, AuditError> {
    let ActiveFile { file, tail, .. } = current;
    let (newline, recovered) = tail.mend(file)?;
    let mut bytes = newline.to_vec();
    let mut head = tail.head.clone();
    for event in recovered.map(AuditEvent::Recovered).into_iter().chain([event]) {
        head = push(&mut bytes, &head, event)?;
    }
    if let Err(source) = (&**file).write_all(&bytes) {
        // Ours alone, since the lock is held. If this fails too, the length tells the next append.
        let _ = file.set_len(tail.end);
        return Err(AuditError::Write(source));
    }
    let (seq, end) = (head.seq, tail.end + bytes.len() as u64);
    *tail = LogTail { end, head, rest: TailRest::Whole };
    Ok(seq)
}

/// Adds the line of the record that follows `last`, and gives the new head.
fn push(bytes: &mut Vec<u8>, last: &Head, event: AuditEvent) -> Result<Head, AuditError> {
    let time = now();
    let record = Record { v: VERSION, seq: last.seq + 1, time, prev: last.sha256.clone(), event };
    let start = bytes.len();
    serde_json::to_writer(&mut *bytes, &record).map_err(AuditError::Encode)?;
    let line = &bytes[start..];
    let bytes_max = match record.event {
        AuditEvent::Intent(_) => LINE_BYTES_MAX - OUTCOME_BYTES_MAX,
        _ => LINE_BYTES_MAX,
    };
    if line.len() > bytes_max {
        return Err(AuditError::TooLong { bytes: line.len(), bytes_max });
    }
    let head = Head { seq: record.seq, sha256: sha256_hex(line) };
    bytes.push(b'\n');
    Ok(head)
}

/// UTC, RFC 3339, milliseconds.
pub(super) fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

fn check_nesting(event: &AuditEvent) -> Result<(), AuditError> {
    fn fits(value: &Value, depth: usize) -> bool {
        match value {
            Value::Array(items) => depth > 0 && items.iter().all(|v| fits(v, depth - 1)),
            Value::Object(fields) => depth > 0 && fields.values().all(|v| fits(v, depth - 1)),
            _ => true,
        }
    }
    let facts: &CallFacts = match event {
        AuditEvent::Intent(intent) => &intent.facts,
        AuditEvent::Outcome(outcome) => &outcome.facts,
        AuditEvent::Approval(approval) => &approval.facts,
        AuditEvent::Message(message) => &message.facts,
        AuditEvent::Access { .. }
        | AuditEvent::Network(_)
        | AuditEvent::Reload(_)
        | AuditEvent::Workflow(_)
        | AuditEvent::Heads { .. }
        | AuditEvent::Recovered(_) => return Ok(()),
    };
    if fits(&facts.arguments, NESTING_MAX) { Ok(()) } else { Err(AuditError::TooDeep) }
}
