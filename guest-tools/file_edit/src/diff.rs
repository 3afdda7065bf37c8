//! A unified diff of two texts, however large: what is the same is passed over, and the lines
//! around each difference are compared by the library in windows of bounded size. It is bounded,
//! and says where it was cut.

mod shown;

use memchr::{memchr_iter, memrchr};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

use shown::{DIFF_BYTES_MAX, Shown};

/// Unchanged lines shown before and after a change.
const CONTEXT: usize = 3;

/// Lines of each side that are compared at once. A change that reaches over them all fills the
/// diff, in which a line takes two bytes or more.
const WINDOW_LINES: usize = DIFF_BYTES_MAX / 2 + 2 * CONTEXT;

/// Changed lines shown as one: all that were, then all that are. A diff that is cut then still
/// shows what became of the lines it shows.
const TOGETHER: usize = 64;

/// What changed.
pub(crate) struct Diff {
    /// A unified diff, unless it is cut.
    pub(crate) text: String,
    /// Whether something is left out.
    pub(crate) truncated: bool,
}

/// One of the two texts: what of it is not compared yet, and how many lines come before that.
struct Side<'a> {
    rest: &'a [u8],
    before: usize,
}

/// What turns `old` into `new`, with the path as both names.
pub(crate) fn unified(path: &str, old: &[u8], new: &[u8]) -> Diff {
    let mut shown = Shown::new(path);
    let (mut old, mut new) = (Side { rest: old, before: 0 }, Side { rest: new, before: 0 });
    while !shown.is_full() && to_next_change(&mut old, &mut new) {
        let (was, is) = (old.window(), new.window());
        let (mut was_done, mut is_done) = (0, 0);
        // Changes that one hunk shows, with their context.
        let hunks = group_diff_ops(capture_diff_slices(Algorithm::Myers, &was, &is), CONTEXT);
        for (index, group) in hunks.iter().enumerate() {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let (was_lines, is_lines) = (
                first.old_range().start..last.old_range().end,
                first.new_range().start..last.new_range().end,
            );
            // It may go on, or not be there, in a window that begins with it.
            if index > 0 && was_lines.end.max(is_lines.end) + CONTEXT >= WINDOW_LINES {
                break;
            }
            shown.line(&format!(
                "@@ -{} +{} @@",
                position(old.before + was_lines.start, was_lines.len()),
                position(new.before + is_lines.start, is_lines.len()),
            ));
            group.iter().for_each(|op| show(&mut shown, op, &was, &is));
            (was_done, is_done) = (was_lines.end, is_lines.end);
        }
        old.pass(&was[..was_done]);
        new.pass(&is[..is_done]);
    }
    shown.finish()
}

impl<'a> Side<'a> {
    fn window(&self) -> Vec<&'a [u8]> {
        self.rest.split_inclusive(|&byte| byte == b'\n').take(WINDOW_LINES).collect()
    }

    fn pass(&mut self, lines: &[&[u8]]) {
        self.before += lines.len();
        self.rest = &self.rest[lines.iter().map(|line| line.len()).sum()..];
    }
}

/// Passes over what is the same up to the context of the next change; false where there is none.
fn to_next_change<'a>(old: &mut Side<'a>, new: &mut Side<'a>) -> bool {
    let rest = old.rest;
    let same = rest.iter().zip(new.rest).take_while(|(was, is)| was == is).count();
    if same == rest.len() && same == new.rest.len() {
        return false;
    }
    let line_start = |at: usize| memrchr(b'\n', &rest[..at]).map_or(0, |end| end + 1);
    let start = (0..CONTEXT).fold(line_start(same), |start, _| line_start(start.saturating_sub(1)));
    let lines = memchr_iter(b'\n', &rest[..start]).count();
    for side in [old, new] {
        side.rest = &side.rest[start..];
        side.before += lines;
    }
    true
}

fn show(shown: &mut Shown, op: &DiffOp, was: &[&[u8]], is: &[&[u8]]) {
    let (tag, old, new) = op.as_tag_tuple();
    if tag == DiffTag::Equal {
        return shown.lines(' ', &was[old]);
    }
    let (mut was, mut is) = (was[old].chunks(TOGETHER), is[new].chunks(TOGETHER));
    loop {
        let (removed, added) = (was.next(), is.next());
        if removed.or(added).is_none() {
            return;
        }
        shown.lines('-', removed.unwrap_or_default());
        shown.lines('+', added.unwrap_or_default());
    }
}

/// Where a hunk's lines are, as its head says it: of none, the line before them.
fn position(before: usize, count: usize) -> String {
    match count {
        0 => format!("{before},0"),
        1 => (before + 1).to_string(),
        count => format!("{},{count}", before + 1),
    }
}

#[cfg(test)]
mod tests;
