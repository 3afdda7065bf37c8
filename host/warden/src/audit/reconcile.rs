//! Intents that a crash left without an outcome: finding them, and holding others off while they
//! are settled.
//!
//! It refuses to guess what happened: the caller looks at the disk and says so. It does not check
//! the chain either; that is `audit verify`.

use super::checkpoint::Checkpoint;
use super::files::{LogFiles, LogSelection};
use super::lines::PositionedReader;
use super::lock::HeldLock;
use super::reading::{LineKind, read};
use super::{AuditError, AuditLog, Durability, OPEN_CHANGES_MAX, OPEN_INTENTS_MAX};
use cofferdam_core::audit::{AuditEvent, CallOutcome, Intent, sha256_hex};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

/// Open intents, held exclusively: nobody publishes until this is dropped.
#[derive(Debug)]
#[must_use = "settle what is open, then finish"]
pub(crate) struct Reconcile<'log> {
    log: &'log AuditLog,
    open: BTreeMap<u64, Intent>,
    /// Changes that the open intents plan.
    changes: usize,
    changes_max: usize,
    /// The last record that was scanned.
    last: Option<Checkpoint>,
    _nobody_publishes: HeldLock<File>,
}

impl AuditLog {
    /// The intents that no outcome names, once nobody publishes; waits at most `wait` for that.
    ///
    /// Called at start, before the first call, and by who takes over. Reads the log from the last
    /// point known to be settled, rotated files included.
    ///
    /// # Errors
    /// [`AuditError::Busy`] when a publication is under way for longer than `wait`, this process's
    /// own included; [`AuditError::TooManyOpen`] above [`OPEN_INTENTS_MAX`] and
    /// [`OPEN_CHANGES_MAX`].
    pub(crate) fn open_intents(&self, wait: Duration) -> Result<Reconcile<'_>, AuditError> {
        self.open_intents_of(wait, OPEN_CHANGES_MAX)
    }

    /// The same with the bound that a test chooses.
    pub(super) fn open_intents_of(
        &self,
        wait: Duration,
        changes_max: usize,
    ) -> Result<Reconcile<'_>, AuditError> {
        let nobody = self.acquire_publishing(File::try_lock, wait)?;
        let files = LogFiles::select(LogSelection::Log(&self.path))?;
        let checkpoint = Checkpoint::load(&self.checkpoint_path());
        let (first, mut start) = match checkpoint {
            Some(checkpoint) => checkpoint.position_after(&files)?.unwrap_or((0, 0)),
            None => (0, 0),
        };
        let mut found = Reconcile {
            log: self,
            open: BTreeMap::new(),
            changes: 0,
            changes_max,
            last: None,
            _nobody_publishes: nobody,
        };
        for index in first..files.len() {
            let part = files.open(index)?;
            found.scan(part.lines(start))?;
            start = 0;
        }
        Ok(found)
    }

    /// Notes how far the log is settled, so that who settles it next reads the rest alone. Returns
    /// whether it is noted: where an intent is open, the next start settles that first.
    ///
    /// # Errors
    /// [`AuditError::Busy`] when a publication is under way for longer than `wait`; as at a start.
    pub fn note_settled(&self, wait: Duration) -> Result<bool, AuditError> {
        let found = self.open_intents(wait)?;
        let is_settled = found.open.is_empty();
        found.finish()?;
        Ok(is_settled)
    }

    fn checkpoint_path(&self) -> PathBuf {
        self.path.with_extension("checkpoint")
    }
}

impl Reconcile<'_> {
    /// The open intents by their `seq`, oldest first.
    pub(crate) fn intents(&self) -> impl Iterator<Item = (u64, &Intent)> {
        self.open.iter().map(|(seq, intent)| (*seq, intent))
    }

    /// Records durably how the intent `seq` ended, as found on disk, and gives the outcome's own
    /// `seq`.
    pub(crate) fn settle(&mut self, seq: u64, outcome: CallOutcome) -> Result<u64, AuditError> {
        let outcome = CallOutcome { intent: Some(seq), reconciled: true, ..outcome };
        let settled = self.log.append(AuditEvent::Outcome(outcome), Durability::Synced)?;
        self.open.remove(&seq);
        Ok(settled)
    }

    /// Notes how far the log is settled and lets others publish. What was not settled stays open
    /// and is found again by the next start.
    ///
    /// # Errors
    /// When the note cannot be written; the outcomes are recorded all the same.
    pub(crate) fn finish(self) -> Result<(), AuditError> {
        match self.last {
            Some(checkpoint) if self.open.is_empty() => checkpoint.store(&self.log.checkpoint_path()),
            _ => Ok(()),
        }
    }

    fn scan(&mut self, mut lines: PositionedReader<&File>) -> Result<(), AuditError> {
        while let Some(line) = lines.next()? {
            // Torn ones, or worse: an intent in one of them cannot be settled, and `audit verify`
            // says which they are.
            let LineKind::Record(record) = read(line.bytes) else { continue };
            let (offset, seq) = (line.offset, record.seq);
            self.last = Some(Checkpoint { offset, seq, sha256: sha256_hex(line.bytes) });
            match record.event {
                AuditEvent::Intent(intent) => {
                    self.changes += intent.files.len();
                    if self.open.len() == OPEN_INTENTS_MAX || self.changes > self.changes_max {
                        return Err(AuditError::TooManyOpen);
                    }
                    self.open.insert(seq, intent);
                }
                AuditEvent::Outcome(CallOutcome { intent: Some(seq), .. }) => {
                    self.changes -= self.open.remove(&seq).map_or(0, |intent| intent.files.len());
                }
                AuditEvent::Outcome(_)
                | AuditEvent::Approval(_)
                | AuditEvent::Access { .. }
                | AuditEvent::Message(_)
                | AuditEvent::Reload(_)
                | AuditEvent::Network(_)
                | AuditEvent::Workflow(_)
                | AuditEvent::Heads { .. }
                | AuditEvent::Recovered(_) => {}
            }
        }
        Ok(())
    }
}
