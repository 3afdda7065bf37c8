//! `file_copy`: one file, byte for byte, to a name that is free or given up on purpose.

use super::changing::{denies, does, get, put};
use super::check::{bytes, home, special, with_folders, works};
use rustix::fs::FileType;
use serde_json::json;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use support::guests::sha256;
use support::home::Home;

#[test]
fn what_is_refused() {
    let home = home();
    put(&home, "/shared/a", "source");
    put(&home, "/shared/taken", "old");
    put(&home, "/shared/folder/file", "old");
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    let outside = home.file("outside", b"secret");
    symlink(&outside, home.host("/shared/leads_out")).expect("writable");
    symlink("nothing", home.host("/shared/dangling")).expect("writable");
    let check = |from: &str, to: &str, code: &str, parts: &[&str]| {
        for overwrite in [false, true] {
            let arguments = json!({ "from": from, "to": to, "overwrite": overwrite });
            denies(&home, "file_copy", &arguments, code, parts);
        }
    };
    check("/shared/folder", "/tmp/a", "is_a_directory", &["file_list", "/shared/folder"]);
    check("/shared", "/tmp/a", "is_a_directory", &["/shared"]);
    check("/shared/a", "/shared/folder", "is_a_directory", &["/shared/folder/a"]);
    check("/shared/a", "/shared/a", "invalid_arguments", &["same file"]);
    check("/shared/fifo", "/tmp/a", "not_a_regular_file", &["/shared/fifo"]);
    check("/shared/leads_out", "/tmp/a", "path_denied", &[]);
    check("/shared/dangling", "/tmp/a", "not_found", &[]);
    check("/shared/a/below", "/tmp/a", "not_found", &[]);
    denies(
        &home,
        "file_copy",
        &json!({ "from": "/shared/a", "to": "/shared/taken" }),
        "already_exists",
        &["/shared/taken"],
    );
}

#[test]
fn more_than_the_policy_allows() {
    let text = fs::read_to_string(Home::new().own_policies().policies_dir().join("tools/file_copy.toml"));
    let text = text.expect("the default policies are there").replace("\"4 GiB\"", "\"10 KiB\"");
    let home = with_folders(Home::new().policy("tools/file_copy.toml", &text));
    put(&home, "/shared/a", bytes((10 << 10) + 1));
    let arguments = json!({ "from": "/shared/a", "to": "/tmp/a" });
    denies(&home, "file_copy", &arguments, "quota_exceeded", &["written_bytes"]);
    put(&home, "/shared/a", bytes(10 << 10));
    does(&home, "file_copy", &arguments);
}

#[test]
fn every_byte_is_copied_within_a_mount_and_across() {
    let home = home();
    for (n, len) in [0, 1, 300 << 10, 5 << 20].into_iter().enumerate() {
        let content = bytes(len);
        put(&home, "/shared/a", &content);
        for to in [format!("/shared/new{n}/copy"), format!("/tmp/new{n}/copy")] {
            let result = does(&home, "file_copy", &json!({ "from": "/shared/a", "to": to }));
            let told = json!({ "copied": true, "from": "/shared/a", "to": to, "bytes": len,
                               "sha256": sha256(&content) });
            assert_eq!(result, told);
            assert!(get(&home, &to) == content && get(&home, "/shared/a") == content, "{to}");
            let record = home.audit().pop().expect("audited");
            assert_eq!(record["files"], json!([{ "path": to, "bytes": len, "sha256": sha256(&content) }]));
        }
    }
    works(&home);
}

#[test]
fn a_copy_has_the_mode_of_a_new_file_or_of_the_one_it_replaces() {
    let home = home();
    put(&home, "/shared/a", "new");
    put(&home, "/shared/old", "old");
    put(&home, "/shared/plain", "");
    fs::set_permissions(home.host("/shared/a"), Permissions::from_mode(0o4711)).expect("ours");
    fs::set_permissions(home.host("/shared/old"), Permissions::from_mode(0o600)).expect("ours");
    does(&home, "file_copy", &json!({ "from": "/shared/a", "to": "/shared/b" }));
    does(&home, "file_copy", &json!({ "from": "/shared/a", "to": "/shared/old", "overwrite": true }));
    let mode = |path: &str| fs::metadata(home.host(path)).expect("there").mode() & 0o7777;
    assert_eq!((mode("/shared/b"), mode("/shared/old")), (mode("/shared/plain"), 0o600));
    assert_eq!(get(&home, "/shared/old"), b"new");
}

#[test]
fn a_link_in_the_mount_is_read_through() {
    let home = home();
    put(&home, "/shared/a", "content");
    symlink("a", home.host("/shared/link")).expect("writable");
    does(&home, "file_copy", &json!({ "from": "/shared/link", "to": "/tmp/copy" }));
    assert_eq!(get(&home, "/tmp/copy"), b"content");
    // Over another name of the same file: what is there was complete before and is so after.
    fs::hard_link(home.host("/shared/a"), home.host("/shared/same")).expect("possible");
    does(&home, "file_copy", &json!({ "from": "/shared/a", "to": "/shared/same", "overwrite": true }));
    assert_eq!(
        (get(&home, "/shared/a"), get(&home, "/shared/same")),
        (b"content".to_vec(), b"content".to_vec())
    );
}

#[test]
fn a_sparse_file_counts_as_long_as_it_is() {
    let config = "[workspace]\nroot = \"workspace\"\nmax_bytes = \"64 MiB\"\n";
    let home = with_folders(Home::new().config(config));
    File::create(home.host("/shared/sparse")).expect("writable").set_len(40 << 20).expect("sparse");
    let arguments = json!({ "from": "/shared/sparse", "to": "/tmp/copy" });
    denies(&home, "file_copy", &arguments, "quota_exceeded", &["workspace.max_bytes"]);
}
