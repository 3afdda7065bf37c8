//! The heads of a chain that nodes have recorded, each in its own.
//!
//! They are read as they are wanted: a node that works for years records more of them than memory
//! should hold, and none of them is worth less than another. One that the chain has grown past is
//! what shows that it was cut in between.

use super::entries::{Entries, EntryRange, LogEntry, read_entries};
use super::files::{LogFiles, LogSelection};
use super::reading::is_record;
use super::{AuditError, AuditLog, ChainPlace, Head, Kept, Witness};
use cofferdam_core::audit::{AuditEvent, Record};
use std::path::Path;

/// What one node has recorded of another one's chain, in the order of its records.
pub struct ToldHeads {
    entries: Entries,
    /// Whose chain is told of.
    of: String,
    by: Witness,
    /// Read, and not wanted yet.
    next: Option<Kept>,
}

impl ToldHeads {
    /// What the chain of node `by` in a state folder holds of the chain of node `of`. What is
    /// appended to it later is not read: who checks the other chain then finds there all that was
    /// told.
    ///
    /// # Errors
    /// When a file of the chain cannot be opened.
    pub fn open(state_dir: &Path, by: &str, of: &str) -> Result<Self, AuditError> {
        let (chain, wanted) = (ChainPlace::new(state_dir, Some(by)), of.to_owned());
        let is_wanted = move |record: &Record| head_of(record, &wanted).is_some();
        let log = LogSelection::Log(&chain.active);
        let entries = read_entries(log, EntryRange::All, Some(Box::new(is_wanted)))?;
        Ok(Self { entries, of: of.to_owned(), by: Witness::Node(by.to_owned()), next: None })
    }

    /// The next head, unless it is later in its chain than this record.
    pub(super) fn next_up_to(&mut self, seq: u64) -> Result<Option<Kept>, AuditError> {
        while self.next.is_none() {
            let Some(entry) = self.entries.next().transpose()? else { return Ok(None) };
            // What is no record is for who checks the chain that tells.
            if let LogEntry::Record { record, .. } = entry {
                let head = head_of(&record, &self.of);
                self.next = head.map(|head| Kept { head, by: self.by.clone() });
            }
        }
        Ok(self.next.take_if(|kept| kept.head.seq <= seq))
    }
}

impl AuditLog {
    /// Whether a record of the chain is this head. Reads the file that it must be in. The head of
    /// an empty chain is in every chain.
    ///
    /// # Errors
    /// When a file cannot be opened or read.
    pub fn holds(&self, head: &Head) -> Result<bool, AuditError> {
        if head.seq == 0 {
            return Ok(true);
        }
        let files = LogFiles::select(LogSelection::Log(&self.path))?;
        for index in files.files_with(head.seq) {
            let part = files.open(index)?;
            let mut lines = part.lines(0);
            while let Some(line) = lines.next()? {
                if is_record(line.bytes, head.seq, &head.sha256) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The head of the node's chain that the record holds, if it does. That of an empty chain is in
/// every chain.
fn head_of(record: &Record, node: &str) -> Option<Head> {
    match &record.event {
        AuditEvent::Heads { heads } => heads.get(node)?.parse::<Head>().ok().filter(|head| head.seq > 0),
        _ => None,
    }
}
