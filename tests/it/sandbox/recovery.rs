//! After any attack the next call works, in the same process.

use super::chat::Chat;
use super::put;
use support::home::Home;

#[test]
fn ten_attacks_in_a_row_leave_the_gateway_as_it_was() {
    let home = Home::new().hostile("memory = \"32 MiB\"\ndeadline = \"2s\"");
    put(&home, "/shared/mine.txt", b"mine");
    let mut chat = Chat::start(&home);
    let read = |chat: &mut Chat| {
        let said = chat.say("/file_read path=/shared/mine.txt");
        assert!(said.contains(r#""content":"mine""#), "{said}");
    };
    for (behaviour, code) in [
        ("spin", "timed_out"),
        ("sleep", "timed_out"),
        ("spin_bulk", "timed_out"),
        ("exhaust_memory", "out_of_memory"),
        ("grow_handles bytes=100000", "trapped"),
        ("recurse", "trapped"),
        ("trap_mid_write path=/shared/x", "trapped"),
        ("panic", "trapped"),
        ("exit", "trapped"),
        ("stage_then_spin path=/shared/x", "timed_out"),
    ] {
        let said = chat.say(&format!("/hostile behaviour={behaviour}"));
        assert!(said.starts_with(&format!("{code}: ")), "{behaviour}: {said}");
        read(&mut chat);
    }
    chat.end();
    let codes: Vec<_> = home.audit().iter().map(|record| record["code"].clone()).collect();
    assert_eq!(codes.len(), 20, "an outcome each, and nothing else: {codes:?}");
    assert!(home.leftovers().is_empty() && !home.host("/shared/x").exists());
    assert_eq!(home.run(&["audit", "verify"]).code, Some(0));
}
