//! What bytes are, from the bytes alone: the media type that decides how they are treated.
//!
//! It believes no name and no declared type, and never fails: what it does not know is
//! [`UNKNOWN_TYPE`]. A signature decides, unless the bytes are plain text that merely begin like
//! one, or text that a browser would run.

use super::text;
use file_format::FileFormat;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The type of what is not recognized, of nothing at all, and of what was never fetched.
pub const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Whether bytes are text is judged from so many at their beginning.
const HEAD_BYTES: u64 = 64 << 10;

/// Types that go by several names, under the one that most programs know.
const COMMON_NAMES: &[(&str, &str)] = &[
    ("application/mp4", "video/mp4"),
    ("application/x-empty", UNKNOWN_TYPE),
    ("application/x-id3v2", "audio/mpeg"),
    ("application/x-matroska", "video/x-matroska"),
    ("audio/matroska", "audio/x-matroska"),
    ("audio/opus", "audio/ogg"),
    ("audio/vnd.wave", "audio/wav"),
    ("audio/x-m4a", "audio/mp4"),
    ("video/matroska", "video/x-matroska"),
    ("video/x-m4v", "video/mp4"),
];

/// Types whose files are text, among those whose families are not.
const TEXTUAL: &[&str] = &[
    "audio/x-mpegurl",
    "audio/x-scpls",
    "image/svg+xml",
    "image/x-eps",
    "image/x-xpixmap",
    "video/x-ms-asx",
];

/// Types whose files are not text, among families where some are, and whose signature a sentence
/// can begin with ("MZ", "BZh", "ZOO", …).
const NEVER_TEXT: &[&str] = &[
    "application/x-bzip",
    "application/x-bzip2",
    "application/x-dosexec",
    "application/x-sbx",
    "application/x-shockwave-flash",
    "application/x-zoo",
    "application/x-zpaq",
    "model/x-vox",
];

/// The media type of all that `reader` gives from its beginning, in lower case and without
/// parameters.
pub fn sniff(reader: &mut (impl Read + Seek)) -> String {
    let head = head(reader).unwrap_or_default();
    if head.is_empty() {
        return UNKNOWN_TYPE.to_owned();
    }
    let is_text = text::decode(&head).is_some();
    let detected = match detect(reader) {
        binary if is_text && (binary == UNKNOWN_TYPE || cannot_be_text(&binary)) => "text/plain".to_owned(),
        unknown if unknown == UNKNOWN_TYPE || (unknown == "text/plain" && !is_text) => {
            sniff_beginning(&head).to_owned()
        }
        detected => detected,
    };
    match text::active(&head) {
        Some(active) if may_be_active(&detected) => active.to_owned(),
        _ => detected,
    }
}

fn head(reader: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.seek(SeekFrom::Start(0))?;
    reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    reader.seek(SeekFrom::Start(0))?;
    Ok(head)
}

/// What the signatures say.
///
/// The parsers behind them meet hostile bytes and do sums with numbers found there, which panics in
/// a build that checks for overflow. An attachment must not end a turn.
fn detect(reader: &mut (impl Read + Seek)) -> String {
    let format = catch_unwind(AssertUnwindSafe(|| FileFormat::from_reader(reader)));
    let Ok(Ok(format)) = format else { return UNKNOWN_TYPE.to_owned() };
    let name = format.media_type().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let common = COMMON_NAMES.iter().find(|(other, _)| *other == name);
    common.map_or(name, |(_, common)| (*common).to_owned())
}

/// A last look at what is too short or too broken for the signatures' deeper checks.
fn sniff_beginning(head: &[u8]) -> &'static str {
    match head {
        [b'P', b'K', 3, 4, ..] => "application/zip",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => "video/mp4",
        [b'I', b'D', b'3', 2..=4, ..] => "audio/mpeg",
        _ => UNKNOWN_TYPE,
    }
}

fn cannot_be_text(mime: &str) -> bool {
    let family = mime.split('/').next().unwrap_or_default();
    let binary_family = matches!(family, "image" | "audio" | "video" | "font");
    (binary_family && !TEXTUAL.contains(&mime)) || NEVER_TEXT.contains(&mime)
}

/// Types that a browser, or a client that shows things inline, could take for a page after all.
fn may_be_active(mime: &str) -> bool {
    mime.starts_with("image/")
        || mime.ends_with("+xml")
        || matches!(mime, "text/plain" | "text/xml" | "text/html")
}
