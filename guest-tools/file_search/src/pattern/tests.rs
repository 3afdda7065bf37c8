//! Patterns that are refused, with advice, and patterns that would take for ever elsewhere.

use cofferdam_sdk::serde_json::{from_value, json};
use grep_matcher::Matcher;

use super::*;

/// What these words mean as arguments.
fn compile(pattern: &str, regex: bool, case_insensitive: bool) -> Result<RegexMatcher, String> {
    let arguments = json!({
        "path": "/shared", "pattern": pattern, "regex": regex, "case_insensitive": case_insensitive
    });
    of(&from_value(arguments).unwrap())
}

/// A regular expression.
pub(crate) fn regex(pattern: &str) -> Result<RegexMatcher, String> {
    compile(pattern, true, false)
}

#[test]
fn what_is_not_searched_for() {
    let refused = |text: &str, said: &str| {
        let why = regex(text).err().unwrap_or_else(|| panic!("{text} compiles"));
        assert!(why.contains(said) && !why.contains('\n'), "{text}: {why}");
    };
    refused("(", "unclosed group");
    refused("a{2,1}", "invalid repetition");
    refused("(?=a)", "look-around");
    refused("(a)\\1", "backreferences");
    refused("a\\nb", "one by one");
    let nested = |depth| "(".repeat(depth) + "a" + &")".repeat(depth);
    refused(&nested(100), "nest");
    assert!(regex(&nested(60)).is_ok());
    refused("(a{1000}){1000}", "size limit");
    refused("((a{100}){100}){100}", "size limit");
    refused("\\w{5000}", "size limit");
    refused("(?i)\\pL{3000}", "size limit");
    assert!(compile("a\nb", false, false).unwrap_err().contains("one by one"));
}

#[test]
fn hostile_expressions_take_time_linear_in_the_text() {
    // Backtracking would not end.
    let text = "a".repeat(100_000);
    for hostile in ["(a*)*b", "(a|a)*b", "(a|aa)+$b", "(.*)(.*)(.*)(.*)[0-9]", "(x+x+)+y"] {
        let pattern = regex(hostile).unwrap();
        assert_eq!(pattern.find(text.as_bytes()), Ok(None), "{hostile}");
    }
}

#[test]
fn case_and_special_characters_of_a_text() {
    let find = |text: &str, case_insensitive, within: &str| {
        let found = compile(text, false, case_insensitive).unwrap().find(within.as_bytes());
        found.unwrap().map(|found| found.start()..found.end())
    };
    assert_eq!(find("a.c", false, "abc a.c"), Some(4..7));
    assert_eq!(find("a.C", true, "abc A.c"), Some(4..7));
    assert_eq!(find("ÄÖ", true, "x äö"), Some(2..6));
    assert_eq!(find("a", false, "A"), None);
}
