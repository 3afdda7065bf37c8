//! From changed bytes to changed lines: blocks of whole lines, without what is the same at their ends and,
//! where they are small, without what is the same inside.

use std::iter::Peekable;

use memchr::{memchr, memchr_iter, memrchr};

use crate::text::Change;

/// Pairs of lines compared within one block, and within all of a diff.
const PAIRS_MAX: usize = 1 << 18;
const PAIRS_ALL_MAX: usize = 1 << 22;

/// Bytes of changes in adjacent lines that are shown as one: all that was, then all that is.
const TOGETHER: usize = 4 << 10;

/// The changed lines: in order, without overlaps, each different on both sides.
pub(super) fn of(old: &[u8], new: &[u8], changes: &[Change]) -> Vec<Change> {
    let mut blocks = Vec::with_capacity(changes.len());
    let mut pairs_left = PAIRS_ALL_MAX;
    let mut changes = changes.iter().map(|change| whole_lines(old, new, change)).peekable();
    while let Some(block) = touching(&mut changes) {
        refine(old, new, trim(old, new, block), &mut pairs_left, &mut blocks);
    }
    blocks
}

/// The next change with those that touch it, as long as all of it can be taken in at a glance: a diff that
/// is cut then still shows what became of the lines it shows.
fn touching(changes: &mut Peekable<impl Iterator<Item = Change>>) -> Option<Change> {
    let mut block = changes.next()?;
    while block.old.len() + block.new.len() < TOGETHER
        && let Some(next) = changes.next_if(|next| next.old.start <= block.old.end)
    {
        block.old.end = next.old.end;
        block.new.end = next.new.end;
    }
    Some(block)
}

/// The lines in which a change lies. What surrounds a change is the same on both sides, at least to the
/// ends of its line, so both grow alike.
fn whole_lines(old: &[u8], new: &[u8], Change { old: was, new: is }: &Change) -> Change {
    let before = was.start - memrchr(b'\n', &old[..was.start]).map_or(0, |at| at + 1);
    let ended = line_ended(old, was.end) && line_ended(new, is.end);
    let rest = &old[was.end..];
    let after = if ended { 0 } else { memchr(b'\n', rest).map_or(rest.len(), |at| at + 1) };
    Change { old: was.start - before..was.end + after, new: is.start - before..is.end + after }
}

fn line_ended(text: &[u8], at: usize) -> bool {
    at == 0 || text[at - 1] == b'\n'
}

/// Without the lines that are the same at the beginning and at the end.
fn trim(old: &[u8], new: &[u8], mut block: Change) -> Change {
    loop {
        let (was, is) = (first_line(&old[block.old.clone()]), first_line(&new[block.new.clone()]));
        if was.is_empty() || was != is {
            break;
        }
        block.old.start += was.len();
        block.new.start += was.len();
    }
    loop {
        let (was, is) = (last_line(&old[block.old.clone()]), last_line(&new[block.new.clone()]));
        if was.is_empty() || was != is {
            return block;
        }
        block.old.end -= was.len();
        block.new.end -= was.len();
    }
}

fn first_line(text: &[u8]) -> &[u8] {
    &text[..memchr(b'\n', text).map_or(text.len(), |at| at + 1)]
}

fn last_line(text: &[u8]) -> &[u8] {
    let Some((_, before_end)) = text.split_last() else { return text };
    &text[memrchr(b'\n', before_end).map_or(0, |at| at + 1)..]
}

/// Splits a block where it has lines in common, by their longest common subsequence. A large one stays:
/// the table of all pairs is what would make a diff slow.
fn refine(old: &[u8], new: &[u8], block: Change, pairs_left: &mut usize, blocks: &mut Vec<Change>) {
    if block.old.is_empty() && block.new.is_empty() {
        return;
    }
    let count = |text: &[u8]| memchr_iter(b'\n', text).count() + 1;
    let pairs = count(&old[block.old.clone()]).saturating_mul(count(&new[block.new.clone()]));
    if block.old.is_empty() || block.new.is_empty() || pairs > PAIRS_MAX || pairs > *pairs_left {
        blocks.push(block);
        return;
    }
    *pairs_left -= pairs;
    let was: Vec<&[u8]> = old[block.old.clone()].split_inclusive(|&byte| byte == b'\n').collect();
    let is: Vec<&[u8]> = new[block.new.clone()].split_inclusive(|&byte| byte == b'\n').collect();
    let common = Common::of(&was, &is);
    // The stretch that differs, which grows line by line until a common line closes it.
    let mut open = Change { old: block.old.start..block.old.start, new: block.new.start..block.new.start };
    let (mut i, mut j) = (0, 0);
    while i < was.len() || j < is.len() {
        if i < was.len() && j < is.len() && was[i] == is[j] {
            let next = Change {
                old: open.old.end + was[i].len()..open.old.end + was[i].len(),
                new: open.new.end + is[j].len()..open.new.end + is[j].len(),
            };
            push(blocks, std::mem::replace(&mut open, next));
            (i, j) = (i + 1, j + 1);
        } else if j == is.len() || (i < was.len() && common.at(i + 1, j) >= common.at(i, j + 1)) {
            open.old.end += was[i].len();
            i += 1;
        } else {
            open.new.end += is[j].len();
            j += 1;
        }
    }
    push(blocks, open);
}

fn push(blocks: &mut Vec<Change>, block: Change) {
    if !(block.old.is_empty() && block.new.is_empty()) {
        blocks.push(block);
    }
}

/// How many lines the rest of one side and the rest of the other have in common, in order.
struct Common {
    lengths: Vec<u16>,
    width: usize,
}

impl Common {
    /// At most `PAIRS_MAX` pairs, so at most 512 in common: a `u16` holds it.
    fn of(was: &[&[u8]], is: &[&[u8]]) -> Self {
        let width = is.len() + 1;
        let mut common = Self { lengths: vec![0; (was.len() + 1) * width], width };
        for i in (0..was.len()).rev() {
            for j in (0..is.len()).rev() {
                common.lengths[i * width + j] = if was[i] == is[j] {
                    common.at(i + 1, j + 1) + 1
                } else {
                    common.at(i + 1, j).max(common.at(i, j + 1))
                };
            }
        }
        common
    }

    fn at(&self, i: usize, j: usize) -> u16 {
        self.lengths[i * self.width + j]
    }
}
