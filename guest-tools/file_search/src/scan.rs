//! One file after another, read piece by piece: which of its lines match. A piece is searched as a whole and
//! lines are told apart only where something was found, so lines without a match cost next to nothing.

use std::borrow::Cow;
use std::io;
use std::ops::Range;

use cofferdam_sdk::walk::Problem;
use memchr::{memchr, memchr_iter, memrchr};

use crate::excerpt::{self, Match};
use crate::pattern::Pattern;

/// Bytes read at first: most files are shorter.
const FIRST_BYTES: u64 = 64 << 10;
/// Bytes read from then on.
const PIECE_BYTES: u64 = 256 << 10;
/// A zero byte among so many at the beginning makes a file binary.
const HEAD_BYTES: usize = 8 << 10;
/// A line longer than this is searched in parts.
const LINE_BYTES_MAX: usize = 1 << 20;
/// How much of a part is searched again with the next: a match of up to this length is not missed.
const OVERLAP_BYTES: usize = 4 << 10;
/// How far from a match its context is looked for.
const CONTEXT_BYTES: u64 = 16 << 10;

/// Bytes of a file from an offset on, and whether it ended there.
pub(crate) type ReadAt<'a> = &'a mut dyn FnMut(u64, u64) -> io::Result<(Vec<u8>, bool)>;

/// How the search of a file ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// At its end.
    Whole,
    /// It is no text.
    Binary,
    /// Enough was found: this line was the last one looked at.
    Stopped { line: u64 },
}

/// What one call searches with, and what it has found.
pub(crate) struct Scanner {
    pattern: Pattern,
    context: usize,
    limit: usize,
    answer_left: usize,
    bytes_max: u64,
    bytes_left: u64,
    pub(crate) files: usize,
    pub(crate) matches: Vec<Match>,
}

/// Where in a file a piece lies.
struct Place<'a> {
    path: &'a str,
    /// Lines up to this one were answered by an earlier call.
    after: u64,
    /// Offset of the piece in the file.
    offset: u64,
    /// The line that the piece begins in.
    line: u64,
    /// Characters of that line before the piece.
    chars_before: u64,
    /// Bytes at the beginning of the piece in which no match begins any more.
    lead: usize,
    /// Whether that line matched before the piece.
    answered: bool,
}

/// A line of a piece that matches.
struct Hit {
    /// Where it begins in the piece.
    start: usize,
    /// Where its line feed is, or would be.
    stop: usize,
    /// Where in the piece the match is.
    found: Range<usize>,
}

impl Scanner {
    pub(crate) fn new(
        pattern: Pattern,
        context: usize,
        limit: usize,
        answer_bytes: usize,
        bytes: u64,
    ) -> Self {
        let (answer_left, bytes_left) = (answer_bytes, bytes);
        let (files, matches) = (0, Vec::new());
        Self { pattern, context, limit, answer_left, bytes_max: bytes, bytes_left, files, matches }
    }

    /// Whether this call has done its share.
    pub(crate) fn is_spent(&self) -> bool {
        self.bytes_left == 0 || self.answer_left == 0 || self.matches.len() >= self.limit
    }

    /// Searches the file at `path`, where lines up to `after` were answered before.
    pub(crate) fn scan(&mut self, path: &str, read_at: ReadAt<'_>, after: u64) -> Result<Ended, Problem> {
        let failed = |error: io::Error| Problem::of(&error);
        let begun = self.bytes_left;
        let (mut text, mut ended) = read_at(0, FIRST_BYTES).map_err(failed)?;
        ended |= text.is_empty();
        if memchr(0, &text[..text.len().min(HEAD_BYTES)]).is_some() {
            return Ok(Ended::Binary);
        }
        self.files += 1;
        let mut place = Place { path, after, offset: 0, line: 1, chars_before: 0, lead: 0, answered: false };
        let mut read = text.len() as u64;
        self.bytes_left = self.bytes_left.saturating_sub(read);
        // What is left of the piece before has no line feed.
        let mut new = 0;
        loop {
            let last = || memrchr(b'\n', &text[new..]).map(|last| new + last + 1);
            let whole = if ended { Some(text.len()) } else { last() };
            let stopped = match whole {
                Some(end) => self.lines(&mut place, &text, end, ended, read_at),
                None if text.len() >= LINE_BYTES_MAX => self.part(&mut place, &text, read_at),
                None => None,
            };
            if let Some(line) = stopped {
                return Ok(Ended::Stopped { line });
            }
            if ended {
                return Ok(Ended::Whole);
            }
            if self.bytes_left == 0 {
                // Whoever begins with this file next time gets further, unless this was already so.
                let first = begun == self.bytes_max;
                return if first {
                    Err(Problem::TooLong)
                } else {
                    Ok(Ended::Stopped { line: place.line - 1 })
                };
            }
            match whole {
                Some(end) => drop(text.drain(..end)),
                None if text.len() >= LINE_BYTES_MAX => place.keep_tail(&mut text),
                None => {}
            }
            let (more, last) = read_at(read, PIECE_BYTES).map_err(failed)?;
            ended = last || more.is_empty();
            read += more.len() as u64;
            self.bytes_left = self.bytes_left.saturating_sub(more.len() as u64);
            new = text.len();
            text.extend(more);
        }
    }

