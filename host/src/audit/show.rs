//! Reading records back, the last ones or all, in the order they were written.
//!
//! It checks nothing but that a line is a record, and it hides nothing: what is none is an entry too.

use super::lines::{Line, Lines};
use super::reading::{Reading, read};
use super::{AuditError, open};
use cofferdam_core::audit::Record;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Which entries to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The last lines, at most this many.
    Last(u64),
    /// From the first line on.
    All,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A record.
    Record {
        /// What it says.
        record: Box<Record>,
        /// Its line, as it is in the file.
        line: String,
    },
    /// A line that is no record.
    Unreadable {
        /// Where it starts in the file.
        offset: u64,
        /// Its length.
        bytes: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// The entries of a log, newest last. One line is in memory at a time.
#[derive(Debug)]
pub struct Entries {
    lines: Lines<File>,
}

/// The entries of the log at `path`; of a log in use, those that are there now.
///
/// # Errors
/// When the file cannot be opened or read.
pub fn show(path: &Path, span: Span) -> Result<Entries, AuditError> {
    let file = open::for_reading(path)?;
    let end = open::settled_length(&file)?;
    let start = match span {
        Span::All => 0,
        Span::Last(count) => start_of_last(&file, end, count)?,
    };
    Ok(Entries { lines: Lines::new(file, start, end) })
}

impl Iterator for Entries {
    type Item = Result<Entry, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.lines.next().map(|line| line.map(entry)).transpose()
    }
}

fn entry(line: Line<'_>) -> Entry {
    match read(line.bytes) {
        // Lossless: what is not UTF-8 is no record.
        Reading::Record(record) => {
            Entry::Record { record, line: String::from_utf8_lossy(line.bytes).into_owned() }
        }
        Reading::Torn(why) | Reading::Foreign(why) => {
            Entry::Unreadable { offset: line.offset, bytes: line.len, why }
        }
    }
}

/// Where the last `count` lines start, found from the end.
fn start_of_last(file: &File, end: u64, count: u64) -> Result<u64, AuditError> {
    const CHUNK: u64 = 64 * 1024;
    if count == 0 {
        return Ok(end);
    }
    let mut left = count;
    // The newline at the very end is the last line's own.
    let mut upto = end.saturating_sub(1);
    while upto > 0 {
        let start = upto.saturating_sub(CHUNK);
        let mut chunk = vec![0; usize::try_from(upto - start).expect("a chunk fits into memory")];
        file.read_exact_at(&mut chunk, start).map_err(AuditError::Read)?;
        for (at, _) in chunk.iter().enumerate().rev().filter(|(_, b)| **b == b'\n') {
            left -= 1;
            if left == 0 {
                return Ok(start + at as u64 + 1);
            }
        }
        upto = start;
    }
    Ok(0)
}
