//! A window of a file and what its bytes are: text, unless they are not UTF-8 or would do something
//! to the terminal or chat that shows them.

use std::io;

use base64::{Engine, engine::general_purpose::STANDARD};

/// Some bytes of a file, and the length of the whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Where they start in the file.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) total_bytes: u64,
}

/// Bytes in a form that JSON can carry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    Base64(String),
}

/// The bytes from `offset` on, at most `length`; none past the end of a file of `size` bytes.
/// `read_at` gives bytes of the file and whether it ended there.
pub(crate) fn read(
    read_at: impl Fn(u64, u64) -> io::Result<(Vec<u8>, bool)>,
    offset: u64,
    length: u32,
    size: u64,
) -> io::Result<Window> {
    let wanted = size.saturating_sub(offset).min(length.into());
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < wanted {
        let have = bytes.len() as u64;
        let (more, ended) = read_at(offset + have, wanted - have)?;
        let done = ended || more.is_empty();
        // Nearly always the host gives all at once.
        if bytes.is_empty() {
            bytes = more
        } else {
            bytes.extend(more)
        }
        if done {
            break;
        }
    }
    // A file that became shorter meanwhile ends where it ended.
    let shrank = (bytes.len() as u64) < wanted;
    let total_bytes = if shrank { offset + bytes.len() as u64 } else { size };
    Ok(Window { offset, bytes, total_bytes })
}

/// The content, and how many of the bytes it stands for: a character that the end of the window
/// cuts is left for the next window, if there is one.
pub(crate) fn content(bytes: Vec<u8>, more_follows: bool) -> (usize, Content) {
    let text = String::from_utf8(bytes).or_else(|error| {
        let whole = error.utf8_error().valid_up_to();
        let cut = more_follows && error.utf8_error().error_len().is_none();
        let mut bytes = error.into_bytes();
        // Without one whole character the next window would start where this one does.
        if cut && whole > 0 {
            bytes.truncate(whole);
        }
        String::from_utf8(bytes)
    });
    match text {
        Ok(text) if is_harmless(&text) => (text.len(), Content::Text(text)),
        Ok(text) => (text.len(), Content::Base64(STANDARD.encode(text))),
        Err(error) => (error.as_bytes().len(), Content::Base64(STANDARD.encode(error.as_bytes()))),
    }
}

/// Whether the text has no control characters but those of plain text: tab, line feed, form feed
/// and carriage return. Eight bytes at a time: byte by byte it is the slowest part of a call.
fn is_harmless(text: &str) -> bool {
    let plain = |bytes: &[u8]| {
        bytes.iter().all(|byte| !byte.is_ascii_control() || matches!(byte, b'\t' | b'\n' | 0x0C | b'\r'))
    };
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    words.iter().all(|word| !has_control(*word) || plain(word))
        && plain(rest)
        && (text.is_ascii() || !text.contains(|found| matches!(found, '\u{80}'..='\u{9F}')))
}

/// Whether one of the bytes is below 0x20 or is 0x7F.
fn has_control(word: [u8; 8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    let word = u64::from_ne_bytes(word);
    let delete = word ^ (ONES * 0x7F);
    // A byte borrows from its top bit exactly where it is less than what is subtracted from it.
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    let is_delete = delete.wrapping_sub(ONES) & !delete;
    (below_space | is_delete) & TOPS != 0
}

#[cfg(test)]
mod tests;
