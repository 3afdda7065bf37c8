//! Some lines of a file, found by counting from its beginning, piece by piece: lines near the end
//! of a huge file cost time and no memory, and one endless line costs no more than what is
//! answered.

use std::io;

use memchr::memchr_iter;

use crate::window::Window;

/// Bytes that are looked through at once.
const PIECE_BYTES: u64 = 256 << 10;

/// Which lines were found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The last one; one less than the first that was asked for, if there is none.
    pub(crate) to: u64,
    /// Whether only the beginning of it fits.
    pub(crate) cut: bool,
    /// How many lines the file has, if its end was seen.
    pub(crate) total: Option<u64>,
}

/// The lines `from` to `to` of a file of `size` bytes, as many whole ones as fit into `length`
/// bytes, or the beginning of one. A line ends with its line feed, which belongs to it.
pub(crate) fn read(
    read_at: impl Fn(u64, u64) -> io::Result<(Vec<u8>, bool)>,
    from: u64,
    to: u64,
    length: usize,
    size: u64,
) -> io::Result<(Window, Found)> {
    let mut scan =
        Scan { line: 1, from, to, start: None, bytes: Vec::new(), length, last_whole: None, open: false };
    let mut at = 0;
    let ended = loop {
        let (piece, ended) = read_at(at, PIECE_BYTES)?;
        let ended = ended || piece.is_empty();
        let done = scan.take(at, &piece);
        at += piece.len() as u64;
        if done || ended {
            break ended && !done;
        }
    };
    let total_bytes = if ended { at } else { size.max(at) };
    Ok(scan.finish(ended.then_some(at), total_bytes))
}

struct Scan {
    /// The line that the next byte belongs to.
    line: u64,
    from: u64,
    to: u64,
    /// Where the first line begins, once that was seen.
    start: Option<u64>,
    bytes: Vec<u8>,
    length: usize,
    /// The last line that is here as a whole, and how many bytes there are up to its end.
    last_whole: Option<(u64, usize)>,
    /// Whether the bytes so far end within a line.
    open: bool,
}

impl Scan {
    /// Looks through a piece that begins at `at`; whether enough was seen.
    fn take(&mut self, at: u64, piece: &[u8]) -> bool {
        let mut rest = piece;
        self.open = piece.last().map_or(self.open, |last| *last != b'\n');
        if self.line < self.from {
            let Some(skipped) = self.skip(piece) else { return false };
            rest = &piece[skipped..];
        }
        let skipped = (piece.len() - rest.len()) as u64;
        self.start.get_or_insert(at + skipped);
        let mut taken = 0;
        for end in memchr_iter(b'\n', rest) {
            let line = &rest[taken..=end];
            if !self.push(line) {
                return true;
            }
            taken = end + 1;
            self.last_whole = Some((self.line, self.bytes.len()));
            self.line += 1;
            if self.line > self.to {
                return true;
            }
        }
        !self.push(&rest[taken..])
    }

    /// How many bytes of a piece lie before the first line; none if all do.
    fn skip(&mut self, piece: &[u8]) -> Option<usize> {
        let missing = self.from - self.line;
        let ends = memchr_iter(b'\n', piece).count() as u64;
        if ends < missing {
            self.line += ends;
            return None;
        }
        self.line = self.from;
        let nth = usize::try_from(missing - 1).unwrap_or(usize::MAX);
        memchr_iter(b'\n', piece).nth(nth).map(|end| end + 1)
    }

    /// Adds what fits; whether all did.
    fn push(&mut self, bytes: &[u8]) -> bool {
        let fits = bytes.len().min(self.length - self.bytes.len());
        self.bytes.extend(&bytes[..fits]);
        fits == bytes.len()
    }

    fn finish(mut self, end: Option<u64>, total_bytes: u64) -> (Window, Found) {
        let (mut to, mut cut) = (self.from - 1, false);
        match (self.last_whole, end) {
            // The file ends without a line feed: what is left is a line.
            (whole, Some(_)) if self.bytes.len() > whole.map_or(0, |(_, bytes)| bytes) => to = self.line,
            (Some((line, bytes)), _) => {
                to = line;
                self.bytes.truncate(bytes);
            }
            (None, None) => {
                to = self.from;
                cut = true;
            }
            (None, Some(_)) => {}
        }
        // A last line without a line feed counts; the nothing after one does not.
        let total = end.map(|_| self.line - 1 + u64::from(self.open));
        let offset = self.start.unwrap_or(total_bytes);
        (Window { offset, bytes: self.bytes, total_bytes }, Found { to, cut, total })
    }
}

#[cfg(test)]
mod tests;
