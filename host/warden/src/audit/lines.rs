//! The lines of a part of a file, one at a time, in bounded memory for any file.

use super::{AuditError, LINE_BYTES_MAX};
use sha2::{Digest, Sha256};
use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;

/// Read at once; most lines are shorter.
const BUFFER_BYTES: usize = 64 * 1024;

/// One line.
#[derive(Debug)]
pub(super) struct PositionedLine<'a> {
    /// Where it starts in the file.
    pub(super) offset: u64,
    /// Its length in bytes, without the newline.
    pub(super) len: u64,
    /// Its bytes without the newline; of a longer line only the first [`LINE_BYTES_MAX`] + 1.
    pub(super) bytes: &'a [u8],
    /// Whether a newline ends it.
    pub(super) end: LineEnd,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    Newline,
    EndOfFile,
}

/// Reads lines by position, so that several readers share one open file.
#[derive(Debug)]
pub(super) struct PositionedReader<F> {
    reader: BufReader<LinePart<F>>,
    offset: u64,
    line: Vec<u8>,
}

impl<F: Borrow<File>> PositionedReader<F> {
    /// The lines from `start`, which must be the start of one, to `end`.
    pub(super) fn new(file: F, start: u64, end: u64) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, LinePart { file, at: start, end });
        Self { reader, offset: start, line: Vec::new() }
    }

    /// The next line, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<PositionedLine<'_>>, AuditError> {
        self.line.clear();
        let mut rest = (&mut self.reader).take(LINE_BYTES_MAX as u64 + 1);
        let mut read = rest.read_until(b'\n', &mut self.line).map_err(AuditError::Read)? as u64;
        let mut end = LineEnd::EndOfFile;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            end = LineEnd::Newline;
        } else if read > LINE_BYTES_MAX as u64 {
            let (skipped, found) = skip_line(&mut self.reader).map_err(AuditError::Read)?;
            (read, end) = (read + skipped, found);
        }
        if read == 0 {
            return Ok(None);
        }
        let offset = self.offset;
        self.offset += read;
        let len = if end == LineEnd::Newline { read - 1 } else { read };
        Ok(Some(PositionedLine { offset, len, bytes: &self.line, end }))
    }
}

/// SHA-256 of the bytes from `start` to `end`, lower-case hex.
pub(super) fn sha256_of(file: &File, start: u64, end: u64) -> Result<String, AuditError> {
    let mut part = LinePart { file, at: start, end };
    let mut hasher = Sha256::new();
    io::copy(&mut part, &mut hasher).map_err(AuditError::Read)?;
    Ok(hex::encode(hasher.finalize()))
}

/// Passes over the rest of an overlong line: its length with the newline, and what ended it.
fn skip_line(reader: &mut impl BufRead) -> io::Result<(u64, LineEnd)> {
    let mut skipped = 0;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok((skipped, LineEnd::EndOfFile));
        }
        let newline = chunk.iter().position(|b| *b == b'\n');
        let used = newline.map_or(chunk.len(), |at| at + 1);
        reader.consume(used);
        skipped += used as u64;
        if newline.is_some() {
            return Ok((skipped, LineEnd::Newline));
        }
    }
}

#[derive(Debug)]
struct LinePart<F> {
    file: F,
    at: u64,
    end: u64,
}

impl<F: Borrow<File>> Read for LinePart<F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = left.min(buf.len());
        let read = self.file.borrow().read_at(&mut buf[..wanted], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
