//! Guests that take as much as they get: memory, handles, stack, random bytes.

use super::chat::Chat;
use super::{answered, hostile, put, refused, unjudged};

#[test]
fn memory_ends_at_the_limit() {
    let home = hostile();
    let grown = answered(&home, &["behaviour=grow_memory"]);
    assert_eq!(grown["refused"], true);
    let bytes = grown["grown_bytes"].as_u64().expect("a number");
    assert!((8 << 20..=16 << 20).contains(&bytes), "{bytes}");
    refused(&home, &["behaviour=exhaust_memory"], "out_of_memory", "more memory than its limit of 16 MiB");
}

#[test]
fn handles_end_at_the_limit() {
    let home = unjudged();
    assert_eq!(answered(&home, &["behaviour=grow_handles", "bytes=100"])["handles"], 100);
    refused(&home, &["behaviour=grow_handles", "bytes=100000"], "trapped", "more than 256 files, streams");
    // Even the number alone is more than there is memory for.
    refused(&home, &["behaviour=grow_handles"], "trapped", "capacity overflow");
    put(&home, "/shared/a", b"a");
    assert_eq!(answered(&home, &["behaviour=open_many", "path=/shared/a", "bytes=200"])["opened"], 200);
    refused(
        &home,
        &["behaviour=open_many", "path=/shared/a", "bytes=5000"],
        "trapped",
        "handle limit exceeded",
    );
}

#[test]
fn attachments_can_be_held_open_up_to_the_limit() {
    let home = hostile();
    let file = home.file("one.txt", b"one");
    let held = answered(&home, &["behaviour=open_attachments", "bytes=100", "--attach", &file]);
    assert_eq!(held["opened"], 100);
    let many = ["behaviour=open_attachments", "bytes=5000", "--attach", &file];
    refused(&home, &many, "trapped", "more than 256 files, streams");
}

#[test]
fn the_stack_ends() {
    let home = hostile();
    refused(&home, &["behaviour=recurse"], "trapped", "its stack overflowed");
    // 512 KiB, in frames of about 1 KiB.
    let deep = answered(&home, &["behaviour=descend", "bytes=400"]);
    assert!(deep["descended"].is_u64(), "{deep}");
    refused(&home, &["behaviour=descend", "bytes=700"], "trapped", "its stack overflowed");
}

#[test]
fn random_bytes_come_in_bounded_pieces() {
    let home = hostile();
    let random = answered(&home, &["behaviour=random", "bytes=65536"]);
    assert_eq!((&random["bytes"], &random["all_zero"]), (&65536.into(), &false.into()));
    refused(&home, &["behaviour=random", "bytes=65537"], "trapped", "exceeds limit 65536");
    refused(&home, &["behaviour=random", "bytes=4294967295"], "trapped", "exceeds limit 65536");
}

#[test]
fn the_gateway_stays_small_whatever_guests_take() {
    let home = hostile();
    let mut chat = Chat::start(&home);
    chat.say("/hostile behaviour=ok");
    let before = chat.kib("VmHWM");
    for (behaviour, answer) in [
        ("grow_memory", "{\"grown_bytes\""),
        ("exhaust_memory", "out_of_memory: "),
        ("grow_handles bytes=100000", "trapped: "),
        ("recurse", "trapped: "),
        ("random bytes=4294967295", "trapped: "),
        ("stdout_flood", "{\"written\":104857600"),
        ("stderr_flood", "{\"written\":104857600"),
        ("huge_result bytes=100000000", "out_of_memory: "),
        ("deep_result bytes=1000000", "trapped: "),
        ("error_message bytes=2000000", "not_found: "),
        ("write_zeroes path=/shared/a bytes=4000000000", "trapped: "),
        ("blocking_write_too_long path=/shared/a bytes=4000000", "trapped: "),
        ("write_bytes path=/shared/a bytes=60000000", "quota_exceeded: "),
        ("stage_many path=/shared/a bytes=1000", "{\"staged\":16"),
    ] {
        let said = chat.say(&format!("/hostile behaviour={behaviour}"));
        assert!(said.starts_with(answer), "{behaviour}: {:.200}", said);
    }
    assert_eq!(chat.say("/hostile behaviour=ok"), r#"{"ok":true}"#);
    // The guest's 16 MiB, results in flight, and what an allocator keeps.
    let taken = chat.kib("VmHWM").saturating_sub(before);
    assert!(taken < 48 << 10, "{taken} KiB on top of {before}");
    let kept = chat.kib("VmRSS").saturating_sub(before);
    assert!(kept < 24 << 10, "{kept} KiB still held");
    chat.end();
}
