//! The power fails right after success was told: what was saved, edited, copied and moved is there,
//! what was removed is not, and the audit has it.
//!
//! The disk is an image whose filesystem writes back on its own only every five minutes; what has
//! reached the image at the moment of the failure is copied and mounted again.

use super::check::{Gateway, bytes, saves, verified, with_folders};
use super::namespace::{Namespace, available};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};
use support::home::Home;
use support::needs;

const FRESH_DISK: &str = "
    truncate -s 128M image; mkfs.ext4 -q -F image
    mkdir disk copy; mount -o loop,commit=300 image disk; mkdir disk/workspace disk/state; chmod 700 disk/state
    cp -a state/cache disk/state/; cp -a workspace/. disk/workspace/
    echo old > disk/workspace/shared/replaced
    for name in edited appended moved removed; do echo old > disk/workspace/shared/$name; done
    mkdir -p disk/workspace/shared/folder/below; echo old > disk/workspace/shared/folder/below/file
    cp -r disk/workspace/shared/folder disk/workspace/shared/gone
    mount --bind disk/workspace workspace; mount --bind disk/state state
    sync -f disk";

/// What the disk holds, as after a power failure.
const POWER_FAILURE: &str = "cp image image2; mount -o loop image2 copy";

fn loops(test: &str) -> bool {
    let mkfs = Command::new("mkfs.ext4").arg("-V").stderr(Stdio::null()).status();
    let free = Command::new("losetup").arg("-f").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = mkfs.is_ok_and(|s| s.success()) && free.is_ok_and(|s| s.success());
    available(test) && needs::available(test, "mkfs.ext4 and a loop device", there)
}

#[test]
fn what_was_reported_saved_survives() {
    if !loops("files::power::what_was_reported_saved_survives") {
        return;
    }
    let inside = Namespace::around(with_folders(Home::new()), FRESH_DISK);
    let seen = |path: &str| inside.seen(inside.home().dir().join(path));
    let large = bytes(3 << 20);
    saves(&inside, "/shared/new/folder/file", "overwrite=false", &large);
    saves(&inside, "/shared/replaced", "overwrite=true", &bytes(1000));
    let changes = [
        (
            "file_edit",
            json!({ "path": "/shared/edited", "edits": [{ "old_text": "old", "new_text": "new" }] }),
        ),
        ("file_write", json!({ "path": "/shared/appended", "content": "new\n", "append": true })),
        ("file_copy", json!({ "from": "/shared/edited", "to": "/tmp/new/copied" })),
        ("file_move", json!({ "from": "/shared/moved", "to": "/tmp/new/moved" })),
        ("file_move", json!({ "from": "/shared/folder", "to": "/tmp/new/folder" })),
        ("file_delete", json!({ "path": "/shared/removed" })),
        ("file_delete", json!({ "path": "/shared/gone", "recursive": true })),
    ];
    for (tool, arguments) in &changes {
        let ran = inside.call(&[tool, "--args", &arguments.to_string()]);
        assert_eq!(ran.code, Some(0), "{tool} {arguments}: {ran:?}");
    }
    // Proves that the image does lose what nobody synced.
    fs::write(seen("disk/workspace/shared/unsynced"), &large).expect("writable");
    inside.sh(POWER_FAILURE);
    let after = |path: &str| fs::read(seen(&format!("copy/workspace/shared/{path}"))).unwrap_or_default();
    assert!(after("unsynced") != large, "the simulation loses nothing, so it proves nothing");
    assert!(after("new/folder/file") == large);
    assert!(after("replaced") == bytes(1000));
    for (path, holds) in [
        ("edited", "new\n"),
        ("appended", "old\nnew\n"),
        ("../tmp/new/copied", "new\n"),
        ("../tmp/new/moved", "old\n"),
        ("../tmp/new/folder/below/file", "old\n"),
    ] {
        assert_eq!(after(path), holds.as_bytes(), "{path}");
    }
    for path in ["moved", "folder", "removed", "gone"] {
        assert!(!seen(&format!("copy/workspace/shared/{path}")).exists(), "{path} is there again");
    }
    // The intents are there; outcomes may be lost, and the next start settles them.
    inside.sh("umount workspace state; mount --bind copy/workspace workspace; mount --bind copy/state state");
    let records = verified(&inside)["records"].as_u64().expect("a number");
    assert!(records >= 3, "{records} records: the second intent, and all before it");
    assert_eq!(inside.call(&["file_read", "path=/shared/replaced"]).code, Some(0));
    assert_eq!(verified(&inside)["intents_open"], Value::from(0));
    let names: Vec<_> =
        fs::read_dir(inside.host("/shared")).expect("there").flatten().map(|e| e.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with(".cofferdam-")), "{names:?}");
}
