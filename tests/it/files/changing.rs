//! What no changing tool does: leave the mounts, touch a mount itself, go through a link, replace
//! what is not a file, or leave anything behind where it refuses. And how tests call these tools.

use super::check::{home, is_refusal, refuses, special, tree, with_folders, works};
use rustix::fs::FileType;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use support::home::{Home, Ran};

/// Arguments in a file: one argument of a process is limited to 128 KiB.
fn given(home: &Home, arguments: &Value) -> String {
    format!("@{}", home.file("arguments", arguments.to_string().as_bytes()))
}

/// Calls a tool.
pub(super) fn call(home: &Home, tool: &str, arguments: &Value) -> Ran {
    home.call(&[tool, "--args", &given(home, arguments)])
}

/// The call succeeds; its result.
pub(super) fn does(home: &Home, tool: &str, arguments: &Value) -> Value {
    let ran = call(home, tool, arguments);
    assert_eq!((ran.code, ran.error().as_str()), (Some(0), ""), "{tool} {ran:?}");
    ran.json()
}

/// The call is refused with this code and a message that has all these parts, and nothing changed.
pub(super) fn denies(home: &Home, tool: &str, arguments: &Value, code: &str, parts: &[&str]) {
    let ran = refuses(home, code, &[tool, "--args", &given(home, arguments)]);
    for part in parts {
        assert!(ran.message().contains(part), "{part:?} is not told: {ran:?}");
    }
}

/// Writes a file of the workspace as somebody with a shell does.
pub(super) fn put(home: &Home, guest: &str, bytes: impl AsRef<[u8]>) {
    let path = home.host(guest);
    fs::create_dir_all(path.parent().expect("below a mount")).expect("writable");
    fs::write(path, bytes).expect("writable");
}

/// What a file of the workspace holds.
pub(super) fn get(home: &Home, guest: &str) -> Vec<u8> {
    fs::read(home.host(guest)).unwrap_or_else(|error| panic!("{guest}: {error}"))
}

/// Every way to change what `path` stands for; `/shared/source` is a file.
fn ways(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("file_write", json!({ "path": path, "content": "new", "overwrite": true })),
        ("file_write", json!({ "path": path, "content": "new", "append": true })),
        ("file_write_bytes", json!({ "path": path, "content_base64": "bmV3", "overwrite": true })),
        ("file_edit", json!({ "path": path, "edits": [{ "old_text": "old", "new_text": "new" }] })),
        ("file_copy", json!({ "from": "/shared/source", "to": path, "overwrite": true })),
        ("file_move", json!({ "from": "/shared/source", "to": path, "overwrite": true })),
        ("file_move", json!({ "from": path, "to": "/shared/moved" })),
        ("file_delete", json!({ "path": path, "recursive": true })),
    ]
}

/// Every way whose tool is not one of `but` is refused with `code`, and nothing changes.
fn no_way(home: &Home, path: &str, code: &str, but: &[&str]) {
    let before = tree(&home.workspace());
    for (tool, arguments) in ways(path).into_iter().filter(|(tool, _)| !but.contains(tool)) {
        is_refusal(home, &call(home, tool, &arguments), code);
        assert_eq!(tree(&home.workspace()), before, "{tool} {arguments}");
    }
}

#[test]
fn out_of_the_mounts() {
    let home = home();
    put(&home, "/shared/source", "old");
    put(&home, "/vault/secret", "old");
    let long = format!("/shared/{}", "n".repeat(256));
    for path in [
        "",
        "/",
        "/vault/secret",
        "/etc/passwd",
        "shared/a",
        "/shared/../vault/secret",
        "/shared//source",
        "/shared/source/",
        "/shared/a\nb",
        "/shared/.cofferdam-tmp-00000000000000000000000000000000",
        &long,
    ] {
        no_way(&home, path, "path_denied", &[]);
    }
    for outside in ["/vault/secret", "/etc/passwd", "/shared/../vault/secret"] {
        denies(&home, "file_copy", &json!({ "from": outside, "to": "/tmp/a" }), "path_denied", &[]);
    }
    works(&home);
}

#[test]
fn a_mount_itself() {
    let home = home();
    put(&home, "/shared/source", "old");
    put(&home, "/tmp/inside", "old");
    for mount in ["/shared", "/tmp"] {
        no_way(&home, mount, "path_denied", &[]);
    }
    works(&home);
}

#[test]
fn a_link_as_the_name() {
    let home = home();
    let outside = home.file("outside", b"old");
    put(&home, "/shared/source", "old");
    put(&home, "/shared/inside", "old");
    for (name, target) in
        [("file", "inside"), ("folder", "."), ("dangling", "nothing"), ("outside", &*outside)]
    {
        let path = format!("/shared/{name}");
        symlink(target, home.host(&path)).expect("writable");
        // Removing takes the link itself.
        no_way(&home, &path, "not_a_regular_file", &["file_delete"]);
    }
    assert_eq!(fs::read(outside).expect("there"), b"old");
    works(&home);
}

#[test]
fn a_link_on_the_way() {
    let home = home();
    let outside = home.dir().join("outside");
    fs::create_dir(&outside).expect("writable");
    fs::write(outside.join("file"), "old").expect("writable");
    put(&home, "/shared/source", "old");
    put(&home, "/shared/folder/file", "old");
    symlink("folder", home.host("/shared/inside")).expect("writable");
    symlink(&outside, home.host("/shared/absolute")).expect("writable");
    symlink("../../outside", home.host("/shared/above")).expect("writable");
    for way in ["inside", "absolute", "above"] {
        no_way(&home, &format!("/shared/{way}/file"), "path_denied", &[]);
    }
    assert_eq!(fs::read(outside.join("file")).expect("there"), b"old");
    works(&home);
}

