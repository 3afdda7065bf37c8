//! The smallest names of a folder after a bound, as many as fit a budget: what makes a sorted walk
//! of a folder of any size possible in little memory.

use super::Start;
use crate::files::Kind;

/// What one name costs besides its bytes.
const ENTRY_BYTES: usize = size_of::<Entry>();

#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    length: u16,
    kind: Kind,
}

/// A batch of names, sorted by their bytes once all were offered.
pub(super) struct Names {
    from: Start,
    /// How much one batch may hold, in bytes of memory and in names.
    bytes_max: usize,
    names_max: usize,
    text: String,
    entries: Vec<Entry>,
    /// Names greater than this were turned away.
    bound: Option<String>,
    taken: usize,
}

impl Names {
    pub(super) fn new(from: Start, bytes_max: usize, names_max: usize) -> Self {
        Self { from, bytes_max, names_max, text: String::new(), entries: Vec::new(), bound: None, taken: 0 }
    }

    /// Whether a name belongs into this batch as far as is known yet.
    pub(super) fn wants(&self, name: &str) -> bool {
        let begun = match &self.from {
            Start::Beginning => true,
            Start::At(least) => name >= least.as_str(),
            Start::After(last) => name > last.as_str(),
        };
        begun && self.bound.as_deref().is_none_or(|bound| name <= bound)
    }

    /// Takes a name that is wanted; if that is too much, lets go of the greater half.
    pub(super) fn offer(&mut self, name: &str, kind: Kind) {
        let (Ok(start), Ok(length)) = (u32::try_from(self.text.len()), u16::try_from(name.len())) else {
            // No system has such names; turning one away for ever would be worse than stopping
            // here.
            return;
        };
        self.text.push_str(name);
        self.entries.push(Entry { start, length, kind });
        let full = self.held() > self.bytes_max || self.entries.len() >= self.names_max.saturating_mul(2);
        if full && self.entries.len() > 1 {
            self.shrink();
        }
    }

    /// Puts the batch in order; to be called before the first [`Names::next`].
    pub(super) fn finish(&mut self) {
        self.sort();
        if self.entries.len() > self.names_max {
            self.keep(self.names_max);
        }
    }

    /// The next name in order.
    pub(super) fn next(&mut self) -> Option<(&str, Kind)> {
        let entry = *self.entries.get(self.taken)?;
        self.taken += 1;
        Some((text_of(&self.text, &entry), entry.kind))
    }

    /// Where the next batch begins, if names were turned away.
    pub(super) fn rest(&self) -> Option<Start> {
        self.bound.clone().map(Start::After)
    }

    /// Bytes of memory in use.
    pub(super) fn held(&self) -> usize {
        self.text.len() + self.entries.len() * ENTRY_BYTES
    }

    fn sort(&mut self) {
        let text = &self.text;
        self.entries.sort_unstable_by(|a, b| text_of(text, a).cmp(text_of(text, b)));
    }

    fn shrink(&mut self) {
        self.sort();
        self.keep((self.entries.len() / 2).clamp(1, self.names_max));
    }

    fn keep(&mut self, count: usize) {
        self.entries.truncate(count);
        self.bound = self.entries.last().map(|last| text_of(&self.text, last).to_owned());
        let mut text = String::with_capacity(self.text.len() / 2);
        for entry in &mut self.entries {
            let start = text.len();
            text.push_str(text_of(&self.text, entry));
            entry.start = u32::try_from(start).unwrap_or(u32::MAX);
        }
        self.text = text;
    }
}

fn text_of<'a>(text: &'a str, entry: &Entry) -> &'a str {
    let start = entry.start as usize;
    &text[start..start + usize::from(entry.length)]
}
