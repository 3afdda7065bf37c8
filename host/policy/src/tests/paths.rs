//! Guest paths: a table of what is refused and why, and the parser against a slow, obvious oracle.

use crate::{BadPath, GuestPath};
use proptest::prelude::*;

fn check(text: &str, expected: Result<(&str, &str), &str>) {
    let parsed = GuestPath::parse(text);
    let found = match &parsed {
        Ok(path) => Ok((path.mount(), path.below_mount())),
        Err(bad) => Err(kind(bad)),
    };
    assert_eq!(found, expected, "{text:?}");
}

fn kind(bad: &BadPath) -> &'static str {
    match bad {
        BadPath::NotAbsolute(_) => "not absolute",
        BadPath::EmptyComponent(_) => "empty component",
        BadPath::DotComponent(_) => "dot component",
        BadPath::DeceptiveCharacter(_) => "deceptive character",
        BadPath::ComponentTooLong(_) => "component too long",
        BadPath::TooLong(_) => "too long",
        BadPath::Reserved => "reserved",
    }
}

#[test]
fn what_is_no_plain_absolute_path_is_refused() {
    let component = "a".repeat(256);
    let umlauts = "ä".repeat(128);
    let whole = format!("/shared{}", "/a".repeat(2045));
    for (text, why) in [
        ("", "not absolute"),
        (" ", "not absolute"),
        ("shared/a", "not absolute"),
        ("./shared/a", "not absolute"),
        ("\\shared\\a", "not absolute"),
        (" /shared/a", "not absolute"),
        ("file:///shared/a", "not absolute"),
        ("/", "empty component"),
        ("//", "empty component"),
        ("//shared/a", "empty component"),
        ("/shared/", "empty component"),
        ("/shared/a/", "empty component"),
        ("/shared//a", "empty component"),
        ("/.", "dot component"),
        ("/..", "dot component"),
        ("/shared/.", "dot component"),
        ("/shared/..", "dot component"),
        ("/shared/a/../b", "dot component"),
        ("/shared/a\0", "deceptive character"),
        ("/shared/\t", "deceptive character"),
        ("/shared/a\r\n", "deceptive character"),
        ("/shared/\u{7f}", "deceptive character"),
        ("/shared/\u{85}", "deceptive character"),
        ("/shared/\u{2028}", "deceptive character"),
        ("/shared/\u{202e}gpj.exe", "deceptive character"),
        ("/shared/\u{2066}a", "deceptive character"),
        ("/shared/\u{206a}a", "deceptive character"),
        ("/shared/\u{206f}", "deceptive character"),
        ("/shared/\u{200b}", "deceptive character"),
        ("/shared/pri\u{ad}vate", "deceptive character"),
        ("/shared/a\u{3164}", "deceptive character"),
        ("/shared/❤\u{fe0f}", "deceptive character"),
        ("/shared/a\u{2800}", "deceptive character"),
        ("/shared/\u{feff}a", "deceptive character"),
        ("/shared/\u{e0041}", "deceptive character"),
        ("/.cofferdam-", "reserved"),
        ("/shared/.cofferdam-x", "reserved"),
        ("/shared/.cofferdam-dir/a", "reserved"),
        (&*format!("/shared/{component}"), "component too long"),
        (&*format!("/{component}/a"), "component too long"),
        // 255 bytes, not 255 characters.
        (&*format!("/shared/{umlauts}"), "component too long"),
        (&*whole, "too long"),
    ] {
        check(text, Err(why));
    }
    assert_eq!(whole.len(), 4097, "one byte over the limit");
}

#[test]
fn plain_paths_are_taken_apart_at_the_mount() {
    check("/shared", Ok(("/shared", "")));
    check("/shared/a", Ok(("/shared", "a")));
    check("/shared/a/b c/ü.txt", Ok(("/shared", "a/b c/ü.txt")));
    for plain in [
        "...",
        "..a",
        "a..",
        ".a",
        "~",
        "-rf",
        "a\\b",
        "C:",
        "*",
        " ",
        "%2e%2e",
        ".cofferdam",
        "x.cofferdam-",
    ] {
        check(&format!("/tmp/{plain}"), Ok(("/tmp", plain)));
    }
    let (component, whole) = ("a".repeat(255), format!("/shared{}b", "/a".repeat(2044)));
    check(&format!("/tmp/{component}"), Ok(("/tmp", &component)));
    assert_eq!((whole.len(), GuestPath::parse(&whole).is_ok()), (4096, true));
}

