//! Appending to the audit: one record, one lock, one write.
//!
//! It refuses to claim what the disk did not confirm: after a failed synchronization nothing more is
//! appended by this process, because a later success would not cover the earlier record.

use super::lock::{self, PublishingGuard, Sharing};
use super::reading::VERSION;
use super::tail::{Rest, Tail};
use super::{AuditError, Head, LINE_BYTES_MAX, LOCK_WAIT, NESTING_MAX, open};
use cofferdam_core::audit::{CallFacts, Event, Record, sha256_hex};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What an append promises when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The record survives a power loss.
    Synced,
    /// The record survives the end of the process; a power loss may take it.
    Buffered,
}

/// The open audit file. Shared between threads; several processes may each hold one.
#[derive(Debug)]
pub struct AuditLog {
    pub(super) path: PathBuf,
    pub(super) file: File,
    tail: Mutex<Tail>,
    /// How far the disk has confirmed the file. Held while synchronizing, so that one
    /// synchronization serves every thread that waits for it.
    confirmed: Mutex<u64>,
    unconfirmed: AtomicBool,
    lock_wait: Duration,
}

impl AuditLog {
    /// The log at `path`, created with mode 0600 when absent. Reads only its end and changes nothing: a
    /// torn end is continued by the next append.
    ///
    /// # Errors
    /// Among others [`AuditError::Foreign`] and [`AuditError::Unrecognizable`] when the log ends in
    /// something that must not be continued.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        Self::over(open::for_appending(path)?, path, LOCK_WAIT)
    }

    /// The log in `file`; appends wait `lock_wait` for other processes.
    pub(super) fn over(file: File, path: &Path, lock_wait: Duration) -> Result<Self, AuditError> {
        let end = open::settled_length(&file)?;
        if end == 0 {
            // Before the first record, so that the name is as durable as what it leads to.
            sync_parent(path)?;
        }
        Ok(Self {
            path: path.to_owned(),
            tail: Mutex::new(Tail::read(&file, end)?),
            file,
            confirmed: Mutex::new(0),
            unconfirmed: AtomicBool::new(false),
            lock_wait,
        })
    }

    /// Appends one record and gives its `seq`. An intent is appended under a [`PublishingGuard`].
    ///
    /// What other processes have appended is taken into account, and a torn end is recorded first.
    ///
    /// # Errors
    /// On any error the side effect must not happen. Except after [`AuditError::Sync`], the record is not
    /// in the log; a failed write is taken back, or recognized as torn by the next append.
    pub fn append(&self, event: Event, durability: Durability) -> Result<u64, AuditError> {
        if self.unconfirmed.load(Ordering::Acquire) {
            return Err(AuditError::Unconfirmed);
        }
        check_nesting(&event)?;
        let (seq, end) = {
            let mut tail = relock(&self.tail);
            let _lock = lock::log(&self.file, Sharing::Exclusive, self.lock_wait)?;
            self.refresh(&mut tail)?;
            self.write(&mut tail, event)?
        };
        if durability == Durability::Synced {
            self.confirm(end)?;
        }
        Ok(seq)
    }

    /// The last record that this process knows: the head at the last open or append.
    pub fn head(&self) -> Head {
        relock(&self.tail).head.clone()
    }

    /// The guard to hold from before an intent to after its outcome.
    ///
    /// # Errors
    /// [`AuditError::Busy`] when another process reconciles for longer than [`LOCK_WAIT`].
    pub fn publishing(&self) -> Result<PublishingGuard, AuditError> {
        PublishingGuard::take(&self.beside("publishing.lock"), Sharing::Shared, self.lock_wait)
    }

    /// A file that belongs to the log, in its directory.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// Reads the tail again if the file is not as long as it was left; the lock is held.
    fn refresh(&self, tail: &mut Tail) -> Result<(), AuditError> {
        let now = self.file.metadata().map_err(AuditError::Read)?;
        if now.nlink() == 0 {
            return Err(AuditError::Deleted);
        }
        if now.len() != tail.end {
            *tail = Tail::read(&self.file, now.len())?;
        }
        Ok(())
    }

    /// Writes the record, after what mends the end; the lock is held. Gives its `seq` and its end.
    fn write(&self, tail: &mut Tail, event: Event) -> Result<(u64, u64), AuditError> {
        let (newline, recovered) = tail.mend(&self.file)?;
        let mut bytes = newline.to_vec();
        let mut head = tail.head.clone();
        for event in recovered.map(Event::Recovered).into_iter().chain([event]) {
            head = push(&mut bytes, &head, event)?;
        }
        if let Err(source) = (&self.file).write_all(&bytes) {
            // Ours alone, since the lock is held. If this fails too, the length tells the next append.
            let _ = self.file.set_len(tail.end);
            return Err(AuditError::Write(source));
        }
        let (seq, end) = (head.seq, tail.end + bytes.len() as u64);
        *tail = Tail { end, head, rest: Rest::Whole };
        Ok((seq, end))
    }

    /// Returns when the disk holds everything before `end`; other appends go on meanwhile.
    fn confirm(&self, end: u64) -> Result<(), AuditError> {
        let mut confirmed = relock(&self.confirmed);
        if self.unconfirmed.load(Ordering::Acquire) {
            return Err(AuditError::Unconfirmed);
        }
        if *confirmed >= end {
            return Ok(());
        }
        let written = relock(&self.tail).end;
        self.file.sync_data().map_err(|source| {
            self.unconfirmed.store(true, Ordering::Release);
            AuditError::Sync(source)
        })?;
        *confirmed = written;
        Ok(())
    }
}

/// Adds the line of the record that follows `last`, and gives the new head.
fn push(bytes: &mut Vec<u8>, last: &Head, event: Event) -> Result<Head, AuditError> {
    let time = format!("{:.3}", jiff::Timestamp::now());
    let record = Record { v: VERSION, seq: last.seq + 1, time, prev: last.sha256.clone(), event };
    let start = bytes.len();
    serde_json::to_writer(&mut *bytes, &record).map_err(AuditError::Encode)?;
    let line = &bytes[start..];
    if line.len() > LINE_BYTES_MAX {
        return Err(AuditError::TooLong { bytes: line.len() });
    }
    let head = Head { seq: record.seq, sha256: sha256_hex(line) };
    bytes.push(b'\n');
    Ok(head)
}

fn check_nesting(event: &Event) -> Result<(), AuditError> {
    fn fits(value: &Value, depth: usize) -> bool {
        match value {
            Value::Array(items) => depth > 0 && items.iter().all(|v| fits(v, depth - 1)),
            Value::Object(fields) => depth > 0 && fields.values().all(|v| fits(v, depth - 1)),
            _ => true,
        }
    }
    let facts: &CallFacts = match event {
        Event::Intent(intent) => &intent.facts,
        Event::Outcome(outcome) => &outcome.facts,
        Event::Recovered(_) => return Ok(()),
    };
    if fits(&facts.arguments, NESTING_MAX) { Ok(()) } else { Err(AuditError::TooDeep) }
}

fn sync_parent(path: &Path) -> Result<(), AuditError> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |source| AuditError::Open { path: parent.to_owned(), source };
    File::open(parent).and_then(|directory| directory.sync_all()).map_err(failed)
}

/// What a panicking thread leaves is safe to use: the file's length tells whether the tail is current.
fn relock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
