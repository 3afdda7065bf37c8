//! What a guest can read: the granted mounts, regular files and directories alone, nothing of the
//! host.

use super::{answered, put, unjudged};
use serde_json::Value;
use std::os::unix::fs::symlink;
use support::home::Home;

fn seen(home: &Home, behaviour: &str, path: &str) -> Value {
    answered(home, &[&format!("behaviour={behaviour}"), &format!("path={path}")])
}

/// A path that leads nowhere, however the guest looks at it, always for the same reason.
fn unreachable(home: &Home, path: &str, error: &str) {
    for behaviour in ["read", "list", "readlink"] {
        assert_eq!(seen(home, behaviour, path)["error"], error, "{behaviour} {path}");
    }
    let stat = seen(home, "stat", path);
    assert_eq!((&stat["follow"]["error"], &stat["leaf"]["error"]), (&error.into(), &error.into()), "{path}");
}

#[test]
fn the_granted_mounts_are_all_there_is() {
    let home = unjudged();
    put(&home, "/vault/secret", b"secret");
    put(&home, "/shared/mine", b"mine");
    let outside = home.file("outside", b"secret");
    assert_eq!(answered(&home, &["behaviour=preopens"])["preopens"], serde_json::json!(["/shared", "/tmp"]));
    for path in ["/", ".", "..", "/vault", "/vault/secret", "/etc/passwd", "/proc/self/environ", "/dev/zero"]
    {
        unreachable(&home, path, "NotFound");
    }
    unreachable(&home, &outside, "NotFound");
    for path in ["/shared/..", "/shared/../vault/secret", "/tmp/../shared/mine", "/shared/../../outside"] {
        unreachable(&home, path, "PermissionDenied");
    }
    assert_eq!(seen(&home, "read", "/shared/mine")["text"], "mine");
}

#[test]
fn links_are_followed_inside_the_mount_alone() {
    let home = unjudged();
    put(&home, "/vault/secret", b"secret");
    put(&home, "/shared/folder/mine", b"mine");
    let outside = home.file("outside", b"secret");
    let link =
        |target: &str, name: &str| symlink(target, home.host(&format!("/shared/{name}"))).expect("ours");
    for (name, target) in [
        ("inside", "folder/mine"),
        ("vault", "../vault/secret"),
        ("host", outside.as_str()),
        ("passwd", "/etc/passwd"),
        ("root", "/"),
        ("magic", "/proc/self/root/etc/passwd"),
        ("absolute", "/shared/folder/mine"),
    ] {
        link(target, name);
    }
    link("circle", "circle");
    assert_eq!(seen(&home, "read", "/shared/inside")["text"], "mine");
    assert_eq!(seen(&home, "stat", "/shared/inside")["leaf"]["link"], true);
    for name in ["vault", "host", "passwd", "magic", "absolute", "root/etc/passwd"] {
        let path = format!("/shared/{name}");
        assert_eq!(seen(&home, "read", &path)["error"], "PermissionDenied", "{name}");
        assert_eq!(seen(&home, "stat", &path)["follow"]["error"], "PermissionDenied", "{name}");
    }
    assert_eq!(seen(&home, "list", "/shared/root")["error"], "PermissionDenied");
    assert_eq!(seen(&home, "read", "/shared/circle")["error"], "FilesystemLoop");
    // What an absolute link says is a path of the host.
    assert_eq!(seen(&home, "readlink", "/shared/host")["error"], "PermissionDenied");
    assert_eq!(seen(&home, "readlink", "/shared/inside")["target"], "folder/mine");
}