#[test]
fn being_below_is_by_whole_components() {
    let below = |path: &str, dir: &str| {
        GuestPath::parse(path).expect("a path").is_below(&GuestPath::parse(dir).expect("a path"))
    };
    assert!(below("/shared/a/b", "/shared/a") && below("/shared/a", "/shared"));
    for (path, dir) in [
        ("/shared/a", "/shared/a"),
        ("/shared/ab", "/shared/a"),
        ("/shared", "/shared/a"),
        ("/tmp/a", "/shared"),
    ] {
        assert!(!below(path, dir), "{path} below {dir}");
    }
}

#[test]
fn a_message_shows_the_path_on_one_bounded_line() {
    for text in [format!("/shared/{}/..", "a/".repeat(1000).trim_end_matches('/')), "x".repeat(4000)] {
        let said = GuestPath::parse(&text).expect_err("refused").to_string();
        assert!(said.len() < 400 && said.lines().count() == 1, "{said}");
    }
}

/// The rules as the design says them, one after the other, without regard to speed or order.
fn oracle(text: &str) -> bool {
    let Some(relative) = text.strip_prefix('/') else { return false };
    let components: Vec<&str> = relative.split('/').collect();
    let plain = |c: char| {
        let bidi = ('\u{202A}'..='\u{202E}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
        let separator = c == '\u{2028}' || c == '\u{2029}';
        let mark = c == '\u{061C}' || ('\u{200B}'..='\u{200F}').contains(&c) || c == '\u{FEFF}';
        let invisible = ('\u{2060}'..='\u{2065}').contains(&c) || ('\u{FFF0}'..='\u{FFFB}').contains(&c);
        let hyphen_or_joiner = c == '\u{AD}' || c == '\u{34F}';
        let filler = ['\u{115F}', '\u{1160}', '\u{3164}', '\u{FFA0}', '\u{2800}'].contains(&c);
        let khmer_or_mongolian =
            ['\u{17B4}', '\u{17B5}'].contains(&c) || ('\u{180B}'..='\u{180F}').contains(&c);
        let variation = ('\u{FE00}'..='\u{FE0F}').contains(&c);
        let score = ('\u{1BCA0}'..='\u{1BCA3}').contains(&c) || ('\u{1D173}'..='\u{1D17A}').contains(&c);
        let tag = ('\u{E0000}'..='\u{E0FFF}').contains(&c);
        let digit_shape = ('\u{206A}'..='\u{206F}').contains(&c);
        let blank = hyphen_or_joiner || filler || khmer_or_mongolian || variation || score;
        !(c.is_control() || bidi || separator || mark || invisible || tag || digit_shape || blank)
    };
    text.len() <= 4096
        && text.chars().all(plain)
        && components.iter().all(|name| !name.is_empty() && *name != "." && *name != "..")
        && components.iter().all(|name| name.len() <= 255 && !name.starts_with(".cofferdam-"))
}

/// Texts from pieces that matter, so that most are nearly paths.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just("/".to_owned()),
        4 => prop::sample::select(vec!["shared", "tmp", "a", "ü", "..", ".", "...", ".cofferdam-", ".cofferdam", " ", "\\", "~"])
            .prop_map(str::to_owned),
        1 => prop::sample::select(vec!['\0', '\n', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{2029}', '\u{ad}', '\u{2800}', '\u{fe0f}', '\u{e0fff}'])
            .prop_map(String::from),
        1 => (250usize..260).prop_map(|n| "n".repeat(n)),
    ];
    let nearly = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
    let absolute = nearly.clone().prop_map(|rest| format!("/shared/{rest}"));
    let long = (4000usize..4200, nearly.clone()).prop_map(|(n, rest)| {
        let names = "/abcdefghi".repeat(n / 10);
        format!("{names}{}{rest}", "/x".repeat(n % 10))
    });
    prop_oneof![3 => nearly, 4 => absolute, 1 => long, 1 => any::<String>()]
}

proptest! {
    #[test]
    fn parsing_agrees_with_the_rules_said_plainly(text in text()) {
        prop_assert_eq!(GuestPath::parse(&text).is_ok(), oracle(&text));
    }

    #[test]
    fn a_parsed_path_is_what_was_written(text in text()) {
        if let Ok(path) = GuestPath::parse(&text) {
            prop_assert_eq!(path.as_str(), &text);
            let whole = if path.is_mount() { path.mount().to_owned() } else { format!("{}/{}", path.mount(), path.below_mount()) };
            prop_assert_eq!(whole, text);
            prop_assert_eq!(path.mount().matches('/').count(), 1);
        }
    }
}
