//! Following the chain from record to record, and saying what is wrong with the first that breaks
//! it.
//!
//! Pure but for one thing: the bytes of a torn line are read again to be hashed. It refuses to
//! repair, skip or guess.

use super::files::LogSelection;
use super::lines::{LineEnd, PositionedLine, sha256_of};
use super::reading::{LineKind, VERSION, read};
use super::tail::TEAR_BYTES_MAX;
use super::{AuditError, Head};
use cofferdam_core::audit::{AuditEvent, Record, sha256_hex};
use std::fs::File;
use std::ops::ControlFlow::{self, Break, Continue};

/// The first record that is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// Its line, from 1.
    pub line: u64,
    /// Its `seq`: its own, or what it must have been if it cannot be read.
    pub seq: u64,
    /// What is wrong.
    pub fault: RecordFault,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
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
    /// The record after it, at this line, was chained to something else.
    #[error("the record at line {0} holds another hash of it: one of the two was changed")]
    Changed(u64),
    /// A `recovered` record describes other bytes than the torn ones before it.
    #[error("it recovers from a torn line that is not the one before it")]
    OtherTornLine,
    /// A `recovered` record without a torn line before it.
    #[error("it recovers from a torn line, and there is none before it")]
    NoTornLine,
    /// Records are missing between the end of this file and the next one.
    #[error(
        "records {expected} to {last} are missing before the next file begins: the end of this one was cut, or \
             a file between the two is gone"
    )]
    MissingAfter {
        /// The first that is missing.
        expected: u64,
        /// The last that is missing.
        last: u64,
    },
    /// The first record of the next file was chained to something else.
    #[error("the first record of the next file holds another hash of it: one of the two was changed")]
    ChangedBeforeNext,
    /// A file that was rotated away does not end with a whole line, as it did.
    #[error("the file does not end with a whole line, as every rotated file does: its end was cut")]
    CutFile,
    /// A file that was rotated away holds no record.
    #[error("the file holds no record, and every rotated file does: it was emptied")]
    NoRecord,
    /// The last file has bytes and no record.
    #[error(
        "the file has {bytes} bytes and no record ({why}): either a crash tore the first one, and the next call \
             records that and goes on, or the file was replaced"
    )]
    NothingButTorn {
        /// How many bytes.
        bytes: u64,
        /// Why they are no record.
        why: String,
    },
    /// So many bytes after the last record are more than a crash leaves.
    #[error(
        "it is not a record, and neither is anything in the {0} bytes from here: no crash leaves that much"
    )]
    TooMuchTorn(u64),
    /// The record differs from this head, which somebody keeps.
    #[error("it is not the record of {0}: the log was rewritten")]
    OtherHead(String),
    /// The chain ends before this head, named with its position, which somebody keeps.
    #[error("it is missing, and so is all up to {0}: the tail was cut")]
    CutTail(String),
}

/// A bad record and the file it is in, counted from 0.
#[derive(Debug)]
pub(super) struct BrokenRecord {
    pub(super) file: usize,
    pub(super) record: BadRecord,
}

/// Lines since the last record that are not complete JSON.
#[derive(Clone, Debug)]
pub(super) struct TornLines {
    pub(super) line: u64,
    pub(super) start: u64,
    pub(super) why: String,
    /// Whether the first of them begins as the next record would.
    begun: bool,
}

/// How far the chain was followed.
#[derive(Debug)]
pub(super) struct Chain {
    /// The last record.
    pub(super) head: Head,
    /// Torn lines after it.
    pub(super) torn: Option<TornLines>,
    /// What the first record continues, where that is not the beginning of a log.
    pub(super) continues: Option<Head>,
    /// Whether the next record may be any: what came before it is not looked at.
    begins_anywhere: bool,
    head_file: usize,
    head_line: u64,
    file: usize,
    lines: u64,
}

impl Chain {
    /// The chain before its first record, which is that of the log, or any of files alone.
    pub(super) fn new(source: LogSelection<'_>) -> Self {
        let begins_anywhere = matches!(source, LogSelection::Files(_));
        let (head, torn, continues) = (Head::genesis(), None, None);
        Self { head, torn, continues, begins_anywhere, head_file: 0, head_line: 0, file: 0, lines: 0 }
    }

    /// The next record; none where a crash may have torn the line, which what follows decides.
    /// Breaks where the chain does.
    pub(super) fn follow(
        &mut self,
        line: &PositionedLine<'_>,
        file: &File,
    ) -> Result<ControlFlow<BrokenRecord, Option<Box<Record>>>, AuditError> {
        self.lines += 1;
        let record = match read(line.bytes) {
            LineKind::Record(record) => record,
            LineKind::Foreign(why) => return Ok(Break(self.unreadable(why))),
            LineKind::Torn(why) => {
                let (line_number, start) = (self.lines, line.offset);
                let begun = self.is_next_start(line.bytes);
                self.torn.get_or_insert(TornLines { line: line_number, start, why, begun });
                return Ok(Continue(None));
            }
        };
        self.begin_at(&record);
        if let Some(bad) = self.find_misplaced(&record) {
            return Ok(Break(bad));
        }
        if let Some(bad) = self.find_misrecovered(&record, line, file)? {
            return Ok(Break(bad));
        }
        self.head = Head { seq: record.seq, sha256: sha256_hex(line.bytes) };
        (self.head_file, self.head_line) = (self.file, self.lines);
        self.torn = None;
        Ok(Continue(Some(record)))
    }

