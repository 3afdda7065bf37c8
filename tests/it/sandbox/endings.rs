//! Guests that end instead of answering: traps, panics, exits.

use super::{hostile, refused};

const CRASHED: &str = "the tool crashed and nothing was changed: ";

#[test]
fn a_trap_is_told() {
    refused(&hostile(), &["behaviour=trap"], "trapped", &format!("{CRASHED}it aborted"));
}

#[test]
fn a_panic_keeps_its_own_words_on_one_line() {
    let said = refused(&hostile(), &["behaviour=panic"], "trapped", CRASHED);
    assert!(said.ends_with("it aborted, saying: hostile  [31mpanic [0m"), "{said}");
}

#[test]
fn a_panic_after_very_much_output_is_told_too() {
    let said = refused(&hostile(), &["behaviour=lines_then_panic", "bytes=1000000"], "trapped", CRASHED);
    assert!(said.ends_with("it aborted, saying: after many lines"), "{said}");
}

#[test]
fn an_exit_is_no_answer() {
    refused(&hostile(), &["behaviour=exit"], "trapped", &format!("{CRASHED}it exited with status "));
}