#[test]
fn what_is_no_file() {
    let home = home();
    put(&home, "/shared/source", "old");
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    no_way(&home, "/shared/fifo", "not_a_regular_file", &["file_delete"]);
    fs::create_dir(home.host("/shared/folder")).expect("writable");
    put(&home, "/shared/full/file", "old");
    for folder in ["/shared/folder", "/shared/full"] {
        let before = tree(&home.workspace());
        for (tool, arguments) in ways(folder) {
            // A folder is moved and removed, but nothing takes its place.
            if arguments["to"] == folder || arguments["content"] == "new" || tool == "file_edit" {
                is_refusal(&home, &call(&home, tool, &arguments), "is_a_directory");
                assert_eq!(tree(&home.workspace()), before, "{tool} {arguments}");
            }
        }
    }
    put(&home, "/shared/file", "old");
    no_way(&home, "/shared/file/below", "path_denied", &[]);
    works(&home);
}

#[test]
fn what_is_not_there() {
    let home = home();
    for path in ["/shared/missing", "/shared/no/folder"] {
        for (tool, arguments) in [
            ("file_edit", json!({ "path": path, "edits": [{ "old_text": "old", "new_text": "new" }] })),
            ("file_copy", json!({ "from": path, "to": "/shared/to" })),
            ("file_move", json!({ "from": path, "to": "/shared/to" })),
            ("file_delete", json!({ "path": path })),
        ] {
            denies(&home, tool, &arguments, "not_found", &[path]);
        }
    }
}

#[test]
fn a_read_only_mount() {
    let shared = "{ guest = \"/shared\", access = \"atomic-write\" }";
    let profile = format!(
        "schema = 1\nprofile = \"file-read-write\"\nwhy = \"a test\"\n\
         mounts = [{shared}, {{ guest = \"/tmp\", access = \"read-only\" }}]\n\
         interfaces = [\"turn-attachments\"]\n[limits]\nmemory = \"64 MiB\"\ndeadline = \"120s\"\nwritten_bytes = \"4 GiB\"\n"
    );
    let home = with_folders(Home::new().policy("profiles/file-read-write.toml", &profile));
    put(&home, "/shared/source", "old");
    put(&home, "/tmp/file", "old");
    no_way(&home, "/tmp/file", "path_denied", &[]);
    does(&home, "file_copy", &json!({ "from": "/tmp/file", "to": "/shared/copy" }));
    assert_eq!(get(&home, "/shared/copy"), b"old");
}

#[test]
fn a_full_workspace() {
    let config = "[workspace]\nroot = \"workspace\"\nmax_bytes = \"64 KiB\"\n";
    let home = with_folders(Home::new().config(config));
    put(&home, "/shared/source", vec![b'a'; 40 << 10]);
    put(&home, "/shared/small", "old");
    let large = "b".repeat(30 << 10);
    let edits = json!([{ "old_text": "old", "new_text": large }]);
    let before = tree(&home.workspace());
    for (tool, arguments) in [
        ("file_write", json!({ "path": "/shared/a", "content": large })),
        ("file_write", json!({ "path": "/shared/source", "content": "b", "append": true })),
        ("file_edit", json!({ "path": "/shared/small", "edits": edits })),
        ("file_copy", json!({ "from": "/shared/source", "to": "/tmp/copy" })),
    ] {
        let ran = call(&home, tool, &arguments);
        is_refusal(&home, &ran, "quota_exceeded");
        assert!(ran.message().contains("workspace.max_bytes"), "{ran:?}");
        assert_eq!(tree(&home.workspace()), before, "{tool}");
    }
    // Moving needs nothing, and removing makes room.
    does(&home, "file_move", &json!({ "from": "/shared/source", "to": "/tmp/moved" }));
    does(&home, "file_delete", &json!({ "path": "/tmp/moved" }));
    does(&home, "file_write", &json!({ "path": "/shared/a", "content": large }));
    works(&home);
}

#[test]
fn arguments_that_do_not_fit() {
    let home = home();
    put(&home, "/shared/a", "old");
    for (tool, arguments) in [
        ("file_write", json!({ "path": "/shared/b" })),
        ("file_write", json!({ "path": "/shared/b", "content": 1 })),
        ("file_write", json!({ "path": "/shared/b", "content": "x", "mode": 511 })),
        ("file_edit", json!({ "path": "/shared/a", "edits": [] })),
        ("file_edit", json!({ "path": "/shared/a", "edits": { "old_text": "old", "new_text": "x" } })),
        ("file_edit", json!({ "path": "/shared/a", "edits": [{ "old_text": "old" }] })),
        (
            "file_edit",
            json!({ "path": "/shared/a", "edits": [{ "old_text": "old", "new_text": "x", "regex": true }] }),
        ),
        ("file_copy", json!({ "from": "/shared/a" })),
        ("file_copy", json!({ "from": "/shared/a", "to": "/shared/a" })),
        ("file_move", json!({ "from": "/shared/a", "to": "/shared/a", "overwrite": true })),
        ("file_move", json!({ "from": ["/shared/a"], "to": "/shared/b" })),
        ("file_delete", json!({ "path": "/shared/a", "recursive": "yes" })),
        ("file_delete", json!({})),
    ] {
        denies(&home, tool, &arguments, "invalid_arguments", &[]);
    }
}
