//! A match as it is answered: one line each of text around it, short, and harmless to whoever shows it.

use std::ops::Range;

use cofferdam_sdk::schemars::JsonSchema;
use cofferdam_sdk::serde::Serialize;

/// Bytes of a line that are shown.
const TEXT_BYTES_MAX: usize = 400;
/// Of those, what stands before the match in a longer line.
const LEAD_BYTES: usize = 100;
/// Bytes of a match that are shown.
const MATCH_BYTES_MAX: usize = 200;

/// A line that matches.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(crate = "cofferdam_sdk::serde")]
#[schemars(crate = "cofferdam_sdk::schemars")]
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

/// The text of a match, the text of its line, and whether the line is longer than that.
pub(crate) fn around(line: &[u8], found: Range<usize>) -> (String, String, bool) {
    let matched = plain(&line[found.start..snap(line, found.end.min(found.start + MATCH_BYTES_MAX))]);
    if line.len() <= TEXT_BYTES_MAX {
        return (matched, plain(line), false);
    }
    let from = found.start.saturating_sub(LEAD_BYTES).min(line.len() - TEXT_BYTES_MAX);
    let from = snap(line, from);
    let to = snap(line, line.len().min(from + TEXT_BYTES_MAX));
    (matched, plain(&line[from..to]), true)
}

/// A whole line as context.
pub(crate) fn beginning(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    plain(&line[..snap(line, line.len().min(TEXT_BYTES_MAX))])
}

/// How many characters there are; bytes that are no UTF-8 count as one each.
pub(crate) fn chars(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| !is_inner(**byte)).count() as u64
}

/// Text on one line: what is no UTF-8, and control characters but the tab, become U+FFFD.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let control = |c: char| c.is_control() && c != '\t';
    if text.contains(control) { text.replace(control, "\u{FFFD}") } else { text.into_owned() }
}

/// The place, or the one before it where a character begins.
fn snap(bytes: &[u8], at: usize) -> usize {
    let back = (0..4).find(|back| bytes.get(at.wrapping_sub(*back)).is_none_or(|byte| !is_inner(*byte)));
    at - back.unwrap_or(0)
}

fn is_inner(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