    /// Searches the whole lines in `text[..end]`; the line to stop at, if there is one. The place moves on
    /// to what follows.
    fn lines(
        &mut self,
        place: &mut Place<'_>,
        text: &[u8],
        end: usize,
        ended: bool,
        read_at: ReadAt<'_>,
    ) -> Option<u64> {
        let (mut at, mut line, mut counted) = (place.lead, place.line, 0);
        if place.answered {
            at = memchr(b'\n', &text[..end]).map_or(end, |stop| stop + 1);
        }
        while let Some(hit) = self.next_line(&text[..end], at, place.lead) {
            line += memchr_iter(b'\n', &text[counted..hit.start]).count() as u64;
            counted = hit.start;
            at = hit.stop + 1;
            if line > place.after && self.add(place, line, text, hit, read_at) {
                return Some(line);
            }
        }
        // Nobody asks for the number of lines in what ends here.
        if !ended {
            line += memchr_iter(b'\n', &text[counted..end]).count() as u64;
        }
        *place = Place {
            line,
            offset: place.offset + end as u64,
            chars_before: 0,
            lead: 0,
            answered: false,
            ..*place
        };
        None
    }

    /// The next line from `at` on that matches.
    fn next_line(&self, text: &[u8], mut at: usize, lead: usize) -> Option<Hit> {
        while at < text.len() {
            let near = match self.pattern.spans_lines() {
                true => self.pattern.find_at(text, at)?.start,
                false => at,
            };
            // Nothing follows the last line's end.
            if near == text.len() && text.ends_with(b"\n") {
                return None;
            }
            let start = memrchr(b'\n', &text[..near]).map_or(0, |before| before + 1);
            let stop = memchr(b'\n', &text[near..]).map_or(text.len(), |length| near + length);
            // Alone, or a match could reach into the next line.
            let alone = &text[start..stop];
            let alone = alone.strip_suffix(b"\r").unwrap_or(alone);
            let from = lead.saturating_sub(start).min(alone.len());
            if let Some(found) = self.pattern.find_at(alone, from) {
                return Some(Hit { start, stop, found: start + found.start..start + found.end });
            }
            at = stop + 1;
        }
        None
    }

    /// Searches a part of a line that is too long to be held.
    fn part(&mut self, place: &mut Place<'_>, text: &[u8], read_at: ReadAt<'_>) -> Option<u64> {
        if place.answered || place.line <= place.after {
            return None;
        }
        let found = self.pattern.find_at(text, place.lead)?;
        place.answered = true;
        let line = place.line;
        let hit = Hit { start: 0, stop: text.len(), found };
        self.add(place, line, text, hit, read_at).then_some(line)
    }

    /// Adds a line to the answer; whether that is enough.
    fn add(&mut self, place: &Place<'_>, line: u64, text: &[u8], hit: Hit, read_at: ReadAt<'_>) -> bool {
        let Hit { start, stop, found } = hit;
        let content = &text[start..stop];
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        let before = if start == 0 { place.chars_before } else { 0 };
        let column = before + excerpt::chars(&text[start..found.start]) + 1;
        let (matched, shown, cut) = excerpt::around(content, found.start - start..found.end - start);
        let mut new = Match {
            path: place.path.to_owned(),
            line,
            column,
            found: matched,
            text: shown,
            cut: cut || (start == 0 && place.chars_before > 0),
            before: Vec::new(),
            after: Vec::new(),
        };
        if self.context > 0 {
            let mut piece = Piece { text, offset: place.offset, read_at };
            // Of a line that is answered in parts neither end is known.
            if start > 0 || place.chars_before == 0 {
                new.before = piece.before(place.offset + start as u64, self.context);
            }
            if text.get(stop) == Some(&b'\n') {
                new.after = piece.after(place.offset + stop as u64 + 1, self.context);
            }
        }
        self.answer_left = self.answer_left.saturating_sub(new.bytes());
        self.matches.push(new);
        self.is_spent()
    }
}

impl Place<'_> {
    /// Lets go of a part of a long line but for what the next part may need.
    fn keep_tail(&mut self, text: &mut Vec<u8>) {
        // One byte more than may match: whether it begins a line or a word is seen from the byte before.
        let gone = text.len() - (OVERLAP_BYTES + 1);
        self.chars_before += excerpt::chars(&text[..gone]);
        self.offset += gone as u64;
        self.lead = 1;
        text.drain(..gone);
    }
}

/// A piece of a file, and how to get more of it.
struct Piece<'a> {
    text: &'a [u8],
    offset: u64,
    read_at: ReadAt<'a>,
}

impl Piece<'_> {
    /// The last lines that end before `at`.
    fn before(&mut self, at: u64, count: usize) -> Vec<String> {
        let from = at.saturating_sub(CONTEXT_BYTES);
        let bytes = self.bytes(from, at);
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if at == 0 {
            return Vec::new();
        }
        let mut lines: Vec<_> = bytes.rsplit(|byte| *byte == b'\n').take(count + 1).collect();
        // The first one here began earlier, unless the file did.
        if from > 0 && lines.len() <= count || lines.len() > count {
            lines.pop();
        }
        lines.into_iter().rev().map(excerpt::beginning).collect()
    }

    /// The first lines from `at` on.
    fn after(&mut self, at: u64, count: usize) -> Vec<String> {
        let bytes = self.bytes(at, at + CONTEXT_BYTES);
        if bytes.is_empty() {
            return Vec::new();
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        bytes.split(|byte| *byte == b'\n').take(count).map(excerpt::beginning).collect()
    }

    /// Bytes of the file; fewer at its end, and none where it cannot be read any more.
    fn bytes(&mut self, from: u64, to: u64) -> Cow<'_, [u8]> {
        let inside = |at: u64| usize::try_from(at.checked_sub(self.offset)?).ok();
        match (inside(from), inside(to)) {
            (Some(from), Some(to)) if to <= self.text.len() => Cow::Borrowed(&self.text[from..to]),
            _ => Cow::Owned((self.read_at)(from, to - from).map(|(bytes, _)| bytes).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests;
