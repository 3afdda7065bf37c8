//! `file_info`: what a path is, from its content and never from its name.

use super::check::{bytes, home, refuses, special};
use rustix::fs::{FileType, makedev};
use serde_json::{Value, json};
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::{Duration, SystemTime};
use support::guests::sha256;
use support::home::Home;
use support::{needs, samples};

fn info(home: &Home, path: &str) -> Value {
    let ran = home.call(&["file_info", &format!("path={path}")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

#[test]
fn what_is_out_of_reach_is_refused() {
    let home = home();
    fs::write(home.host("/shared/file"), "abc").expect("writable");
    let check = |path: &str, code: &str| {
        let ran = refuses(&home, code, &["file_info", &format!("path={path}")]);
        assert!(ran.message().contains(path), "{ran:?}");
    };
    check("/shared/missing", "not_found");
    check("/shared/file/below", "not_found");
    check("/vault", "path_denied");
    check("/etc/passwd", "path_denied");
    symlink("../..", home.host("/shared/up")).expect("writable");
    check("/shared/up/cofferdam.toml", "path_denied");
    refuses(&home, "invalid_arguments", &["file_info"]);
}

#[test]
fn files_and_folders() {
    let home = home();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_709_251_199);
    let file = File::create(home.host("/shared/a.jpg")).expect("writable");
    fs::write(home.host("/shared/a.jpg"), "not a picture\n").expect("writable");
    file.set_times(FileTimes::new().set_modified(at)).expect("ours");
    assert_eq!(
        info(&home, "/shared/a.jpg"),
        json!({ "path": "/shared/a.jpg", "kind": "file", "link": false, "size": 14, "mtime": "2024-02-29T23:59:59Z",
                "mime_type": "text/plain", "sha256": sha256(b"not a picture\n") })
    );
    for path in ["/shared", "/tmp"] {
        let found = info(&home, path);
        assert_eq!((&found["kind"], &found["link"]), (&json!("directory"), &json!(false)), "{found}");
        assert!(found.get("sha256").is_none() && found.get("mime_type").is_none(), "{found}");
    }
    // Longer than what is hashed at once.
    let long = bytes(3_000_001);
    fs::write(home.host("/shared/long"), &long).expect("writable");
    assert_eq!(info(&home, "/shared/long")["sha256"], sha256(&long));
}

#[test]
fn the_type_is_the_one_that_an_attachment_has() {
    let home = home();
    let samples: [(&str, Vec<u8>, &str); 12] = [
        ("jpeg", samples::jpeg(100_000), "image/jpeg"),
        ("pdf", samples::pdf(), "application/pdf"),
        ("empty", Vec::new(), "application/octet-stream"),
        ("text", "Grüße\n".into(), "text/plain"),
        ("html", b"GIF89a/*<script>alert(1)</script>*/".to_vec(), "text/html"),
        ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0".to_vec(), "image/png"),
        ("gif", b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0".to_vec(), "image/gif"),
        ("mp4", b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2\0\0\0\x08free".to_vec(), "video/mp4"),
        ("mp3", b"ID3\x04\0\0\0\0\0\x0aTIT2\0\0\0\0\0\0\xff\xfb\x90\x64".to_vec(), "audio/mpeg"),
        ("zip", b"PK\x03\x04\x14\0\0\0\x08\0 cut off here".to_vec(), "application/zip"),
        ("script", b"#!/bin/sh\necho hello\n".to_vec(), "text/x-shellscript"),
        ("noise", bytes(4000).split_off(1000), "application/octet-stream"),
    ];
    for (name, content, mime) in samples {
        let file = home.file("sent", &content);
        let path = format!("path=/shared/{name}.bin");
        let saved = home.call(&["attachment_save", "index=0", &path, "--attach", &file]);
        assert_eq!(saved.json()["mime_type"], mime, "{name}: {saved:?}");
        assert_eq!(info(&home, &path["path=".len()..])["mime_type"], mime, "{name}");
    }
}

#[test]
fn links_are_followed_inside_the_mount_and_told() {
    let home = home();
    let secret = home.file("secret", b"a secret of the host");
    fs::write(home.host("/shared/file"), "abc").expect("writable");
    for (target, name) in [
        ("file", "to_file"),
        (".", "to_folder"),
        ("nothing", "dangling"),
        ("circle", "circle"),
        (secret.as_str(), "out"),
        ("../vault", "vault"),
    ] {
        symlink(target, home.host("/shared").join(name)).expect("writable");
    }
    let file = info(&home, "/shared/to_file");
    assert_eq!((&file["kind"], &file["link"], &file["size"]), (&json!("file"), &json!(true), &json!(3)));
    assert_eq!(file["sha256"], sha256(b"abc"));
    let folder = info(&home, "/shared/to_folder");
    assert_eq!((&folder["kind"], &folder["link"]), (&json!("directory"), &json!(true)));
    for name in ["dangling", "circle", "out", "vault"] {
        let found = info(&home, &format!("/shared/{name}"));
        assert_eq!((&found["kind"], &found["link"]), (&json!("symlink"), &json!(true)), "{found}");
        assert!(found.get("sha256").is_none() && found.get("mime_type").is_none(), "{found}");
    }
    assert_eq!(info(&home, "/shared/out")["size"], secret.len());
}

#[test]
fn what_would_block_or_act_is_only_looked_at() {
    let home = home();
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    let _listener = UnixListener::bind(home.host("/shared/socket")).expect("writable");
    for name in ["fifo", "socket"] {
        assert_eq!(info(&home, &format!("/shared/{name}"))["kind"], name);
    }
    if needs::available("files::info::what_would_block_or_act_is_only_looked_at", "root", needs::root()) {
        special(&home.host("/shared/zero"), FileType::CharacterDevice, makedev(1, 5));
        assert_eq!(info(&home, "/shared/zero")["kind"], "device");
    }
}

#[test]
fn a_file_that_takes_longer_than_the_deadline() {
    let policy = include_str!("../../../policies/tools/file_info.toml").replace("60s", "300ms");
    let home = super::check::with_folders(Home::new().policy("tools/file_info.toml", &policy));
    // So long that no machine hashes it in time, and still within the workspace's own limit.
    File::create(home.host("/shared/huge"))
        .expect("writable")
        .set_len(8 << 30)
        .expect("sparse files are possible");
    let ran = refuses(&home, "timed_out", &["file_info", "path=/shared/huge"]);
    assert!(ran.message().contains("300ms"), "{ran:?}");
}
