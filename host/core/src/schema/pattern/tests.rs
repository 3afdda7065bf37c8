//! Patterns: what is refused and how, and what each escape means.

use super::*;
use crate::schema::PATTERN_TABLES_BYTES_MAX;

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text, PATTERN_TABLES_BYTES_MAX)
}

#[test]
fn what_no_finite_automaton_decides_is_refused() {
    for (text, says) in [
        ("(?=(a+))a*b", "looks ahead"),
        ("^(?!x)", "looks ahead"),
        ("(?<=a)b", "looks behind"),
        ("(?<!a)b", "looks behind"),
        (r"(a)\1", "refers back"),
        (r"(?<n>a)\k<n>", "refers back"),
        ("(?i:a)", "group that is not known"),
        ("(?P<n>a)", "group that is not known"),
        ("(?<n", "name without its end"),
        ("(?", "group that is not known"),
    ] {
        let said = pattern(text).expect_err(text);
        assert!(said.contains(says), "{text}: {said}");
    }
}

#[test]
fn what_is_no_pattern_is_refused() {
    for (text, says) in [
        ("(", "no regular expression: unclosed group"),
        (")", "no regular expression: unopened group"),
        ("[a", "without its ]"),
        ("a{2", "without counts"),
        ("a{,2}", "without counts"),
        ("a{1,2,3}", "without counts"),
        ("a{3,1}", "no regular expression"),
        ("{", "repeats nothing"),
        ("*a", "repeats nothing"),
        ("a**", "repeats nothing"),
        ("^*", "repeats nothing"),
        ("a}", "closes nothing"),
        ("]", "closes nothing"),
        ("\\", "ends with"),
        (r"\y", "not known"),
        (r"\é", "not known"),
        (r"\01", "not known"),
        (r"\pL", "without a name"),
        (r"\p{Nope}", "no regular expression"),
        (r"\x4", "too few digits"),
        (r"\u00", "too few digits"),
        (r"\u+123", "too few digits"),
        (r"\ud83d", "half a character"),
        (r"\udc00", "half a character"),
        (r"\u{110000}", "no character"),
        (r"\u{}", "no character"),
        (r"\c1", "without a letter"),
        (r"[a-\d]", "more than one character"),
        ("[z-a]", "no regular expression"),
    ] {
        let said = pattern(text).expect_err(text);
        assert!(said.contains(says), "{text}: {said}");
        assert!(!said.contains('\n'), "{said}");
    }
}

#[test]
fn patterns_are_bounded() {
    for text in [
        "((a{1000}){1000}){1000}".to_owned(),
        r"\p{L}{2000}".into(),
        // Every subset of thirty states.
        "[01]*1[01]{30}".into(),
        "a".repeat(PATTERN_BYTES_MAX + 1),
        "(".repeat(2000) + &")".repeat(2000),
    ] {
        let said = pattern(&text).expect_err("refused");
        assert!(said.len() < 300, "{said}");
    }
    let one = pattern("^[a-z]{1,100}$").expect("small");
    assert!(Pattern::new("^[a-z]{1,100}$", one.bytes() / 2).is_err(), "tables within the bound given");
}

#[test]
fn escapes_mean_what_ecma_262_says() {
    for (text, fits, fails) in [
        (r"^\d$", &["0", "9"][..], &["٣", "a", ""][..]),
        (r"^\D$", &["a", "٣"], &["0"]),
        (r"^\w$", &["a", "Z", "_", "0"], &["é", "-"]),
        (r"^\W$", &["é", "-", " "], &["a"]),
        (r"^\s$", &[" ", "\t", "\u{A0}", "\u{FEFF}", "\u{2028}"], &["a", "\u{85}", "\u{200B}"]),
        (r"^\S$", &["a", "\u{85}"], &[" ", "\u{3000}"]),
        (r"^.$", &["a", "é", "😀", "\u{85}"], &["\n", "\r", "\u{2028}", "ab", ""]),
        (r"\bfoo\b", &["a foo", "foo.", "éfoo"], &["foot", "afoo", "_foo"]),
        (r"o\Bo", &["foo"], &["o o"]),
        (r"^[\b]$", &["\u{8}"], &["b"]),
        (r"^[\w-]+$", &["a-b_"], &["a b"]),
        (r"^[a\-z]$", &["-", "a", "z"], &["b"]),
        (r"^[-a]$", &["-", "a"], &["b"]),
        (r"^[a-]$", &["-", "a"], &["b"]),
        (r"^[a-c-e]$", &["b", "-", "e"], &["d"]),
        (r"^[^\d]$", &["a"], &["1"]),
        (r"^[&&~~[(.-]$", &["&", "~", "-", "[", "(", "."], &["a"]),
        (r"^[#-'&&x]$", &["#", "$", "'", "x"], &["a"]),
        (r"^[^]$", &["a", "\n"], &[""]),
        ("^[]$", &[], &["a", ""]),
        (r"^\cA\x41\u0042\u{43}\0$", &["\u{1}ABC\0"], &["ABC"]),
        (r"^\ud83d\ude00$", &["😀"], &["x"]),
        (r"^\t\n\v\f\r\/\.\-$", &["\t\n\u{B}\u{C}\r/.-"], &[""]),
        (r"^\p{Lu}\P{Lu}\p{Script=Greek}$", &["Éaα"], &["ÉAα", "Éaa"]),
        ("^(?<year>\\d{4})$", &["2026"], &["20"]),
        ("^a{2,3}?$", &["aa", "aaa"], &["a", "aaaa"]),
        ("^a{2,}$", &["aa", "aaaa"], &["a"]),
        ("a|^$", &["", "xa"], &["x"]),
        ("b", &["abc"], &["ac"]),
        ("^a$", &["a"], &["a\n", "\na"]),
        ("^ #x$", &[" #x"], &["x"]),
        ("", &["", "anything"], &[]),
    ] {
        let compiled = pattern(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        for fit in fits {
            assert!(compiled.is_in(fit), "{text} is in {fit:?}");
        }
        for fail in fails {
            assert!(!compiled.is_in(fail), "{text} is not in {fail:?}");
        }
    }
}

#[test]
fn patterns_that_generators_write_are_taken() {
    for text in [
        r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$",
        r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?$",
        r"^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$",
        r"^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$",
        r"^[A-Za-z0-9_-]*$",
        r"^\+[1-9]\d{6,14}$",
        r"^.{1,255}$",
        r"^[\p{L}\p{N}]+$",
        r"^-?\d+(?:\.\d+)?$",
    ] {
        pattern(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
}
