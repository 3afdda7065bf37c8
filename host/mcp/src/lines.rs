//! Lines of a stream, bounded: one that is too long is told of and forgotten, not held.

use std::io::{self, BufRead, ErrorKind};

/// The longest line that is taken. It holds 3 MiB of bytes as base64 in JSON several times over.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// A line that needed more room gives it back afterwards.
const KEPT_BYTES: usize = 64 << 10;

/// What a stream comes to next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputLine {
    /// A whole line, without its end.
    Whole(Vec<u8>),
    /// It was longer than a line may be. Its rest is skipped before the next one.
    TooLong,
}

/// Finds the lines of a stream, and keeps what has come of the next one.
pub(crate) struct LineReader {
    line: Vec<u8>,
    max: usize,
    skipping: bool,
}

impl LineReader {
    pub(crate) fn new(max: usize) -> Self {
        Self { line: Vec::new(), max, skipping: false }
    }

    /// The next line; `None` at the end of the stream. What has no end of line is none: its writer
    /// was cut off.
    ///
    /// # Errors
    /// What the stream says; after `WouldBlock` it can go on.
    pub(crate) fn next(&mut self, source: &mut impl BufRead) -> io::Result<Option<InputLine>> {
        loop {
            let available = match source.fill_buf() {
                Ok([]) => return Ok(None),
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = &available[..end.unwrap_or(available.len())];
            let used = taken.len() + usize::from(end.is_some());
            let too_long = !self.skipping && self.line.len() + taken.len() > self.max;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(taken);
            }
            source.consume(used);
            if too_long {
                self.line = Vec::new();
                self.skipping = end.is_none();
                return Ok(Some(InputLine::TooLong));
            }
            if end.is_some() && !std::mem::take(&mut self.skipping) {
                return Ok(Some(InputLine::Whole(self.take_line())));
            }
        }
    }

    fn take_line(&mut self) -> Vec<u8> {
        let mut line = std::mem::replace(&mut self.line, Vec::with_capacity(KEPT_BYTES.min(self.max)));
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn check(stream: &[u8], expected: &[Option<&str>]) {
        // However the stream is cut into pieces.
        for piece in 1..=stream.len().max(1) {
            let mut lines = LineReader::new(4);
            let mut stream = BufReader::with_capacity(piece, stream);
            let mut found = Vec::new();
            while let Some(line) = lines.next(&mut stream).expect("read") {
                found.push(match line {
                    InputLine::Whole(line) => Some(String::from_utf8(line).expect("text")),
                    InputLine::TooLong => None,
                });
            }
            let found: Vec<_> = found.iter().map(Option::as_deref).collect();
            assert_eq!(found, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn lines_are_told_from_what_is_too_long_for_one() {
        check(b"", &[]);
        check(b"ab\ncd\r\n\n1234\n", &[Some("ab"), Some("cd"), Some(""), Some("1234")]);
        check(b"12345\nab\n", &[None, Some("ab")]);
        check(b"123456789123456789\r\n\nab\n", &[None, Some(""), Some("ab")]);
        check(b"ab\ncut off", &[Some("ab"), None]);
        check(b"ab\ncut", &[Some("ab")]);
    }
}
