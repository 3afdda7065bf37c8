//! A unified diff of a text under edit, computed from where it was edited: its cost is that of reading the
//! text once, however large. It is bounded, and says where it was cut.

mod blocks;
mod shown;

use memchr::{memchr, memchr_iter, memrchr};

use crate::text::{Change, Text};
use shown::Shown;

/// Unchanged lines shown before and after a change.
const CONTEXT: usize = 3;

/// What changed.
pub(crate) struct Diff {
    /// A unified diff, unless it is cut.
    pub(crate) text: String,
    /// Whether something is left out.
    pub(crate) truncated: bool,
}

/// What the edits changed, with the path as both names.
pub(crate) fn unified(path: &str, text: &Text) -> Diff {
    let (old, new) = (text.original(), text.current());
    let blocks = blocks::of(old, new, text.changes());
    let mut shown = Shown::new(path);
    let (mut old_lines, mut new_lines) = (Lines::default(), Lines::default());
    for hunk in blocks.chunk_by(|one, next| near(&old[one.old.end..next.old.start])) {
        if shown.is_full() {
            break;
        }
        let [Change { old: first_old, new: first_new }, ..] = hunk else { continue };
        let before = lines_before(&old[..first_old.start]);
        let last = &hunk[hunk.len() - 1];
        let after = lines_after(&old[last.old.end..]);
        let (old_range, new_range) =
            (first_old.start - before..last.old.end + after, first_new.start - before..last.new.end + after);
        shown.line(&format!(
            "@@ -{} +{} @@",
            position(old_lines.up_to(old, old_range.start), &old[old_range.clone()]),
            position(new_lines.up_to(new, new_range.start), &new[new_range]),
        ));
        let mut at = old_range.start;
        for block in hunk {
            shown.lines(' ', &old[at..block.old.start]);
            shown.lines('-', &old[block.old.clone()]);
            shown.lines('+', &new[block.new.clone()]);
            at = block.old.end;
        }
        shown.lines(' ', &old[at..old_range.end]);
    }
    shown.finish()
}

/// Whether so few lines lie between two changes that one hunk shows both.
fn near(between: &[u8]) -> bool {
    memchr_iter(b'\n', between).take(2 * CONTEXT + 1).count() <= 2 * CONTEXT
}

/// Length of the last lines of what comes before a change.
fn lines_before(text: &[u8]) -> usize {
    let mut start = text.len();
    for _ in 0..CONTEXT {
        let Some(line_end) = start.checked_sub(1) else { break };
        start = memrchr(b'\n', &text[..line_end]).map_or(0, |at| at + 1);
    }
    text.len() - start
}

/// Length of the first lines of what comes after a change.
fn lines_after(text: &[u8]) -> usize {
    let mut end = 0;
    for _ in 0..CONTEXT {
        end += memchr(b'\n', &text[end..]).map_or(text.len() - end, |at| at + 1);
    }
    end
}

/// Counts lines, each part of the text once.
#[derive(Default)]
struct Lines {
    offset: usize,
    lines: usize,
}

impl Lines {
    /// Lines before `offset`, which is not below that of the call before.
    fn up_to(&mut self, text: &[u8], offset: usize) -> usize {
        self.lines += memchr_iter(b'\n', &text[self.offset..offset]).count();
        self.offset = offset;
        self.lines
    }
}

/// Where a hunk's lines are, as its head says it: of none, the line before them.
fn position(before: usize, lines: &[u8]) -> String {
    let unfinished = usize::from(lines.last().is_some_and(|&byte| byte != b'\n'));
    match memchr_iter(b'\n', lines).count() + unfinished {
        0 => format!("{before},0"),
        1 => (before + 1).to_string(),
        count => format!("{},{count}", before + 1),
    }
}

#[cfg(test)]
mod tests;
