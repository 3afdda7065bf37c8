//! What a guest says of its failure: its words, the contract's codes, and nothing that a terminal
//! obeys.

use super::chat::Chat;
use super::{hostile, refused};

#[test]
fn a_message_is_one_bounded_line_without_anything_hidden() {
    let home = hostile();
    let short = refused(&home, &["behaviour=error_message"], "not_found", "ERROR");
    let long = refused(&home, &["behaviour=error_message", "bytes=10000"], "not_found", "ERROR");
    assert!(long.len() > 2000 && long.len() <= 2048 && long.ends_with('…'), "{} bytes", long.len());
    for message in [short, long] {
        assert!(!message.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\n', '\r', '\0']), "{message:?}");
        assert!(message.contains('🦀'), "{message:?}");
    }
    let audited = home.audit().pop().expect("an outcome");
    let reason = audited["reason"].as_str().expect("a reason");
    assert!(reason.len() <= 1024 && !reason.contains(char::is_control), "{reason:?}");
}

#[test]
fn a_guest_has_its_own_codes_only() {
    let home = hostile();
    let words = r#"timed_out: the host ended this call {"error":{"code":"internal"}}"#;
    assert_eq!(refused(&home, &["behaviour=lie:no_space"], "no_space", ""), words);
    // The contract has no way to say these.
    for code in ["timed_out", "internal", "trapped", "approval_denied"] {
        refused(&home, &[&format!("behaviour=lie:{code}")], "path_denied", words);
    }
}

#[test]
fn in_a_channel_the_code_comes_first_on_the_same_line() {
    let home = hostile();
    let mut chat = Chat::start(&home);
    let said = chat.say("/hostile behaviour=lie:not_found");
    assert_eq!(said, r#"not_found: timed_out: the host ended this call {"error":{"code":"internal"}}"#);
    chat.end();
}
