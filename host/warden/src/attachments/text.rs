//! Whether the beginning of a file is text, and whether that text can act: pure functions of bytes.

use std::borrow::Cow;

/// A marker of active text counts this near the beginning.
const ACTIVE_BYTES_MAX: usize = 1024;

/// The text that `head`, the beginning of a file, is; `None` when it is not UTF-8, or UTF-16 with a
/// byte order mark, or has control characters that no text has.
///
/// A character that the end of `head` cuts is left out.
pub(super) fn decode(head: &[u8]) -> Option<Cow<'_, str>> {
    let text = match head {
        [0xFF, 0xFE, rest @ ..] => Cow::from(utf16(rest, u16::from_le_bytes)?),
        [0xFE, 0xFF, rest @ ..] => Cow::from(utf16(rest, u16::from_be_bytes)?),
        _ => Cow::from(utf8(head)?),
    };
    text.chars().all(is_text).then_some(text)
}

/// What a browser would make of the beginning of a file: an HTML page or an SVG image that can run
/// scripts. It must not be shown inline, also if it is something else as well.
pub(super) fn active(head: &[u8]) -> Option<&'static str> {
    const MARKERS: [(&[u8], &str); 4] = [
        (b"<!doctype html", "text/html"),
        (b"<html", "text/html"),
        (b"<script", "text/html"),
        (b"<svg", "image/svg+xml"),
    ];
    // Dropping zeros reads the Latin part of UTF-16 too, in both byte orders.
    let near = &head[..head.len().min(2 * ACTIVE_BYTES_MAX)];
    let plain: Vec<u8> =
        near.iter().filter(|b| **b != 0).take(ACTIVE_BYTES_MAX).map(u8::to_ascii_lowercase).collect();
    let position = |marker: &[u8]| plain.windows(marker.len()).position(|window| window == marker);
    let found = MARKERS.iter().filter_map(|(marker, mime)| Some((position(marker)?, *mime)));
    found.min().map(|(_, mime)| mime)
}

fn utf8(head: &[u8]) -> Option<&str> {
    match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        // No `error_len`: the head ends within a character.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&head[..error.valid_up_to()]).ok(),
        Err(_) => None,
    }
}

fn utf16(head: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let mut units: Vec<u16> = head.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    // The first half of a pair, cut off from the second.
    if units.last().is_some_and(|last| (0xD800..0xDC00).contains(last)) {
        units.pop();
    }
    String::from_utf16(&units).ok()
}

/// Tab, line feed, form feed, carriage return and escape (terminal logs) are text; other C0
/// controls, DEL and the two "never a character" code points are not.
fn is_text(c: char) -> bool {
    match c {
        '\t' | '\n' | '\x0C' | '\r' | '\x1B' => true,
        '\0'..='\x1F' | '\x7F' | '\u{FFFE}' | '\u{FFFF}' => false,
        _ => true,
    }
}
