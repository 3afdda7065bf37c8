//! What is told of edits that cannot be made.

use super::*;
use crate::apply;

fn edit(old_text: &str, new_text: &str) -> Edit {
    Edit { old_text: old_text.into(), new_text: new_text.into(), all: false }
}

/// The edits are refused with a message that has all these parts.
fn refused(text: &[u8], edits: &[(&str, &str)], parts: &[&str]) {
    let edits: Vec<Edit> = edits.iter().map(|(old, new)| edit(old, new)).collect();
    let made = check(&edits).and_then(|()| apply(text, &edits, "/shared/a", |_| Ok(())));
    let error = made.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArguments, "{}", error.message);
    for part in parts {
        assert!(error.message.contains(part), "{part:?} in {:?}", error.message);
    }
    assert!(error.message.len() < 2048, "{}", error.message.len());
}

#[test]
fn several_matches_come_with_count_and_lines() {
    refused(
        b"a\nb\na\n",
        &[("a", "x")],
        &["edits[0].old_text is there 2 times, in lines 1 and 3", "all=true"],
    );
    refused(b"aa\n", &[("a", "x")], &["2 times, in line 1:"]);
    refused(b"x\naaa\n", &[("aa", "x")], &["2 times, in line 2:"]);
    let many = b"a\n".repeat(2000);
    refused(&many, &[("a", "x")], &["more than 1000 times, in lines 1, 2, 3, 4, 5, 6, 7, 8 and further"]);
}

#[test]
fn no_match_comes_with_what_may_be_wrong() {
    let check = |text: &[u8], old: &str, part: &str| refused(text, &[(old, "x")], &["(0 matches)", part]);
    check(b"one\r\ntwo\r\n", "one\ntwo", "end with CRLF, those of old_text with LF; write \\r\\n");
    check(b"one\ntwo\n", "one\r\ntwo", "end with LF, those of old_text with CRLF");
    check(b"x\n    one\ntwo\n", "  one\n  two", "its first line is in line 2, so the white space");
    check(b"one\nx\none\ny\n", "one\nz", "its first line is in lines 1 and 3");
    check(b"one\n", "three", "not even its first line");
    check(b"one\n", "\t", "white space only");
    check(b"", "a", "not even its first line");
}

#[test]
fn an_edit_that_an_earlier_one_spoils_says_so() {
    refused(b"one\n", &[("one", "two"), ("one", "three")], &["edits[1]", "until an edit before it"]);
    refused(b"a\nb\n", &[("a", "b"), ("b", "c")], &["edits[1]", "2 times", "after the edits before it"]);
}

#[test]
fn all_problems_are_told_at_once_up_to_a_bound() {
    refused(b"a a\n", &[("a", "x"), ("b", "y")], &["edits[0]", "edits[1]", "The file: /shared/a"]);
    let nine: Vec<(&str, &str)> = vec![("b", "y"); 9];
    refused(b"a\n", &nine, &["edits[4]", "4 more edits"]);
}

#[test]
fn edits_that_mean_nothing_are_refused_without_a_file() {
    let refused = |edits: &[Edit], part: &str| {
        let error = check(edits).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArguments);
        assert!(error.message.contains(part), "{}", error.message);
    };
    refused(&[edit("a", "b"), edit("", "b")], "edits[1].old_text is empty");
    refused(&[edit("a", "a")], "edits[0] has the same");
    assert!(check(&[edit("a", "b"), edit("a", "b")]).is_ok());
}

#[test]
fn a_result_that_is_too_long_says_how_long() {
    let text = vec![b'a'; 1 << 20];
    let edits = [Edit { old_text: "a".into(), new_text: "b".repeat(17), all: true }];
    let error = apply(&text, &edits, "/shared/a", |_| Ok(())).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert!(error.message.contains("17825792 bytes"), "{}", error.message);
}
