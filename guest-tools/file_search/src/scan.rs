//! What of one file matches, by ripgrep's own libraries: they tell its lines apart and count them,
//! holding a bounded stretch of it. They are given the bytes as they are, though a byte order
//! mark says, and what they find is kept until it is enough.

use std::collections::VecDeque;
use std::io::{self, Read};

use cofferdam_sdk::walk::Problem;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use crate::excerpt::{self, Match};

/// Bytes read at first: most files are shorter.
const FIRST_BYTES: u64 = 64 << 10;
/// A zero byte among so many at the beginning makes a file binary.
const HEAD_BYTES: usize = 8 << 10;
/// What is held of a file: a line, and the lines before it that are shown with it.
const HELD_BYTES_MAX: usize = 8 << 20;

/// Bytes of a file from an offset on, and whether it ended there.
pub(crate) type ReadAt<'a> = &'a mut dyn FnMut(u64, u64) -> io::Result<(Vec<u8>, bool)>;

/// How the search of a file ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// At its end.
    Whole,
    /// It is no text.
    Binary,
    /// Enough was done for one call: lines up to this one are answered.
    Stopped { line: u64 },
}

/// What one call may still do and answer with.
pub(crate) struct Left {
    /// Matches.
    pub(crate) matches: usize,
    /// Bytes of the answer.
    pub(crate) answer_bytes: usize,
    /// Bytes searched.
    pub(crate) bytes: u64,
}

/// What one call searches with, and what it has found.
pub(crate) struct Scanner {
    pattern: RegexMatcher,
    searcher: Searcher,
    left: Left,
    pub(crate) files: usize,
    pub(crate) matches: Vec<Match>,
}

impl Scanner {
    /// A search that shows `context` lines before and after each match.
    pub(crate) fn new(pattern: RegexMatcher, context: usize, left: Left) -> Self {
        let searcher = SearcherBuilder::new()
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(HELD_BYTES_MAX))
            .bom_sniffing(false)
            .build();
        Self { pattern, searcher, left, files: 0, matches: Vec::new() }
    }

    /// Whether this call has done its share.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.bytes == 0 || self.left.is_answered()
    }

    /// Searches the file at `path`, where lines up to `after` were answered before.
    pub(crate) fn scan(&mut self, path: &str, read_at: ReadAt<'_>, after: u64) -> Result<Ended, Problem> {
        let (first, ended) = read_at(0, FIRST_BYTES).map_err(|error| Problem::of(&error))?;
        if first[..first.len().min(HEAD_BYTES)].contains(&0) {
            return Ok(Ended::Binary);
        }
        self.files += 1;
        let left = self.left.bytes.saturating_sub(first.len() as u64);
        let mut rest = Rest { read_at, at: first.len() as u64, ended, left, problem: None };
        let mut lines = Lines {
            pattern: &self.pattern,
            path,
            after,
            context: self.searcher.after_context() as u64,
            left: &mut self.left,
            earlier: self.matches.len(),
            matches: &mut self.matches,
            before: VecDeque::new(),
        };
        let searched = match ended {
            true => self.searcher.search_slice(&self.pattern, &first, &mut lines),
            false => {
                self.searcher.search_reader(&self.pattern, first.as_slice().chain(&mut rest), &mut lines)
            }
        };
        let line = lines.last().map_or(after, |last| last.line);
        self.left.bytes = rest.left;
        match (searched, rest.problem) {
            _ if self.left.is_answered() => Ok(Ended::Stopped { line }),
            // The one who begins with this file next time gets further.
            (Err(_), Some(Problem::TooLong)) if self.files > 1 => Ok(Ended::Stopped { line }),
            (Err(_), problem) => Err(problem.unwrap_or(Problem::LongLine)),
            (Ok(()), _) => Ok(Ended::Whole),
        }
    }
}

impl Left {
    fn is_answered(&self) -> bool {
        self.matches == 0 || self.answer_bytes == 0
    }
}

/// A file after its first bytes.
struct Rest<'a> {
    read_at: ReadAt<'a>,
    at: u64,
    ended: bool,
    left: u64,
    /// Why it could not be read any further.
    problem: Option<Problem>,
}

impl Read for Rest<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        if self.left == 0 {
            self.problem = Some(Problem::TooLong);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let read = (self.read_at)(self.at, buffer.len() as u64);
        let (bytes, ended) = read.inspect_err(|error| self.problem = Some(Problem::of(error)))?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.at += bytes.len() as u64;
        self.left = self.left.saturating_sub(bytes.len() as u64);
        self.ended = ended;
        Ok(bytes.len())
    }
}

/// What becomes of the lines that the library finds in one file.
struct Lines<'a> {
    pattern: &'a RegexMatcher,
    path: &'a str,
    after: u64,
    context: u64,
    left: &'a mut Left,
    /// Matches of the files before this one.
    earlier: usize,
    matches: &'a mut Vec<Match>,
    /// The last lines, with their numbers.
    before: VecDeque<(u64, String)>,
}

impl Lines<'_> {
    /// The last match in this file.
    fn last(&self) -> Option<&Match> {
        self.matches[self.earlier..].last()
    }

    /// Shows a line with the matches before it, and remembers it for those after it.
    fn show(&mut self, number: u64, line: &[u8]) {
        if self.context == 0 {
            return;
        }
        let shown = excerpt::beginning(line);
        let near = |found: &&mut Match| found.line + self.context >= number;
        for found in self.matches[self.earlier..].iter_mut().rev().take_while(near) {
            self.left.answer_bytes = self.left.answer_bytes.saturating_sub(shown.len());
            found.after.push(shown.clone());
        }
        self.before.push_back((number, shown));
        if self.before.len() as u64 > self.context + 1 {
            self.before.pop_front();
        }
    }

    /// Adds a line to the answer if it matches without its end.
    fn add(&mut self, number: u64, line: &[u8]) {
        let Ok(Some(found)) = self.pattern.find(line) else { return };
        let mut new = excerpt::of(self.path, number, line, found.start()..found.end());
        let near = |(line, _): &&(u64, String)| *line < number && line + self.context >= number;
        new.before = self.before.iter().filter(near).map(|(_, shown)| shown.clone()).collect();
        self.left.answer_bytes = self.left.answer_bytes.saturating_sub(new.bytes());
        self.left.matches -= 1;
        self.matches.push(new);
    }

    /// Whether it is worth going on after this line.
    fn wants_more(&self, number: u64) -> bool {
        !self.left.is_answered() || self.last().is_some_and(|last| number < last.line + self.context)
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let (number, line) = (found.line_number().unwrap_or_default(), without_end(found.bytes()));
        self.show(number, line);
        if number > self.after && !self.left.is_answered() {
            self.add(number, line);
        }
        Ok(self.wants_more(number))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or_default();
        self.show(number, without_end(found.bytes()));
        Ok(self.wants_more(number))
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests;
