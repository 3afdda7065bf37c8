//! `file_write_bytes`: raw bytes from base64, all or nothing.

use super::check::{bytes, home, refuses, works};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;
use std::fs;
use support::guests::sha256;
use support::home::{Home, Ran};

fn write(home: &Home, path: &str, bytes: &[u8], overwrite: bool) -> Ran {
    let text = json!({ "path": path, "content_base64": STANDARD.encode(bytes), "overwrite": overwrite });
    // One argument of a process is limited to 128 KiB.
    let file = home.file("arguments", text.to_string().as_bytes());
    home.call(&["file_write_bytes", "--args", &format!("@{file}")])
}

#[test]
fn every_byte_is_written() {
    let home = home();
    let all: Vec<u8> = (0..=255).collect();
    for (name, sent) in [
        ("all", all),
        ("none", Vec::new()),
        ("one", vec![0]),
        ("large", bytes(3 << 20)),
        ("max", bytes(8 << 20)),
    ] {
        let path = format!("/shared/{name}");
        let ran = write(&home, &path, &sent, false);
        let told =
            json!({ "written": true, "path": path, "bytes_written": sent.len(), "sha256": sha256(&sent) });
        assert_eq!((ran.code, ran.json()), (Some(0), told));
        assert!(fs::read(home.host(&path)).expect("written") == sent, "{name}");
    }
    works(&home);
}

#[test]
fn the_audit_holds_the_hash_and_not_the_content() {
    let home = home();
    write(&home, "/shared/a", b"a secret of the user", false);
    let text = fs::read_to_string(home.state().join("audit.jsonl")).expect("there");
    assert!(text.contains(&sha256(b"a secret of the user")));
    assert!(!text.contains(&STANDARD.encode(b"a secret")[..8]));
}

#[test]
fn overwriting_works_both_ways() {
    let home = home();
    assert_eq!(write(&home, "/tmp/d/a", b"old", false).code, Some(0));
    assert_eq!(write(&home, "/tmp/d/a", b"new", false).error(), "already_exists");
    assert_eq!(fs::read(home.host("/tmp/d/a")).expect("there"), b"old");
    assert_eq!(write(&home, "/tmp/d/a", b"new", true).code, Some(0));
    assert_eq!(fs::read(home.host("/tmp/d/a")).expect("there"), b"new");
    works(&home);
}

#[test]
fn bad_base64_names_the_offset_and_writes_nothing() {
    let home = home();
    let check = |content: &str, told: &str| {
        let arguments = json!({ "path": "/shared/new/a", "content_base64": content }).to_string();
        let ran = refuses(&home, "invalid_arguments", &["file_write_bytes", "--args", &arguments]);
        assert!(ran.message().contains(told), "{content:?}: {ran:?}");
    };
    check("YWJ*", "offset 3");
    check("YW Jj", "offset 2");
    check("YWJj\nYWJj", "offset 4");
    check("YW==YWJj", "offset 2");
    check("YWJ", "groups of four");
    check("YWJj=", "offset 4");
    check("YWK=YQ", "offset 3");
    check("_-Jj", "offset 0");
    check("YWé=", "offset 2");
    // The fault lies in the second piece that is decoded, when the first is written already.
    check(&format!("{}*AAA", "A".repeat(40_000)), "offset 40000");
}

#[test]
fn too_much_is_refused_before_anything_is_written() {
    let home = home();
    let over = |len: usize| {
        let text = json!({ "path": "/shared/a", "content_base64": STANDARD.encode(bytes(len)) }).to_string();
        format!("@{}", home.file("arguments", text.as_bytes()))
    };
    let ran = refuses(&home, "too_large", &["file_write_bytes", "--args", &over((8 << 20) + 1)]);
    assert!(ran.message().contains("8 MiB"), "{ran:?}");
    // More than the policy takes as arguments at all.
    let ran = refuses(&home, "too_large", &["file_write_bytes", "--args", &over(10 << 20)]);
    assert!(ran.message().contains("12 MiB"), "{ran:?}");
}
