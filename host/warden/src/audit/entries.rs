//! Reading records back, the last ones or all, in the order they were written.
//!
//! It checks nothing but that a line is a record, and it hides nothing: what is none is an entry
//! too, or, where certain records are wanted, counted. Which ones, and how they look, is the
//! caller's.

use super::AuditError;
use super::files::{LogFile, LogFiles, LogSelection};
use super::lines::{PositionedLine, PositionedReader};
use super::reading::{LineKind, read};
use cofferdam_core::audit::Record;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Which entries to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryRange {
    /// The last ones, at most this many.
    Last(u64),
    /// From the first on.
    All,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEntry {
    /// A record.
    Record {
        /// What it says.
        record: Box<Record>,
        /// Its line, as it is in the file.
        line: String,
    },
    /// A line that is no record.
    Unreadable {
        /// The file it is in.
        file: PathBuf,
        /// Where it starts in the file.
        offset: u64,
        /// Its length.
        bytes: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// Whether a record is wanted.
pub type RecordFilter = Box<dyn Fn(&Record) -> bool>;

/// The entries of a log, newest last. One line is in memory at a time, for any selection.
pub struct Entries {
    files: LogFiles,
    wanted: Option<RecordFilter>,
    /// The file that is read.
    index: usize,
    lines: Option<PositionedReader<Arc<File>>>,
    /// How many wanted records of that file are passed over.
    skip: u64,
    unreadable: u64,
}

/// The wanted records of a log, from `span`; of a log in use, those that are there now.
///
/// Where nothing is wanted in particular, every line is an entry. The last ones are found from the
/// end: no more files are read than hold them.
///
/// # Errors
/// When a file cannot be opened or read.
pub fn read_entries(
    source: LogSelection<'_>,
    span: EntryRange,
    wanted: Option<RecordFilter>,
) -> Result<Entries, AuditError> {
    let files = LogFiles::select(source)?;
    let mut entries = Entries { files, wanted, index: 0, lines: None, skip: 0, unreadable: 0 };
    if let EntryRange::Last(count) = span {
        entries.seek_last(count)?;
    }
    Ok(entries)
}

impl Entries {
    /// How many lines were passed over so far that are no records; only where certain records are
    /// wanted.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    fn seek_last(&mut self, count: u64) -> Result<(), AuditError> {
        let mut left = count;
        self.index = self.files.len();
        while left > 0 && self.index > 0 {
            self.index -= 1;
            let part = self.files.open(self.index)?;
            if let Some(wanted) = &self.wanted {
                let found = count_wanted(&part, wanted)?;
                self.lines = Some(PositionedReader::new(part.file, 0, part.end));
                self.skip = found.saturating_sub(left);
                left = left.saturating_sub(found);
            } else {
                let (start, found) = start_of_last(&part.file, part.end, left)?;
                self.lines = Some(PositionedReader::new(part.file, start, part.end));
                left -= found;
            }
        }
        Ok(())
    }

    fn next_entry(&mut self) -> Result<Option<LogEntry>, AuditError> {
        while self.index < self.files.len() {
            let lines = match &mut self.lines {
                Some(lines) => lines,
                None => {
                    let part = self.files.open(self.index)?;
                    self.lines.insert(PositionedReader::new(part.file, 0, part.end))
                }
            };
            let Some(line) = lines.next()? else {
                (self.index, self.lines) = (self.index + 1, None);
                continue;
            };
            let Some(wanted) = &self.wanted else {
                return Ok(Some(entry(line, self.files.path(self.index))));
            };
            match parse_lenient(line.bytes) {
                None => self.unreadable += 1,
                Some(record) if !wanted(&record) => {}
                Some(_) if self.skip > 0 => self.skip -= 1,
                Some(_) => return Ok(Some(entry(line, self.files.path(self.index)))),
            }
        }
        Ok(None)
    }
}

impl Iterator for Entries {
    type Item = Result<LogEntry, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().transpose()
    }
}

/// How many records of a file are wanted.
fn count_wanted(part: &LogFile, wanted: &RecordFilter) -> Result<u64, AuditError> {
    let mut lines = part.lines(0);
    let mut found = 0;
    while let Some(line) = lines.next()? {
        found += u64::from(parse_lenient(line.bytes).is_some_and(|record| wanted(&record)));
    }
    Ok(found)
}

/// A record without the strict reading, which those that are wanted get when they are read.
fn parse_lenient(line: &[u8]) -> Option<Record> {
    serde_json::from_slice(line).ok()
}

fn entry(line: PositionedLine<'_>, file: &std::path::Path) -> LogEntry {
    match read(line.bytes) {
        // Lossless: what is not UTF-8 is no record.
        LineKind::Record(record) => {
            LogEntry::Record { record, line: String::from_utf8_lossy(line.bytes).into_owned() }
        }
        LineKind::Torn(why) | LineKind::Foreign(why) => {
            LogEntry::Unreadable { file: file.to_owned(), offset: line.offset, bytes: line.len, why }
        }
    }
}

/// Where the last `count` lines start, found from the end, and how many there are up to `count`.
fn start_of_last(file: &File, end: u64, count: u64) -> Result<(u64, u64), AuditError> {
    const CHUNK: u64 = 64 * 1024;
    let mut found = 0;
    // The newline at the very end is the last line's own.
    let mut upto = end.saturating_sub(1);
    while upto > 0 {
        let start = upto.saturating_sub(CHUNK);
        let mut chunk = vec![0; usize::try_from(upto - start).expect("a chunk fits into memory")];
        file.read_exact_at(&mut chunk, start).map_err(AuditError::Read)?;
        for (at, _) in chunk.iter().enumerate().rev().filter(|(_, b)| **b == b'\n') {
            found += 1;
            if found == count {
                return Ok((start + at as u64 + 1, found));
            }
        }
        upto = start;
    }
    // The first line has no newline before it.
    Ok((0, found + u64::from(end > 0)))
}