    /// What is bad about the end of a file that was rotated away: it was whole when that happened.
    pub(super) fn close_rotated(&self, end: LineEnd) -> Option<BrokenRecord> {
        let fault = match (&self.torn, end) {
            (Some(torn), LineEnd::Newline) => return Some(self.unreadable(torn.why.clone())),
            (_, LineEnd::EndOfFile) => RecordFault::CutFile,
            (None, LineEnd::Newline) if self.head_file != self.file || self.head_line == 0 => {
                RecordFault::NoRecord
            }
            (None, LineEnd::Newline) => return None,
        };
        let (line, torn) = (self.lines.max(1), self.torn.is_some());
        let seq = if torn || self.head_line != self.lines { self.head.seq + 1 } else { self.head.seq };
        Some(self.broken_record(line, seq, fault))
    }

    /// Whether a line that is no record begins as the next one would, as far as it goes.
    fn is_next_start(&self, line: &[u8]) -> bool {
        let record = format!("{{\"v\":{VERSION},\"seq\":{},", self.head.seq + 1);
        let length = line.len().min(record.len());
        line[..length] == record.as_bytes()[..length]
    }

    /// What is bad about the end of the last file, of this length: a crash tears one record, after
    /// others.
    pub(super) fn close_last(&self, end: LineEnd, length: u64) -> Option<BrokenRecord> {
        let torn = self.torn.as_ref()?;
        if end == LineEnd::Newline {
            // It was written whole; only a later recovery may explain it.
            return Some(self.unreadable(torn.why.clone()));
        }
        let bytes = length - torn.start;
        let no_record = self.head_file != self.file || self.head_line == 0;
        // Right after a rotation a crash tears the first record of a file.
        let after_others = self.head_line > 0 && torn.begun;
        let fault = if no_record && !after_others {
            RecordFault::NothingButTorn { bytes, why: torn.why.clone() }
        } else if bytes > TEAR_BYTES_MAX {
            RecordFault::TooMuchTorn(bytes)
        } else {
            return None;
        };
        Some(self.broken_record(torn.line, self.head.seq + 1, fault))
    }

    /// Goes on with the first line of the next file.
    pub(super) fn next_file(&mut self) {
        (self.file, self.lines) = (self.file + 1, 0);
    }

    /// The first record that is missing before a head that something says there was.
    pub(super) fn cut(&self, fault: RecordFault) -> BrokenRecord {
        let line = self.torn.as_ref().map_or(self.lines + 1, |torn| torn.line);
        self.broken_record(line, self.head.seq + 1, fault)
    }

    /// A fault of the record that was just followed.
    pub(super) fn current_fault(&self, fault: RecordFault) -> BrokenRecord {
        let record = BadRecord { line: self.head_line, seq: self.head.seq, fault };
        BrokenRecord { file: self.head_file, record }
    }

    fn broken_record(&self, line: u64, seq: u64, fault: RecordFault) -> BrokenRecord {
        BrokenRecord { file: self.file, record: BadRecord { line, seq, fault } }
    }

    fn begin_at(&mut self, record: &Record) {
        if std::mem::take(&mut self.begins_anywhere) && record.seq > 1 {
            self.head = Head { seq: record.seq - 1, sha256: record.prev.clone() };
            self.continues = Some(self.head.clone());
        }
    }

    fn find_misplaced(&self, record: &Record) -> Option<BrokenRecord> {
        let (expected, found) = (self.head.seq + 1, record.seq);
        let explains = matches!(record.event, AuditEvent::Recovered(_)) && found == expected;
        if let (Some(torn), false) = (&self.torn, explains) {
            return Some(self.unreadable(torn.why.clone()));
        }
        // Whether the record before it, if there is one, is the last of another file.
        let across = self.head_file != self.file && self.head_line > 0;
        if found > expected && across {
            let fault = RecordFault::MissingAfter { expected, last: found - 1 };
            let record = BadRecord { line: self.head_line + 1, seq: expected, fault };
            return Some(BrokenRecord { file: self.head_file, record });
        }
        if found != expected {
            let fault = RecordFault::WrongSeq { expected, found };
            return Some(self.broken_record(self.lines, found, fault));
        }
        if record.prev == self.head.sha256 {
            return None;
        }
        if self.head.seq == 0 {
            return Some(self.broken_record(self.lines, found, RecordFault::WrongStart));
        }
        let fault = if across { RecordFault::ChangedBeforeNext } else { RecordFault::Changed(self.lines) };
        Some(self.current_fault(fault))
    }

    fn find_misrecovered(
        &self,
        record: &Record,
        line: &PositionedLine<'_>,
        file: &File,
    ) -> Result<Option<BrokenRecord>, AuditError> {
        let fault = match (&record.event, &self.torn) {
            (AuditEvent::Recovered(found), Some(torn)) => {
                // Without the newline before this line: it belongs to the recovery.
                let end = line.offset - 1;
                let same = found.torn_bytes == end - torn.start
                    && found.torn_sha256 == sha256_of(file, torn.start, end)?;
                if same { return Ok(None) } else { RecordFault::OtherTornLine }
            }
            (AuditEvent::Recovered(_), None) => RecordFault::NoTornLine,
            _ => return Ok(None),
        };
        Ok(Some(self.broken_record(self.lines, record.seq, fault)))
    }

    /// The first of the lines that cannot be read: the torn one, or the one just met.
    fn unreadable(&self, why: String) -> BrokenRecord {
        let (line, why) = match &self.torn {
            Some(torn) => (torn.line, torn.why.clone()),
            None => (self.lines, why),
        };
        self.broken_record(line, self.head.seq + 1, RecordFault::NotARecord(why))
    }
}
