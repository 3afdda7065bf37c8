//! A text under edit: the bytes as they were, as they are, and which stretches of the one became which of
//! the other. It reads no file, and an edit that cannot be made leaves everything as it is.

mod merge;

use std::ops::Range;

use memchr::memmem;

use merge::Merge;

/// Largest file that is edited, before and after, in bytes: three of them fit the memory of a call.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 20;

/// Occurrences counted for a refusal; beyond, it says "more than".
pub(crate) const COUNTED_MAX: usize = 1000;

/// A stretch of the original that became a stretch of the current text; what lies between two changes is
/// the same in both, and holds a line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Which occurrences an edit replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occurrences {
    /// The only one; several are refused.
    One,
    /// All, from the beginning; one that overlaps the one before it stays.
    All,
}

impl From<bool> for Occurrences {
    fn from(all: bool) -> Self {
        if all { Self::All } else { Self::One }
    }
}

/// Why an edit cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The text is not there.
    Absent,
    /// It is there several times, overlapping ones counted, at these offsets of the current text: all, or
    /// the first `COUNTED_MAX` and one more.
    Several(Vec<usize>),
    /// The result would be this long.
    TooLong(u64),
}

/// A text under edit.
pub(crate) struct Text {
    original: Vec<u8>,
    /// Absent as long as it is the original.
    edited: Option<Vec<u8>>,
    changes: Vec<Change>,
}

impl Text {
    /// A text to which nothing was done.
    pub(crate) fn new(original: Vec<u8>) -> Self {
        Self { original, edited: None, changes: Vec::new() }
    }

    /// The text before all edits.
    pub(crate) fn original(&self) -> &[u8] {
        &self.original
    }

    /// The text after the edits made so far.
    pub(crate) fn current(&self) -> &[u8] {
        self.edited.as_deref().unwrap_or(&self.original)
    }

    /// What became of what, in order, without overlaps.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Replaces `old`, which is not empty, by `new`; returns how many occurrences.
    pub(crate) fn edit(&mut self, old: &[u8], new: &[u8], which: Occurrences) -> Result<usize, Why> {
        let finder = memmem::Finder::new(old);
        let count = match which {
            Occurrences::All => finder.find_iter(self.current()).count(),
            Occurrences::One => only(self.current(), &finder)?,
        };
        if count == 0 {
            return Err(Why::Absent);
        }
        let length =
            self.current().len() as u64 - (count * old.len()) as u64 + count as u64 * new.len() as u64;
        if length > TEXT_BYTES_MAX as u64 {
            return Err(Why::TooLong(length));
        }
        self.replace(&finder, new, count, length as usize);
        Ok(count)
    }

    /// Replaces the first `count` occurrences, which makes a text of `length` bytes.
    fn replace(&mut self, finder: &memmem::Finder<'_>, new: &[u8], count: usize, length: usize) {
        let text = self.current();
        let mut edited = Vec::with_capacity(length);
        let mut merge = Merge::new(text, &self.changes);
        let mut copied = 0;
        for start in finder.find_iter(text).take(count) {
            let end = start + finder.needle().len();
            edited.extend_from_slice(&text[copied..start]);
            edited.extend_from_slice(new);
            merge.replaced(start..end, new.len());
            copied = end;
        }
        edited.extend_from_slice(&text[copied..]);
        self.changes = merge.finish();
        self.edited = Some(edited);
    }
}

/// 1, where there is exactly one occurrence; 0 where there is none.
fn only(text: &[u8], finder: &memmem::Finder<'_>) -> Result<usize, Why> {
    let mut found = occurrences(text, finder);
    match (found.next(), found.next()) {
        (None, _) => Ok(0),
        (Some(_), None) => Ok(1),
        (Some(first), Some(second)) => {
            Err(Why::Several([first, second].into_iter().chain(found).take(COUNTED_MAX + 1).collect()))
        }
    }
}

/// Where `finder` finds something, overlapping occurrences included: which of two is meant is as open
/// where they share bytes.
fn occurrences<'a>(text: &'a [u8], finder: &'a memmem::Finder<'_>) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + finder.find(text.get(from..)?)?;
        from = at + 1;
        Some(at)
    })
}

#[cfg(test)]
mod tests;
