//! Changing files past the publisher, through `wasi:filesystem`: every way of it is refused.

use super::{answered, attack, contents, put, unjudged};
use std::os::unix::fs::symlink;

const WAYS: [&str; 10] = [
    "write_direct",
    "append_direct",
    "truncate_direct",
    "create_direct",
    "set_len_direct",
    "mkdir_direct",
    "rename_direct",
    "link_direct",
    "remove_direct",
    "symlink_direct",
];

#[test]
fn nothing_is_changed_in_place() {
    let home = unjudged();
    put(&home, "/shared/file", b"as it was");
    put(&home, "/shared/folder/inner", b"as it was");
    symlink("file", home.host("/shared/link")).expect("ours");
    std::fs::create_dir_all(home.host("/tmp")).expect("ours");
    std::fs::create_dir_all(home.host("/vault")).expect("ours");
    let before = contents(&home);
    let times =
        || std::fs::metadata(home.host("/shared/file")).and_then(|meta| meta.modified()).expect("there");
    let modified = times();
    for way in WAYS {
        for path in ["/shared/file", "/shared/new", "/shared/folder", "/shared/link", "/shared/folder/inner"]
        {
            let said = answered(&home, &[&format!("behaviour={way}"), &format!("path={path}")]);
            let error = said["error"].as_str().unwrap_or_else(|| panic!("{way} {path}: {said}"));
            let missing = way == "set_len_direct" && path == "/shared/new";
            let read_only = ["ReadOnlyFilesystem", "read-only"].contains(&error);
            assert!(read_only || (missing && error == "NotFound"), "{way} {path}: {said}");
        }
    }
    assert_eq!(contents(&home), before);
    assert_eq!(times(), modified);
}

#[test]
fn nor_outside_the_mounts() {
    let home = unjudged();
    put(&home, "/vault/kept", b"as it was");
    let outside = home.file("outside", b"as it was");
    for way in WAYS {
        for path in ["/vault/kept", "/vault/new", outside.as_str(), "/shared/../vault/kept"] {
            let ran = attack(&home, &[&format!("behaviour={way}"), &format!("path={path}")]);
            assert!(ran.json()["error"].is_string(), "{way} {path}: {ran:?}");
        }
    }
    assert_eq!(std::fs::read(home.host("/vault/kept")).expect("there"), b"as it was");
    assert_eq!(std::fs::read(outside).expect("there"), b"as it was");
    assert!(!home.host("/vault/new").exists());
}
