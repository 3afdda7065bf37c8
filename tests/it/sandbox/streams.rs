//! Host streams used against their contract: more than permitted, without asking, from one into the
//! other.

use super::{answered, hostile, refused};
use support::home::Home;

/// What the guest was told by a stream of the host.
fn told(home: &Home, behaviour: &str, bytes: u64) -> serde_json::Value {
    let arguments = [&format!("behaviour={behaviour}"), "path=/shared/a", &format!("bytes={bytes}")];
    answered(home, &arguments)["result"].take()
}

fn trapped(home: &Home, behaviour: &str, bytes: u64, says: &str) {
    let arguments = [&format!("behaviour={behaviour}"), "path=/shared/a", &format!("bytes={bytes}")];
    refused(home, &arguments, "trapped", says);
}

#[test]
fn a_write_carries_what_the_stream_permits() {
    let home = hostile();
    assert_eq!(told(&home, "write_unpermitted", 1 << 20), "ok");
    trapped(&home, "write_unpermitted", (1 << 20) + 1, "more bytes than the stream permits");
    trapped(&home, "write_over_permit", 1, "more bytes than the stream permits");
    trapped(&home, "write_unpermitted", 7 << 20, "too much data is being copied");
    assert_eq!(told(&home, "blocking_write_too_long", 4096), "ok");
    trapped(&home, "blocking_write_too_long", 4097, "expected at most 4096");
}

#[test]
fn zeroes_cost_the_host_no_memory() {
    let home = hostile();
    let said = told(&home, "write_zeroes", 1 << 20);
    assert_eq!((&said["permitted"], &said["result"]), (&(1 << 20).into(), &"ok".into()));
    trapped(&home, "write_zeroes", (1 << 20) + 1, "more zeroes than the stream permits");
    trapped(&home, "write_zeroes", u64::from(u32::MAX), "more zeroes than the stream permits");
}

#[test]
fn an_attachment_can_be_spliced_into_a_file() {
    let home = hostile();
    let file = home.file("one.txt", b"one");
    for bytes in ["bytes=3", "bytes=18446744073709551615"] {
        let arguments = ["behaviour=splice_attachment", "path=/shared/a", bytes, "--attach", &file];
        assert_eq!(answered(&home, &arguments)["result"], "ok", "{bytes}");
    }
    let none = ["behaviour=splice_attachment", "path=/shared/a"];
    assert_eq!(answered(&home, &none)["result"], "no_attachments");
}

#[test]
fn nothing_of_that_is_published() {
    let home = hostile();
    told(&home, "write_unpermitted", 1000);
    assert!(!home.host("/shared/a").exists());
}
