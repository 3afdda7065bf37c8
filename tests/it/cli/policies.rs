//! Policies at work: a folder replaces the embedded ones wholly, a wrong one stops everything, and
//! what a profile does not grant is denied.

use super::{put, refused};
use support::guests;
use support::home::{Home, builtin_tools};

#[test]
fn a_wrong_policy_stops_every_command_that_would_use_it() {
    let home = Home::new().policy("tools/file_read.toml", "schema = 1\ntool = \"file_read\"\nnope = 1\n");
    put(&home, "/shared/a", b"x");
    for words in [
        &["call", "file_read", "path=/shared/a"][..],
        &["call", "attachment_save"],
        &["chat"],
        &["tools"],
        &["tools", "--json"],
    ] {
        refused(&home.run(words), &["tools/file_read.toml:3: ", "`nope`"]);
    }
    assert!(home.audit().is_empty());
    // Serving asks for its token first, so it has one here.
    let home = home.telegram("http://127.0.0.1:9", &[1]);
    let serve = super::run(home.command(&["serve"]).env("TELEGRAM_BOT_TOKEN", "1:a"));
    refused(&serve, &["tools/file_read.toml:3: ", "`nope`"]);
    // Checking is what still works, and the audit stays readable.
    assert_eq!(home.run(&["policy", "check"]).code, Some(3));
    assert_eq!(home.run(&["policy", "check", "../nowhere"]).code, Some(3));
}

#[test]
fn a_missing_folder_is_no_reason_to_fall_back() {
    let home = Home::new().config("[policies]\ndir = \"nowhere\"\n");
    for words in [&["call", "file_read", "path=/shared/a"][..], &["chat"], &["tools"]] {
        refused(&home.run(words), &["nowhere/profiles"]);
    }
}

#[test]
fn a_folder_replaces_the_embedded_policies_wholly() {
    let home = Home::new().own_policies();
    for tool in builtin_tools().iter().filter(|tool| *tool != "file_read") {
        std::fs::remove_file(home.policies_dir().join(format!("tools/{tool}.toml"))).expect("ours");
    }
    let ran = home.call(&["attachment_save", "index=0", "path=/shared/a"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "unknown_tool"), "{ran:?}");
    assert!(ran.message().ends_with("; there is file_read"), "{ran:?}");
    assert_eq!(home.run(&["tools"]).stdout.lines().filter(|line| !line.starts_with(' ')).count(), 1);
}

#[test]
fn a_changed_policy_holds_from_the_next_start() {
    let home = Home::new().own_policies();
    put(&home, "/shared/a", b"x");
    assert_eq!(home.call(&["file_read", "path=/shared/a"]).code, Some(0));
    let profile = home.policies_dir().join("profiles/file-read-only.toml");
    let text = std::fs::read_to_string(&profile).expect("there");
    std::fs::write(&profile, text.replace("{ guest = \"/shared\", access = \"read-only\" },", ""))
        .expect("writable");
    let ran = home.call(&["file_read", "path=/shared/a"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "path_denied"), "{ran:?}");
    assert!(ran.message().ends_with("use /tmp/…"), "{ran:?}");
    let hashes: Vec<_> = home.audit().iter().map(|record| record["policy_sha256"].clone()).collect();
    assert_ne!(hashes[0], hashes[1], "the audit tells the two apart");
}

const MIXED: &str = "schema = 1\nprofile = \"mixed\"\nwhy = \"a test\"\ninterfaces = [\"turn-attachments\"]\nmounts = [\n\
                     { guest = \"/shared\", access = \"read-only\" }, { guest = \"/vault\", access = \"atomic-write\" },\n]\n";

