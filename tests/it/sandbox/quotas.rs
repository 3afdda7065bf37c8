//! How much a call, and the workspace, may hold.

use super::{answered, hostile, put, refused};
use support::home::Home;

fn write(bytes: u64) -> [String; 3] {
    ["behaviour=write_bytes".into(), "path=/shared/a".into(), format!("bytes={bytes}")]
}

fn fits(home: &Home, bytes: u64) {
    let arguments = write(bytes);
    let said = answered(home, &arguments.each_ref().map(String::as_str));
    assert_eq!(said["bytes"], bytes);
    assert_eq!(std::fs::metadata(home.host("/shared/a")).expect("published").len(), bytes);
}

fn over(home: &Home, bytes: u64, says: &str) {
    let arguments = write(bytes);
    refused(home, &arguments.each_ref().map(String::as_str), "quota_exceeded", says);
}

#[test]
fn a_call_writes_what_its_policy_says() {
    let home = Home::new().hostile("written_bytes = \"1 MiB\"");
    over(&home, (1 << 20) + 1, "this call may write 1 MiB in all");
    assert!(!home.host("/shared/a").exists());
    fits(&home, 1 << 20);
}

#[test]
fn attachments_count_as_written() {
    let home = Home::new().hostile("written_bytes = \"10 B\"");
    let file = home.file("six.txt", b"sixsix");
    let once = ["behaviour=append_attachment", "path=/shared/a", "bytes=1", "--attach", &file];
    assert_eq!(answered(&home, &once)["bytes"], 6);
    let twice = ["behaviour=append_attachment", "path=/shared/b", "bytes=2", "--attach", &file];
    refused(&home, &twice, "quota_exceeded", "this call may write 10 B in all");
    assert!(!home.host("/shared/b").exists());
}

#[test]
fn the_workspace_holds_what_its_configuration_says() {
    let home = hostile().config("[workspace]\nroot = \"workspace\"\nmax_bytes = \"1 MiB\"\n");
    put(&home, "/shared/mine", &[b'x'; 600 << 10]);
    over(&home, 500 << 10, "the workspace may hold 1 MiB");
    assert!(!home.host("/shared/a").exists());
    fits(&home, 300 << 10);
    // Room that a person makes is room at once.
    over(&home, 700 << 10, "the workspace may hold 1 MiB");
    std::fs::remove_file(home.host("/shared/mine")).expect("ours");
    fits(&home, 700 << 10);
}

#[test]
fn a_call_makes_so_many_directories_and_leaves_none_where_it_wants_more() {
    let home = hostile();
    let write = |depth: usize| -> [String; 3] {
        ["behaviour=write_bytes".into(), format!("path=/shared{}/a", "/d".repeat(depth)), "bytes=1".into()]
    };
    let over = write(81);
    let says =
        "one call may make 80 directories; make the rest in another call, or raise changes in the policy";
    refused(&home, &over.each_ref().map(String::as_str), "quota_exceeded", says);
    assert!(!home.host("/shared/d").exists());
    // What is there is not made.
    for fits in [write(80), write(160)] {
        assert_eq!(answered(&home, &fits.each_ref().map(String::as_str))["bytes"], 1);
    }
}

#[test]
fn a_turn_writes_what_its_configuration_says() {
    let home = hostile().config("[turns]\nwritten_bytes = \"1 MiB\"\n");
    over(
        &home,
        (1 << 20) + 1,
        "one turn may write 1 MiB in all; go on in another message, or raise turns.written_bytes",
    );
    assert!(!home.host("/shared/a").exists());
    fits(&home, 1 << 20);
    // Another turn has its own share.
    fits(&home, 1 << 20);
    // The smaller of the two limits counts, and is the one that is named.
    let home =
        Home::new().hostile("written_bytes = \"1 MiB\"").config("[turns]\nwritten_bytes = \"2 MiB\"\n");
    over(&home, (1 << 20) + 1, "this call may write 1 MiB in all");
}
