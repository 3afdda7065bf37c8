//! Following the chain from record to record, and saying what is wrong with the first that breaks it.
//!
//! Pure but for one thing: the bytes of a torn line are read again to be hashed. It refuses to repair,
//! skip or guess.

use super::lines::{Line, LineEnd, sha256_of};
use super::reading::{Reading, read};
use super::{AuditError, Head};
use cofferdam_core::audit::{Event, Record, sha256_hex};
use std::fs::File;

/// The first record that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// Its line, from 1.
    pub line: u64,
    /// Its `seq`: its own, or what it must have been if it cannot be read.
    pub seq: u64,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The line is not a record of this version.
    #[error("it is not a record: {0}")]
    NotARecord(String),
    /// Its position is not the next one.
    #[error("expected seq {expected}, found {found}: records are missing, moved or doubled")]
    WrongSeq {
        /// The position it must have.
        expected: u64,
        /// The position it has.
        found: u64,
    },
    /// The first record does not start a chain.
    #[error("it does not start a chain: `prev` of the first record must be zeros")]
    WrongStart,
    /// The record after it was chained to something else.
    #[error("the record at line {next_line} holds another hash of it: one of the two was changed")]
    Changed {
        /// The line of the record after it.
        next_line: u64,
    },
    /// A `recovered` record describes other bytes than the torn ones before it.
    #[error("it recovers from a torn line that is not the one before it")]
    OtherTornLine,
    /// A `recovered` record without a torn line before it.
    #[error("it recovers from a torn line, and there is none before it")]
    NoTornLine,
    /// The record differs from the head kept elsewhere.
    #[error("it is not the record of the head kept elsewhere: the log was rewritten")]
    OtherHead,
    /// The chain ends before the head kept elsewhere.
    #[error("it is missing, and so is all up to the head kept elsewhere (seq {kept}): the tail was cut")]
    CutTail {
        /// The position of that head.
        kept: u64,
    },
}

/// What a line is to the chain.
#[derive(Debug)]
pub(super) enum Link {
    /// The next record.
    Record(Box<Record>),
    /// A line that a crash may have torn; what follows decides.
    Torn,
    /// The chain is broken.
    Bad(BadRecord),
}

/// Lines since the last record that are not complete JSON.
#[derive(Clone, Debug)]
pub(super) struct Torn {
    pub(super) line: u64,
    pub(super) start: u64,
    pub(super) why: String,
}

/// How far the chain was followed.
#[derive(Debug)]
pub(super) struct Chain {
    /// The last record.
    pub(super) head: Head,
    /// Torn lines after it.
    pub(super) torn: Option<Torn>,
    head_line: u64,
    lines: u64,
}

impl Chain {
    /// The chain before its first record.
    pub(super) fn new() -> Self {
        Self { head: Head::genesis(), torn: None, head_line: 0, lines: 0 }
    }

    /// What the next line is to the chain.
    pub(super) fn follow(&mut self, line: &Line<'_>, file: &File) -> Result<Link, AuditError> {
        self.lines += 1;
        let record = match read(line.bytes) {
            Reading::Record(record) => record,
            Reading::Foreign(why) => return Ok(Link::Bad(self.unreadable(why))),
            Reading::Torn(why) => {
                let (line_number, start) = (self.lines, line.offset);
                self.torn.get_or_insert(Torn { line: line_number, start, why });
                return Ok(Link::Torn);
            }
        };
        if let Some(bad) = self.misplaced(&record) {
            return Ok(Link::Bad(bad));
        }
        if let Some(bad) = self.misrecovered(&record, line, file)? {
            return Ok(Link::Bad(bad));
        }
        self.head = Head { seq: record.seq, sha256: sha256_hex(line.bytes) };
        self.head_line = self.lines;
        self.torn = None;
        Ok(Link::Record(record))
    }

    /// What is bad about an end at which `end` ended the last line, if anything.
    pub(super) fn close(&self, end: LineEnd) -> Option<BadRecord> {
        match (&self.torn, end) {
            // A line with its newline was written whole; only a later recovery may explain it.
            (Some(torn), LineEnd::Newline) => Some(self.unreadable(torn.why.clone())),
            _ => None,
        }
    }

    /// The first record that is missing before the head `kept` elsewhere.
    pub(super) fn cut(&self, kept: &Head) -> BadRecord {
        let line = self.torn.as_ref().map_or(self.lines + 1, |torn| torn.line);
        BadRecord { line, seq: self.head.seq + 1, fault: Fault::CutTail { kept: kept.seq } }
    }

    /// A fault of the record that was just followed.
    pub(super) fn fault_here(&self, fault: Fault) -> BadRecord {
        BadRecord { line: self.head_line, seq: self.head.seq, fault }
    }

    fn misplaced(&self, record: &Record) -> Option<BadRecord> {
        let (expected, found) = (self.head.seq + 1, record.seq);
        let explains = matches!(record.event, Event::Recovered(_)) && found == expected;
        if let (Some(torn), false) = (&self.torn, explains) {
            return Some(self.unreadable(torn.why.clone()));
        }
        if found != expected {
            let fault = Fault::WrongSeq { expected, found };
            return Some(BadRecord { line: self.lines, seq: found, fault });
        }
        if record.prev == self.head.sha256 {
            return None;
        }
        if self.head.seq == 0 {
            return Some(BadRecord { line: self.lines, seq: found, fault: Fault::WrongStart });
        }
        Some(self.fault_here(Fault::Changed { next_line: self.lines }))
    }

    fn misrecovered(
        &self,
        record: &Record,
        line: &Line<'_>,
        file: &File,
    ) -> Result<Option<BadRecord>, AuditError> {
        let fault = match (&record.event, &self.torn) {
            (Event::Recovered(found), Some(torn)) => {
                // Without the newline before this line: it belongs to the recovery.
                let end = line.offset - 1;
                let same = found.torn_bytes == end - torn.start
                    && found.torn_sha256 == sha256_of(file, torn.start, end)?;
                if same { return Ok(None) } else { Fault::OtherTornLine }
            }
            (Event::Recovered(_), None) => Fault::NoTornLine,
            _ => return Ok(None),
        };
        Ok(Some(BadRecord { line: self.lines, seq: record.seq, fault }))
    }

    /// The first of the lines that cannot be read: the torn one, or the one just met.
    fn unreadable(&self, why: String) -> BadRecord {
        let (line, why) = match &self.torn {
            Some(torn) => (torn.line, torn.why.clone()),
            None => (self.lines, why),
        };
        BadRecord { line, seq: self.head.seq + 1, fault: Fault::NotARecord(why) }
    }
}
