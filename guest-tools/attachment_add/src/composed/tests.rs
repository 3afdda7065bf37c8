//! What a call may bring, and what is said against the rest.

use super::*;
use cofferdam_sdk::reply::Source;

fn refused(content: Content, name: Option<&str>) -> ToolError {
    composed(content, name.map(str::to_owned), None).unwrap_err()
}

fn text(length: usize) -> Content {
    Content::Text("a".repeat(length))
}

/// Base64 of so many bytes.
fn base64(length: usize) -> Content {
    let rest = ["", "AA==", "AAA="][length % 3];
    Content::Base64("AAAA".repeat(length / 3) + rest)
}

#[test]
fn as_much_as_may_be_and_no_more() {
    for make in [text, base64] {
        let file = composed(make(CONTENTS_BYTES_MAX), Some("a.bin".into()), None).unwrap();
        let Source::Contents(bytes) = file.source else { panic!("{:?}", file.name) };
        assert_eq!(bytes.len(), CONTENTS_BYTES_MAX);
        let more = refused(make(CONTENTS_BYTES_MAX + 1), Some("a.bin"));
        assert_eq!(more.code, ErrorCode::TooLarge);
        assert!(
            more.message.contains("1048577 bytes") && more.message.contains("\"path\""),
            "{}",
            more.message
        );
        let nothing = refused(make(0), Some("a.bin"));
        assert!(nothing.message.contains("is empty; there is nothing to send"), "{}", nothing.message);
    }
}

#[test]
fn a_name_is_given_and_shown_as_it_is() {
    for (name, said) in [
        (None, "needs a \"filename\""),
        (Some(""), "needs a \"filename\""),
        (Some(" \t"), "needs a \"filename\""),
        (Some("a/b.csv"), "names a folder"),
        (Some("/shared/b.csv"), "names a folder"),
        (Some("..\\b.csv"), "names a folder"),
        (Some("a\nb.csv"), "control or invisible"),
        (Some("fdp\u{202e}.exe"), "control or invisible"),
        (Some("a\u{200b}.csv"), "control or invisible"),
        (Some("a\0.csv"), "control or invisible"),
    ] {
        let error = refused(text(1), name);
        assert_eq!(error.code, ErrorCode::InvalidArguments, "{name:?}");
        assert!(error.message.contains(said) && error.message.contains("table.csv"), "{}", error.message);
    }
    for name in ["table.csv", "Übersicht Mai 2026.md", "..", ".profile", "naïve 世界.svg"] {
        let file = composed(text(1), Some(name.into()), None).unwrap();
        assert_eq!(file.name.as_deref(), Some(name));
    }
}

#[test]
fn what_is_no_base64_is_refused_with_its_place() {
    for (given, said) in
        [("QUJD\nQUJD", "white space"), ("QU_D", "URL-safe"), ("QUI", "cut short"), ("QR==", "bits over")]
    {
        let error = refused(Content::Base64(given.into()), Some("a.bin"));
        assert_eq!(error.code, ErrorCode::InvalidArguments);
        assert!(
            error.message.starts_with("contentBase64 ") && error.message.contains(said),
            "{}",
            error.message
        );
    }
}
