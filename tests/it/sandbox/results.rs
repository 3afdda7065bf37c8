//! Results that are none: too large, no JSON, ambiguous, or posing as an error of the host.

use super::{answered, attack, refused};
use support::home::Home;

/// The attacker with room for large results of its own.
fn roomy(limits: &str) -> Home {
    Home::new().hostile(&format!("memory = \"64 MiB\"\n{limits}"))
}

#[test]
fn results_are_taken_up_to_the_limit() {
    let home = roomy("");
    let whole = attack(&home, &["behaviour=huge_result", "bytes=4194304"]);
    assert_eq!((whole.code, whole.stdout.len()), (Some(0), (4 << 20) + 1));
    let said = "the tool returned 4194305 bytes; at most 4 MiB are taken. Ask for less.";
    refused(&home, &["behaviour=huge_result", "bytes=4194305"], "too_large", said);
    // So much more that it is not even copied out of the guest.
    refused(&home, &["behaviour=huge_result", "bytes=12000000"], "trapped", "too much data");
}

#[test]
fn a_policy_can_take_less() {
    let home = roomy("result = \"1 KiB\"");
    answered(&home, &["behaviour=huge_result", "bytes=1024"]);
    refused(&home, &["behaviour=huge_result", "bytes=1025"], "too_large", "at most 1 KiB are taken");
}

#[test]
fn what_is_no_json_object_is_no_result() {
    let home = roomy("");
    for (behaviour, says) in [
        ("invalid_json_result", "returned no JSON: EOF while parsing an object"),
        ("duplicate_keys_result", "returned no JSON: duplicate key \"ok\""),
        ("two_lines_result", "returned no JSON: trailing characters"),
        ("empty_result", "returned no JSON: EOF while parsing a value"),
        ("non_object_result", "returned JSON that is not an object"),
    ] {
        refused(&home, &[&format!("behaviour={behaviour}")], "trapped", says);
    }
}

#[test]
fn nesting_ends_where_readers_give_up() {
    let home = roomy("");
    answered(&home, &["behaviour=deep_result", "bytes=100"]);
    for bytes in ["bytes=200", "bytes=1000000"] {
        refused(&home, &["behaviour=deep_result", bytes], "trapped", "recursion limit exceeded");
    }
}

#[test]
fn no_result_can_be_taken_for_an_error_of_the_host() {
    refused(&roomy(""), &["behaviour=error_shaped_result"], "trapped", "returned an error as its result");
}
