//! The name that a person sees of a file: one line, bounded, no folders, with an extension where
//! the type is known.

use crate::attachments::UNKNOWN_TYPE;
use cofferdam_core::message::OutgoingAttachment;
use cofferdam_core::text::one_line;

/// Shown for a file whose name says nothing.
const NAMELESS: &str = "file";
/// A longer ending is part of the name, not an extension.
const EXTENSION_BYTES_MAX: usize = 16;

/// Extensions of types that are told from the content without doubt.
const DETECTED: &[(&str, &str)] = &[
    ("application/gzip", "gz"),
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("audio/flac", "flac"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/webp", "webp"),
    ("text/html", "html"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

/// Extensions of types that only somebody who knows the file can tell.
const DECLARED: &[(&str, &str)] = &[
    ("application/json", "json"),
    ("application/toml", "toml"),
    ("application/x-yaml", "yaml"),
    ("application/yaml", "yaml"),
    ("text/calendar", "ics"),
    ("text/csv", "csv"),
    ("text/markdown", "md"),
    ("text/plain", "txt"),
    ("text/vcard", "vcf"),
    ("text/yaml", "yaml"),
];

/// The name of a file of this detected type; `declared` counts only where the content is plain text
/// or nothing that is known.
pub(super) fn choose_name(wanted: &str, detected: &str, declared: Option<&str>) -> String {
    let last = wanted.rsplit(['/', '\\']).next().unwrap_or_default();
    // Not cut yet: the extension is at its end.
    let line = one_line(last, usize::MAX);
    let line = line.trim().trim_end_matches('.');
    let line = if line.is_empty() { NAMELESS } else { line };
    match extension(line) {
        Some((stem, ending)) => truncate_stem(stem, ending),
        None => match extension_of(detected, declared) {
            Some(ending) => truncate_stem(line, ending),
            None => one_line(line, OutgoingAttachment::NAME_BYTES_MAX),
        },
    }
}

fn truncate_stem(stem: &str, ending: &str) -> String {
    let stem = one_line(stem, OutgoingAttachment::NAME_BYTES_MAX - ending.len() - 1);
    format!("{stem}.{ending}")
}

fn extension(name: &str) -> Option<(&str, &str)> {
    let (stem, ending) = name.rsplit_once('.')?;
    let sound = !stem.is_empty() && !ending.is_empty() && ending.len() <= EXTENSION_BYTES_MAX;
    (sound && !ending.contains(' ')).then_some((stem, ending))
}

fn extension_of(detected: &str, declared: Option<&str>) -> Option<&'static str> {
    let of = |table: &[(&str, &'static str)], mime: &str| {
        table.iter().find(|(known, _)| known.eq_ignore_ascii_case(mime)).map(|(_, ending)| *ending)
    };
    if detected == "text/plain" || detected == UNKNOWN_TYPE {
        return of(DECLARED, declared?.split(';').next()?.trim());
    }
    of(DETECTED, detected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wanted: &str, detected: &str, declared: Option<&str>, expected: &str) {
        assert_eq!(choose_name(wanted, detected, declared), expected, "{wanted:?} {detected} {declared:?}");
    }

    #[test]
    fn a_name_is_one_line_without_folders() {
        check("/shared/a/report.pdf", "application/pdf", None, "report.pdf");
        check("..\\..\\evil.exe", "application/x-dosexec", None, "evil.exe");
        check("a\nb\u{202e}fdp.exe", UNKNOWN_TYPE, None, "a b fdp.exe");
        for nothing in ["", "/", " ", "..", "/shared/..", "\u{200b}"] {
            check(nothing, "image/png", None, "file.png");
        }
    }

    #[test]
    fn the_content_gives_the_extension_and_a_hint_only_where_it_says_nothing() {
        check("/shared/photo", "image/jpeg", Some("image/png"), "photo.jpg");
        check("/shared/photo.png", "image/jpeg", None, "photo.png");
        check("table", "text/plain", Some("text/csv; charset=utf-8"), "table.csv");
        check("page", "text/html", Some("text/csv"), "page.html");
        check("README", "text/plain", None, "README");
        check("data", UNKNOWN_TYPE, Some("image/jpeg"), "data");
        check(".profile", "text/plain", None, ".profile");
    }

    #[test]
    fn a_long_name_keeps_its_extension() {
        let long = choose_name(&format!("{}.tar", "é".repeat(300)), UNKNOWN_TYPE, None);
        assert!(long.len() <= OutgoingAttachment::NAME_BYTES_MAX && long.ends_with("….tar"), "{long}");
        let endless = choose_name(&format!("a.{}", "b".repeat(300)), UNKNOWN_TYPE, None);
        assert!(endless.len() <= OutgoingAttachment::NAME_BYTES_MAX, "{endless}");
    }
}
