//! Every call has an instance of its own: nothing of one is seen by the next, in the same process.

use super::chat::Chat;

#[test]
fn no_call_sees_the_variables_of_another() {
    let home = super::hostile();
    let mut chat = Chat::start(&home);
    for _ in 0..5 {
        assert_eq!(chat.say("/hostile behaviour=calls"), r#"{"calls":1}"#);
    }
    chat.end();
}

#[test]
fn no_call_sees_the_memory_of_another() {
    // Memory is used again by the next call: after little and after much was written, after an
    // answer and after a trap.
    let home = super::hostile();
    let mut chat = Chat::start(&home);
    for dirty in
        ["grow_memory bytes=1", "grow_memory", "exhaust_memory", "huge_result bytes=1000000", "panic"]
    {
        for bytes in [64 << 10, 1 << 20, 12 << 20] {
            let said = chat.say(&format!("/hostile behaviour={dirty}"));
            assert!(!said.is_empty(), "{dirty}");
            assert_eq!(
                chat.say(&format!("/hostile behaviour=dirt bytes={bytes}")),
                r#"{"dirt":0}"#,
                "{dirty}"
            );
        }
    }
    chat.end();
}
