//! One edit of a text: exact bytes in the place of others, or why it cannot be made. It reads no
//! file, and leaves the text that it is given as it is.

use memchr::memmem::Finder;
use schemars::JsonSchema;
use serde::Deserialize;

/// Largest file that is edited, before and after, in bytes: three of them fit the memory of a call.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 20;

/// Occurrences counted for a refusal; beyond, it says "more than".
pub(crate) const COUNTED_MAX: usize = 1000;

/// One replacement.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The text to replace, exactly as it is in the file, white space and line ends included.
    /// Without "all" it must be there once: take in as much of what surrounds it as makes it
    /// unique.
    pub(crate) old_text: String,
    /// What takes its place; empty to remove it.
    pub(crate) new_text: String,
    /// Whether every occurrence is replaced, from the beginning, where it may be there many times.
    #[serde(default)]
    pub(crate) all: bool,
}

/// Why an edit cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The text is not there.
    Absent,
    /// It is there several times, overlapping ones counted, at these offsets: all, or the first
    /// `COUNTED_MAX` and one more.
    Several(Vec<usize>),
    /// The result would be this long.
    TooLong(u64),
}

impl Edit {
    /// The text with this edit made, and how many occurrences it replaced. With `all`, one that
    /// overlaps the one before it stays. `old_text` is not empty.
    pub(crate) fn make(&self, text: &[u8]) -> Result<(Vec<u8>, usize), Why> {
        let (old, new) = (self.old_text.as_bytes(), self.new_text.as_bytes());
        let finder = Finder::new(old);
        let count = if self.all { finder.find_iter(text).count() } else { only(text, &finder)? };
        if count == 0 {
            return Err(Why::Absent);
        }
        let length = (text.len() - count * old.len()) as u64 + count as u64 * new.len() as u64;
        if length > TEXT_BYTES_MAX as u64 {
            return Err(Why::TooLong(length));
        }
        let mut edited = Vec::with_capacity(length as usize);
        let mut copied = 0;
        for start in finder.find_iter(text) {
            edited.extend_from_slice(&text[copied..start]);
            edited.extend_from_slice(new);
            copied = start + old.len();
        }
        edited.extend_from_slice(&text[copied..]);
        Ok((edited, count))
    }
}

/// 1, where there is exactly one occurrence; 0 where there is none. Overlapping ones are several:
/// which of them is meant is as open where they share bytes.
fn only(text: &[u8], finder: &Finder<'_>) -> Result<usize, Why> {
    let mut from = 0;
    let found = std::iter::from_fn(|| {
        let at = from + finder.find(text.get(from..)?)?;
        from = at + 1;
        Some(at)
    });
    let found: Vec<usize> = found.take(COUNTED_MAX + 1).collect();
    if found.len() > 1 { Err(Why::Several(found)) } else { Ok(found.len()) }
}

#[cfg(test)]
mod tests;
