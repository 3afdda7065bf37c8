//! The changes of a text with one more edit on top: earlier changes and new replacements, both in the
//! offsets of the text between them, become changes from the original to the result, in one pass.

use std::ops::Range;

use super::Change;

/// Changes kept apart; beyond, the last takes in everything up to the end of the later ones. That makes a
/// diff longer, never wrong, and by then it is cut.
const CHANGES_MAX: usize = 65_536;

/// The merge under way.
pub(super) struct Merge<'a> {
    /// The text between: after the earlier changes, before this edit.
    text: &'a [u8],
    earlier: &'a [Change],
    merged: Vec<Change>,
    open: Option<Group>,
    /// What to add to an offset of the text for the original's, after all earlier changes seen.
    to_old: isize,
    /// What to add to it for the result's, after all replacements seen.
    to_new: isize,
}

/// Earlier changes and replacements that touch, or share a line.
struct Group {
    /// In the text between.
    range: Range<usize>,
    old_start: usize,
    new_start: usize,
}

impl<'a> Merge<'a> {
    pub(super) fn new(text: &'a [u8], earlier: &'a [Change]) -> Self {
        Self { text, earlier, merged: Vec::new(), open: None, to_old: 0, to_new: 0 }
    }

    /// The edit puts `new_len` bytes in the place of `range`. Ranges come in order and do not overlap.
    pub(super) fn replaced(&mut self, range: Range<usize>, new_len: usize) {
        while let Some(change) = self.next_earlier(|change| change.new.start <= range.start) {
            self.take_in(&change.new);
            self.to_old = change.old.end as isize - change.new.end as isize;
        }
        self.take_in(&range);
        self.to_new += new_len as isize - range.len() as isize;
    }

    /// The changes from the original to the result.
    pub(super) fn finish(mut self) -> Vec<Change> {
        while let Some(change) = self.next_earlier(|_| true) {
            self.take_in(&change.new);
            self.to_old = change.old.end as isize - change.new.end as isize;
        }
        self.close();
        self.merged
    }

    fn next_earlier(&mut self, wanted: impl FnOnce(&Change) -> bool) -> Option<&'a Change> {
        let (first, rest) = self.earlier.split_first()?;
        if !wanted(first) {
            return None;
        }
        self.earlier = rest;
        Some(first)
    }

    /// Adds a stretch to the open group, or closes that and opens one. Offsets are moved by the caller
    /// afterwards: they hold for what lies before the stretch.
    fn take_in(&mut self, range: &Range<usize>) {
        if let Some(open) = &mut self.open {
            let apart = open.range.end < range.start
                && memchr::memchr(b'\n', &self.text[open.range.end..range.start]).is_some();
            if !apart {
                open.range.end = open.range.end.max(range.end);
                return;
            }
            self.close();
        }
        let (old_start, new_start) = (self.in_old(range.start), self.in_new(range.start));
        self.open = Some(Group { range: range.clone(), old_start, new_start });
    }

    fn close(&mut self) {
        let Some(Group { range, old_start, new_start }) = self.open.take() else { return };
        let (old_end, new_end) = (self.in_old(range.end), self.in_new(range.end));
        let full = self.merged.len() >= CHANGES_MAX;
        match self.merged.last_mut() {
            Some(last) if full => {
                last.old.end = old_end;
                last.new.end = new_end;
            }
            _ => self.merged.push(Change { old: old_start..old_end, new: new_start..new_end }),
        }
    }

    fn in_old(&self, offset: usize) -> usize {
        offset.strict_add_signed(self.to_old)
    }

    fn in_new(&self, offset: usize) -> usize {
        offset.strict_add_signed(self.to_new)
    }
}
