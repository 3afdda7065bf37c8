//! `file_read`: windows of text and bytes, in little memory.

use super::check::{bytes, home, refuses, works};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Read;
use std::process::Stdio;
use support::home::Home;

fn read(home: &Home, arguments: &[&str]) -> Value {
    let mut all = vec!["file_read"];
    all.extend(arguments);
    let ran = home.call(&all);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

#[test]
fn text_and_bytes() {
    let home = home();
    fs::write(home.host("/shared/a.txt"), "naïve\n").expect("writable");
    fs::write(home.host("/tmp/b.bin"), [0xff, 0, 0xfe]).expect("writable");
    fs::write(home.host("/tmp/c"), "a\u{1b}[2J").expect("writable");
    fs::write(home.host("/tmp/empty"), "").expect("writable");
    let text = |path: &str, content: &str| {
        let n = content.len();
        json!({ "path": path, "encoding": "utf-8", "content": content, "offset": 0, "bytes": n, "total_bytes": n, "truncated": false })
    };
    let coded = |path: &str, content: &[u8]| {
        let (n, code) = (content.len(), STANDARD.encode(content));
        json!({ "path": path, "encoding": "base64", "content_base64": code, "offset": 0, "bytes": n, "total_bytes": n, "truncated": false })
    };
    assert_eq!(read(&home, &["path=/shared/a.txt"]), text("/shared/a.txt", "naïve\n"));
    assert_eq!(read(&home, &["path=/tmp/empty"]), text("/tmp/empty", ""));
    assert_eq!(read(&home, &["path=/tmp/b.bin"]), coded("/tmp/b.bin", &[0xff, 0, 0xfe]));
    // Valid UTF-8, but it would do something to the terminal that shows it.
    assert_eq!(read(&home, &["path=/tmp/c"]), coded("/tmp/c", b"a\x1b[2J"));
    works(&home);
}

#[test]
fn windows() {
    let home = home();
    fs::write(home.host("/shared/a"), "0123456789").expect("writable");
    let check = |offset: &str, length: &str, content: &str, truncated: bool| {
        let found = read(&home, &["path=/shared/a", offset, length]);
        assert_eq!(found["content"], *content, "{offset} {length}: {found}");
        assert_eq!(found["bytes"], content.len(), "{found}");
        assert_eq!((&found["total_bytes"], &found["truncated"]), (&10.into(), &truncated.into()), "{found}");
    };
    check("offset=0", "length=4", "0123", true);
    check("offset=4", "length=6", "456789", false);
    check("offset=9", "length=1048576", "9", false);
    check("offset=10", "length=1", "", false);
    check("offset=1000000000000", "length=1", "", false);
    check("offset=18446744073709551615", "length=1048576", "", false);
    for bad in ["length=0", "length=1048577", "length=-1", "offset=-1", "offset=0.5", "offset=a"] {
        refuses(&home, "invalid_arguments", &["file_read", "path=/shared/a", bad]);
    }
}

#[test]
fn a_character_is_not_cut() {
    let home = home();
    fs::write(home.host("/shared/a"), "aé☕z").expect("writable");
    let check = |offset: &str, length: &str, content: &str, truncated: bool| {
        let found = read(&home, &["path=/shared/a", offset, length]);
        assert_eq!((&found["content"], &found["bytes"]), (&content.into(), &content.len().into()), "{found}");
        assert_eq!(found["truncated"], truncated, "{found}");
    };
    check("offset=0", "length=2", "a", true);
    check("offset=0", "length=3", "aé", true);
    check("offset=0", "length=5", "aé", true);
    check("offset=3", "length=3", "☕", true);
    check("offset=3", "length=4", "☕z", false);
    // Not one whole character: the bytes themselves, or reading on would never get further.
    let found = read(&home, &["path=/shared/a", "offset=3", "length=2"]);
    assert_eq!((&found["encoding"], &found["bytes"]), (&"base64".into(), &2.into()), "{found}");
}

#[test]
fn a_large_file_is_read_to_its_end_piece_by_piece() {
    let home = home();
    let all = bytes(5 << 20);
    fs::write(home.host("/shared/a"), &all).expect("writable");
    let mut joined = Vec::new();
    loop {
        let found = read(&home, &["path=/shared/a", &format!("offset={}", joined.len()), "length=1048576"]);
        joined.extend(STANDARD.decode(found["content_base64"].as_str().expect("bytes")).expect("base64"));
        if found["truncated"] == false {
            break;
        }
    }
    assert!(joined == all);
}

#[test]
fn a_huge_file_costs_little_memory() {
    let home = home();
    let huge = File::create(home.host("/shared/huge")).expect("writable");
    huge.set_len(1 << 30).expect("sparse files are possible");
    for offset in ["offset=0", "offset=1073479680"] {
        let mut command = home.command(&["call", "file_read", "path=/shared/huge", offset]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut out = child.stdout.take().expect("piped");
        let mut first = [0; 1];
        out.read_exact(&mut first).expect("an answer");
        // The answer is longer than a pipe holds, so the program waits for us with its work done.
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
        let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("Linux says so").trim();
        let kib: u64 = peak.trim_end_matches(" kB").parse().expect("a number");
        let mut rest = String::from("{");
        out.read_to_string(&mut rest).expect("text");
        assert!(child.wait().expect("ours").success());
        let found: Value = serde_json::from_str(&rest).expect("JSON");
        assert_eq!(found["bytes"], 256 << 10, "{offset}");
        assert_eq!(found["total_bytes"], 1 << 30);
        assert!(kib < 200 << 10, "{offset}: {kib} KiB at its peak");
    }
}

#[test]
fn what_is_no_file() {
    let home = home();
    fs::create_dir(home.host("/shared/folder")).expect("writable");
    fs::write(home.host("/shared/file"), "abc").expect("writable");
    let check = |path: &str, code: &str| {
        let ran = refuses(&home, code, &["file_read", &format!("path={path}")]);
        assert!(ran.message().contains(path), "{ran:?}");
    };
    check("/shared/folder", "is_a_directory");
    check("/shared", "is_a_directory");
    check("/tmp", "is_a_directory");
    check("/shared/missing", "not_found");
    check("/shared/missing/file", "not_found");
    check("/shared/file/below", "not_found");
    check("/vault", "path_denied");
}

/// They are integers to the schema, so they are to the guest, in arguments and in what those hold.
#[test]
fn whole_numbers_in_any_notation_are_integers() {
    let home = home();
    fs::write(home.host("/shared/a"), "one\ntwo\nthree\n").expect("writable");
    for (arguments, content) in [
        (r#"{"path":"/shared/a","offset":4.0,"length":3e0}"#, "two"),
        (r#"{"path":"/shared/a","lines":{"from":2.0,"to":2e0}}"#, "two\n"),
    ] {
        assert_eq!(read(&home, &["--args", arguments])["content"], content, "{arguments}");
    }
    refuses(&home, "invalid_arguments", &["file_read", "path=/shared/a", "offset=0.5"]);
    works(&home);
}
