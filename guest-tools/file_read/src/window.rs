//! A window of a file and what its bytes are: text, unless they are not UTF-8 or would do something to
//! the terminal or chat that shows them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use base64::{Engine, engine::general_purpose::STANDARD};
use cofferdam_sdk::ToolError;

/// Some bytes of a file, and the length of the whole.
pub(crate) struct Window {
    pub(crate) bytes: Vec<u8>,
    pub(crate) total_bytes: u64,
}

/// Bytes in a form that JSON can carry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    Base64(String),
}

/// The bytes from `offset` on, at most `length`; none past the end.
pub(crate) fn read(path: &str, offset: u64, length: u32) -> Result<Window, ToolError> {
    // One open and one look at the length: each crosses to the host, and the host refuses what must not
    // be opened. The full metadata would cost one crossing more.
    let mut file = File::open(path).map_err(ToolError::on_path(path))?;
    let length_of = |file: &mut File| file.seek(SeekFrom::End(0));
    let total_bytes = length_of(&mut file).map_err(|error| no_length(path, &file, error))?;
    fill(file, offset, length, total_bytes).map_err(ToolError::on_path(path))
}

/// Why something that opened has no length: it is a directory, if the host does not say otherwise.
fn no_length(path: &str, file: &File, error: io::Error) -> ToolError {
    let is_dir = file.metadata().is_ok_and(|metadata| metadata.is_dir());
    let error = if is_dir { io::ErrorKind::IsADirectory.into() } else { error };
    ToolError::on_path(path)(error)
}

fn fill(mut file: impl Read + Seek, offset: u64, length: u32, total_bytes: u64) -> io::Result<Window> {
    let wanted = total_bytes.saturating_sub(offset).min(length.into());
    // At most the length's maximum in the schema, which the host checked.
    let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(usize::MAX)];
    if wanted > 0 {
        file.seek(SeekFrom::Start(offset))?;
    }
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // A file that became shorter meanwhile ends where it ended.
    let total_bytes = if filled < bytes.len() { offset + filled as u64 } else { total_bytes };
    bytes.truncate(filled);
    Ok(Window { bytes, total_bytes })
}

/// The content, and how many of the bytes it stands for: a character that the end of the window cuts is
/// left for the next window, if there is one.
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

/// Whether the text has no control characters but those of plain text: tab, line feed, form feed and
/// carriage return. Eight bytes at a time: byte by byte it is the slowest part of a call.
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