#[test]
fn a_read_only_mount_is_not_written() {
    let policy = "schema = 1\ntool = \"file_write_bytes\"\nprofile = \"mixed\"\nwhy = \"a test\"\ncomponent = \"builtin\"\n\
                  safety = \"side-effecting\"\n[arguments]\npath = { path = \"write\" }\ncontent_base64 = \"content\"\n";
    let home = Home::new().policy("profiles/mixed.toml", MIXED).policy("tools/file_write_bytes.toml", policy);
    put(&home, "/shared/a", b"before");
    let write = |path: &str| home.call(&["file_write_bytes", path, "content_base64=eA==", "overwrite=true"]);
    let ran = write("path=/shared/a");
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "path_denied"), "{ran:?}");
    assert_eq!(ran.message(), "/shared is read-only under profile mixed; write to /vault/…");
    assert_eq!(write("path=/tmp/a").message(), "/tmp/a is not in a mount of profile mixed; use /vault/…");
    assert_eq!(std::fs::read(home.host("/shared/a")).expect("there"), b"before");
    assert_eq!(write("path=/vault/a").code, Some(0));
    assert_eq!(std::fs::read(home.host("/vault/a")).expect("written"), b"x");
}

#[test]
fn under_a_read_only_profile_a_tool_that_writes_does_not_load() {
    let policy = "schema = 1\ntool = \"file_write_bytes\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\ncomponent = \"builtin\"\nimports = \"strict\"\n\
                  safety = \"read-only\"\n[arguments]\npath = { path = \"read\" }\ncontent_base64 = \"content\"\n";
    let home = Home::new().policy("tools/file_write_bytes.toml", policy);
    let ran = home.call(&["file_write_bytes", "path=/shared/a", "content_base64=eA=="]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "tool_unavailable"), "{ran:?}");
    assert!(ran.message().contains("workspace-write"), "the message names what is not granted: {ran:?}");
    assert!(!home.host("/shared/a").exists());
    assert_eq!(home.run(&["policy", "check"]).code, Some(3));
}

#[test]
fn a_read_only_profile_gives_a_guest_no_way_to_write() {
    // The guest uses `std::fs` behind the interfaces' back; it imports nothing that is not granted.
    let policy = "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = { path = \"write\" }\nbytes = \"value\"\n";
    let home = Home::new().policy("profiles/mixed.toml", MIXED).tool("hostile", "mixed", "hostile", policy);
    put(&home, "/vault/a", b"before");
    for behaviour in [
        "write_direct",
        "append_direct",
        "truncate_direct",
        "set_len_direct",
        "rename_direct",
        "remove_direct",
    ] {
        let ran = home.call(&["hostile", &format!("behaviour={behaviour}"), "path=/vault/a"]);
        assert!(!ran.stdout.contains("\"done\":true"), "{behaviour}: {ran:?}");
        assert_eq!(std::fs::read(home.host("/vault/a")).expect("there"), b"before", "{behaviour}: {ran:?}");
    }
    let entries = std::fs::read_dir(home.host("/vault")).expect("there").count();
    assert_eq!(entries, 1);
}

#[test]
fn write_below_grants_what_lies_below_and_not_the_folder_itself() {
    let policy = "safety = \"side-effecting\"\n[arguments]\nbehaviour = \"value\"\npath = { path = \"write-below\" }\nbytes = \"value\"\n";
    let home = Home::new().tool("hostile", "file-read-write", "hostile", policy);
    let ran = home.call(&["hostile", "behaviour=stage_create", "path=/shared/in"]);
    assert_eq!(
        (ran.code, ran.error().as_str()),
        (Some(1), "path_denied"),
        "the folder is not below itself: {ran:?}"
    );
    assert!(!home.host("/shared/in").exists());
}

#[test]
fn a_component_that_changed_after_its_review_does_not_run() {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"\n";
    let home = Home::new().tool("hello", "file-read-only", "minimal", policy);
    assert_eq!(home.call(&["hello", "name=you"]).code, Some(0));
    let file = home.policies_dir().join("tools/hello.wasm");
    let mut bytes = guests::bytes("minimal");
    // A custom section at the end: another file that does the same.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(&file, &bytes).expect("writable");
    let ran = home.call(&["hello", "name=you"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "tool_unavailable"), "{ran:?}");
    assert!(ran.message().contains(&guests::sha256(&bytes)) && ran.message().contains("review"), "{ran:?}");
    std::fs::remove_file(&file).expect("ours");
    assert_eq!(
        home.call(&["hello", "name=you"]).error(),
        "tool_unavailable",
        "nothing is served from the cache alone"
    );
}
