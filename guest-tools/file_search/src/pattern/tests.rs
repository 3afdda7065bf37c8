//! Patterns that are refused, with advice, and patterns that would take for ever elsewhere.

use super::*;

#[test]
fn what_is_not_searched_for() {
    let refused = |text: &str, said: &str| {
        let why = Pattern::regex(text, Case::AsWritten).err().unwrap_or_else(|| panic!("{text} compiles"));
        assert!(why.contains(said) && !why.contains('\n'), "{text}: {why}");
    };
    refused("(", "unclosed group");
    refused("a{2,1}", "not valid");
    refused("(?=a)", "look-around");
    refused("(a)\\1", "backreferences");
    refused(&"(".repeat(500), "not valid");
    let nested = |depth| "(".repeat(depth) + "a" + &")".repeat(depth);
    refused(&nested(100), "nest");
    assert!(Pattern::regex(&nested(60), Case::AsWritten).is_ok());
    refused("(a{1000}){1000}", "too large");
    refused("((a{100}){100}){100}", "too large");
    refused("\\w{5000}", "too large");
    refused("(?i)\\pL{3000}", "too large");
    assert!(Pattern::text("a\nb", Case::AsWritten).is_err());
}

#[test]
fn hostile_expressions_take_time_linear_in_the_text() {
    // Backtracking would not end.
    let text = "a".repeat(100_000);
    for hostile in ["(a*)*b", "(a|a)*b", "(a|aa)+$b", "(.*)(.*)(.*)(.*)[0-9]", "(x+x+)+y"] {
        let pattern = Pattern::regex(hostile, Case::AsWritten).unwrap();
        assert_eq!(pattern.find_at(text.as_bytes(), 0), None, "{hostile}");
    }
}

#[test]
fn case_and_special_characters_of_a_text() {
    let find =
        |text: &str, case, within: &str| Pattern::text(text, case).unwrap().find_at(within.as_bytes(), 0);
    assert_eq!(find("a.c", Case::AsWritten, "abc a.c"), Some(4..7));
    assert_eq!(find("a.C", Case::Either, "abc A.c"), Some(4..7));
    assert_eq!(find("ÄÖ", Case::Either, "x äö"), Some(2..6));
    assert_eq!(find("a", Case::AsWritten, "A"), None);
}
