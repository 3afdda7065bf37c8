//! The end of the log: its last record, and what a crash may have left after it.
//!
//! Reads a bounded window from the end, never the whole log. It refuses an end that no crash
//! explains.

use super::lines::sha256_of;
use super::reading::{LineKind, read};
use super::{AuditError, Head, LINE_BYTES_MAX};
use cofferdam_core::audit::{Recovered, sha256_hex};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// More than this after the last record is no tear of a crash: several of the longest lines.
pub(super) const TEAR_BYTES_MAX: u64 = 5 * LINE_BYTES_MAX as u64;
/// How far back a record is looked for: a usual record, then longer ones, then what a crash may
/// leave.
const WINDOWS: [u64; 5] = [4096, 64 << 10, 512 << 10, LINE_BYTES_MAX as u64 + 1, TEAR_BYTES_MAX];

/// The end of the log, as it was at one length.
#[derive(Debug)]
pub(super) struct LogTail {
    /// The length of the file that this describes.
    pub(super) end: u64,
    /// The last record.
    pub(super) head: Head,
    /// What follows the last record.
    pub(super) rest: TailRest,
}

/// What follows the last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailRest {
    /// Its newline, and nothing more.
    Whole,
    /// Not even its newline: a crash cut exactly that, and nothing is lost.
    NoNewline,
    /// From here a torn line without a newline, or several after several crashes.
    Torn(u64),
    /// The same with its newline, written by a recovery that a crash cut off.
    TornLine(u64),
}

impl LogTail {
    /// The tail of a log that is `end` bytes long.
    pub(super) fn read(file: &File, end: u64) -> Result<Self, AuditError> {
        for window in WINDOWS {
            let start = end.saturating_sub(window);
            let size = usize::try_from(end - start).expect("a window fits into memory");
            let mut bytes = vec![0; size];
            file.read_exact_at(&mut bytes, start).map_err(AuditError::Read)?;
            if let Some(tail) = last_record(&bytes, start)? {
                return Ok(tail);
            }
            if start == 0 {
                return Ok(Self { end, head: Head::genesis(), rest: rest(&bytes, 0) });
            }
        }
        Err(AuditError::Unrecognizable)
    }

    /// What the next record must be preceded by: bytes that end the line, and a record of the
    /// recovery.
    pub(super) fn mend(&self, file: &File) -> Result<(&'static [u8], Option<Recovered>), AuditError> {
        let (newline, start, end): (&[u8], _, _) = match self.rest {
            TailRest::Whole => return Ok((b"", None)),
            TailRest::NoNewline => return Ok((b"\n", None)),
            TailRest::Torn(start) => (b"\n", start, self.end),
            TailRest::TornLine(start) => (b"", start, self.end - 1),
        };
        let recovered = Recovered { torn_bytes: end - start, torn_sha256: sha256_of(file, start, end)? };
        Ok((newline, Some(recovered)))
    }
}

/// The last record in `bytes`, which start at `offset` and reach the end of the log.
fn last_record(bytes: &[u8], offset: u64) -> Result<Option<LogTail>, AuditError> {
    let mut line_end = bytes.len() - usize::from(bytes.ends_with(b"\n"));
    loop {
        let newline = bytes[..line_end].iter().rposition(|b| *b == b'\n');
        let line_start = match newline {
            Some(at) => at + 1,
            None if offset == 0 => 0,
            None => return Ok(None),
        };
        let line = &bytes[line_start..line_end];
        match read(line) {
            LineKind::Record(record) => {
                let after = bytes.get(line_end + 1..).unwrap_or_default();
                let rest_offset = offset + line_end as u64 + 1;
                let unfinished = line_end == bytes.len();
                return Ok(Some(LogTail {
                    end: offset + bytes.len() as u64,
                    head: Head { seq: record.seq, sha256: sha256_hex(line) },
                    rest: if unfinished { TailRest::NoNewline } else { rest(after, rest_offset) },
                }));
            }
            LineKind::Foreign(why) => return Err(AuditError::Foreign(why)),
            LineKind::Torn(_) => match newline {
                Some(at) => line_end = at,
                None => return Ok(None),
            },
        }
    }
}

fn rest(after: &[u8], start: u64) -> TailRest {
    match after.last() {
        None => TailRest::Whole,
        Some(b'\n') => TailRest::TornLine(start),
        Some(_) => TailRest::Torn(start),
    }
}