#[test]
fn what_is_no_file_is_not_opened_and_never_waited_for() {
    let home = unjudged();
    put(&home, "/shared/file", b"x");
    let fifo = home.host("/shared/fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("ours");
    let _socket = std::os::unix::net::UnixListener::bind(home.host("/shared/socket")).expect("ours");
    symlink("fifo", home.host("/shared/to_fifo")).expect("ours");
    for name in ["fifo", "socket", "to_fifo"] {
        let path = format!("/shared/{name}");
        assert_eq!(seen(&home, "read", &path)["error"], "Unsupported", "{name}");
        let stat = &seen(&home, "stat", &path)["follow"];
        assert_eq!((&stat["file"], &stat["directory"]), (&false.into(), &false.into()), "{name}");
    }
    assert_eq!(seen(&home, "read", "/shared")["error"], "IsADirectory");
    assert_eq!(seen(&home, "list", "/shared/file")["error"], "NotADirectory");
}

#[test]
fn the_gateways_own_names_are_invisible() {
    let home = unjudged();
    put(&home, "/shared/.cofferdam-1", b"half");
    put(&home, "/shared/folder/.cofferdam-dir/file", b"half");
    put(&home, "/shared/folder/seen", b"seen");
    // Not through `answered`: these very names count as left behind.
    let seen = |behaviour: &str, path: &str| {
        home.call(&["hostile", &format!("behaviour={behaviour}"), &format!("path={path}")]).json()
    };
    for path in [
        "/shared/.cofferdam-1",
        "/shared/./.cofferdam-1",
        "/shared/folder/../.cofferdam-1",
        "/shared/folder/.cofferdam-dir",
        "/shared/folder/.cofferdam-dir/file",
        "/shared/folder/.cofferdam-missing",
    ] {
        for behaviour in ["read", "list", "readlink"] {
            assert_eq!(seen(behaviour, path)["error"], "NotFound", "{behaviour} {path}");
        }
    }
    assert_eq!(seen("list", "/shared")["names"], serde_json::json!(["folder"]));
    assert_eq!(seen("list", "/shared/folder")["names"], serde_json::json!(["seen"]));
    // Nor does a link that somebody put there lead to one, as its leaf or on its way.
    for (name, target) in [
        ("to_file", ".cofferdam-1"),
        ("to_folder", "folder/.cofferdam-dir"),
        ("to_link", "to_file"),
        ("folder/up", "../.cofferdam-1"),
    ] {
        symlink(target, home.host(&format!("/shared/{name}"))).expect("ours");
        let path = format!("/shared/{name}");
        assert_eq!(seen("read", &path)["error"], "NotFound", "{path}");
        let listed = if target.ends_with("-dir") { "NotFound" } else { "NotADirectory" };
        assert_eq!(seen("list", &path)["error"], listed, "{path}");
        assert_eq!(seen("stat", &path)["follow"]["error"], "NotFound", "{path}");
    }
    assert_eq!(seen("read", "/shared/to_folder/file")["error"], "NotFound");
    symlink("seen", home.host("/shared/folder/link")).expect("ours");
    assert_eq!(seen("read", "/shared/folder/link")["text"], "seen");
}

#[test]
fn a_large_directory_is_listed_piece_by_piece() {
    let home = unjudged();
    for n in 0..3000 {
        put(&home, &format!("/shared/many/{n}"), b"");
    }
    assert_eq!(seen(&home, "list", "/shared/many")["count"], 3000);
}

#[test]
fn one_read_gives_so_much_however_much_is_asked_for() {
    const MOST: usize = 1 << 20;
    let home = unjudged();
    put(&home, "/shared/short", &[b'x'; MOST - 1]);
    put(&home, "/shared/whole", &[b'x'; MOST]);
    put(&home, "/shared/terabyte", b"");
    let terabyte = std::fs::File::options().write(true).open(home.host("/shared/terabyte")).expect("ours");
    terabyte.set_len(1 << 40).expect("sparse files are possible");
    for (name, bytes, end) in [("short", MOST - 1, true), ("whole", MOST, false), ("terabyte", MOST, false)] {
        let read = seen(&home, "read_all_at_once", &format!("/shared/{name}"));
        assert_eq!(read, serde_json::json!({ "bytes": bytes, "end": end }), "{name}");
    }
}

#[test]
fn one_call_reads_so_many_directory_entries_and_no_more() {
    let home = Home::new().hostile("deadline = \"120s\"");
    for n in 0..10_000 {
        put(&home, &format!("/shared/many/{n}"), b"");
    }
    let ran = home.call(&["hostile", "behaviour=list_endlessly", "path=/shared/many"]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "too_large"), "{ran:?}");
    assert!(ran.message().contains("2000000 directory entries"), "{ran:?}");
}

/// The runtimes of some languages ask a file's stream without waiting, or poll it first.
#[test]
fn a_file_is_read_as_a_stream_in_every_way() {
    let home = unjudged();
    let content: Vec<u8> = (0..200_001_u32).map(|n| (n % 251) as u8).collect();
    put(&home, "/shared/file", &content);
    put(&home, "/shared/empty", b"");
    let sum = |from: usize| content[from..].iter().copied().map(u64::from).sum::<u64>();
    for (how, longest) in [("unasked", 64 << 10), ("polled", 1000), ("waited", 64 << 10)] {
        for from in [0, 200_000] {
            let said = seen(&home, &format!("read_stream:{how} {from}"), "/shared/file");
            let left = 200_001 - from;
            assert_eq!(
                (&said["bytes"], &said["sum"]),
                (&left.into(), &sum(from).into()),
                "{how} {from}: {said}"
            );
            assert_eq!(
                (&said["longest"], &said["end"]),
                (&left.min(longest).into(), &CLOSED.into()),
                "{said}"
            );
            assert_eq!(said["stays"], true, "{how}: {said}");
        }
        let beyond = format!("read_stream:{how} {}", u64::MAX);
        assert_ne!(seen(&home, &beyond, "/shared/file")["end"], Value::Null, "no place that a file can have");
        assert_eq!(seen(&home, &format!("read_stream:{how}"), "/shared/empty")["end"], CLOSED);
    }
    assert_eq!(seen(&home, "read_stream:skipped", "/shared/file")["bytes"], 200_001);
    put(&home, "/shared/folder/file", b"x");
    assert_eq!(seen(&home, "read_stream:unasked", "/shared/folder")["error"], "is-directory");
}

const CLOSED: &str = "StreamError::Closed";
