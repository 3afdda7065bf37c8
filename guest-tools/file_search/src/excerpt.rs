//! A match as it is answered: one line each of text around it, short, and harmless to anyone who
//! shows it.

use std::ops::Range;
use std::str::Utf8Chunk;

use schemars::JsonSchema;
use serde::Serialize;

/// Bytes of a line that are shown.
const TEXT_BYTES_MAX: usize = 400;
/// Of those, what stands before the match in a longer line.
const LEAD_BYTES: usize = 100;
/// Bytes of a match that are shown.
const MATCH_BYTES_MAX: usize = 200;

/// A line that matches.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Match {
    /// The file.
    pub(crate) path: String,
    /// The line in it, from 1.
    pub(crate) line: u64,
    /// Where the first match begins in the line, in characters from 1.
    pub(crate) column: u64,
    /// The first match in the line, or its beginning.
    #[serde(rename = "match")]
    pub(crate) found: String,
    /// The line without its end, or what is around the match where "cut" is true.
    pub(crate) text: String,
    /// Whether the line is longer than "text".
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cut: bool,
    /// The lines before it, if "context" asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) before: Vec<String>,
    /// The lines after it, if "context" asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) after: Vec<String>,
}

impl Match {
    /// Bytes of text that it answers with.
    pub(crate) fn bytes(&self) -> usize {
        let lines = self.before.iter().chain(&self.after).map(String::len).sum::<usize>();
        self.path.len() + self.found.len() + self.text.len() + lines
    }
}

/// A match in a line, without what is around that line. Of a long line only what is near the match
/// is looked at, but for the column.
pub(crate) fn of(path: &str, line: u64, bytes: &[u8], found: Range<usize>) -> Match {
    let from = found.start.saturating_sub(2 * TEXT_BYTES_MAX);
    let to = bytes.len().min(found.start + 2 * TEXT_BYTES_MAX);
    let mut text = plain(&bytes[from..to]);
    let cut = text.len() > TEXT_BYTES_MAX;
    if cut {
        let lead = plain(&bytes[from..found.start]).len().saturating_sub(LEAD_BYTES);
        text.drain(..text.floor_char_boundary(lead.min(text.len() - TEXT_BYTES_MAX)));
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    }
    Match {
        path: path.to_owned(),
        line,
        column: chars(&bytes[..found.start]) + 1,
        found: shortened(&bytes[found], MATCH_BYTES_MAX),
        text,
        cut,
        before: Vec::new(),
        after: Vec::new(),
    }
}

/// A line as context.
pub(crate) fn beginning(line: &[u8]) -> String {
    shortened(line, TEXT_BYTES_MAX)
}

fn shortened(bytes: &[u8], length: usize) -> String {
    // A character that this cuts lies behind the length.
    let mut text = plain(&bytes[..bytes.len().min(length + 3)]);
    text.truncate(text.floor_char_boundary(length));
    text
}

/// How many characters are shown of them: what is no UTF-8 counts as the U+FFFD in its place.
fn chars(bytes: &[u8]) -> u64 {
    let shown =
        |chunk: Utf8Chunk<'_>| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty());
    bytes.utf8_chunks().map(shown).sum::<usize>() as u64
}

/// Text on one line: what is no UTF-8, and control characters but the tab, become U+FFFD.
fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace(|c: char| c.is_control() && c != '\t', "\u{FFFD}")
}
