//! `file_delete`: the name that was given and what lies below it, and nothing that it leads to.

use super::changing::{call, denies, does, get, put};
use super::check::{bytes, home, is_refusal, outside, special, tree, works};
use rustix::fs::FileType;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use support::needs;

#[test]
fn a_folder_that_is_not_empty_says_how_much_it_holds() {
    let home = home();
    put(&home, "/shared/folder/one", "1");
    let arguments = json!({ "path": "/shared/folder" });
    denies(&home, "file_delete", &arguments, "is_a_directory", &["holds 1 entry", "recursive=true"]);
    for n in 0..10 {
        put(&home, &format!("/shared/folder/below/{n}"), "1");
    }
    denies(&home, "file_delete", &arguments, "is_a_directory", &["holds 2 entries", "/shared/folder"]);
}

#[test]
fn a_file_is_gone_and_the_audit_says_so() {
    let home = home();
    put(&home, "/shared/a", bytes(1000));
    fs::hard_link(home.host("/shared/a"), home.host("/shared/other")).expect("possible");
    assert_eq!(
        does(&home, "file_delete", &json!({ "path": "/shared/a" })),
        json!({ "deleted": true, "path": "/shared/a", "kind": "file", "entries": 1, "bytes": 1000 })
    );
    assert!(!home.host("/shared/a").exists());
    assert_eq!(get(&home, "/shared/other"), bytes(1000));
    let records = home.audit();
    let [intent, outcome] = &records[..] else { panic!("an intent and an outcome: {records:?}") };
    let effect = json!([{ "path": "/shared/a", "removed": "file", "entries": 1 }]);
    assert_eq!((&intent["files"], &outcome["files"]), (&effect, &effect));
    denies(&home, "file_delete", &json!({ "path": "/shared/a" }), "not_found", &["/shared/a"]);
}

#[test]
fn a_link_is_removed_and_not_followed() {
    let home = home();
    let outside = outside(&home);
    put(&home, "/shared/folder/file", "kept");
    symlink("folder", home.host("/shared/inside")).expect("writable");
    symlink(&outside, home.host("/shared/leads_out")).expect("writable");
    symlink("nothing", home.host("/shared/dangling")).expect("writable");
    let before = (tree(&outside), tree(&home.host("/shared/folder")));
    for (name, recursive) in [("inside", true), ("leads_out", true), ("dangling", false)] {
        let path = format!("/shared/{name}");
        let result = does(&home, "file_delete", &json!({ "path": path, "recursive": recursive }));
        assert_eq!((&result["kind"], &result["entries"]), (&"other".into(), &1.into()), "{name}");
        assert!(fs::symlink_metadata(home.host(&path)).is_err(), "{name} is there");
    }
    assert_eq!((tree(&outside), tree(&home.host("/shared/folder"))), before);
    works(&home);
}

#[test]
fn what_is_no_file_is_removed_without_being_opened() {
    let home = home();
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    let _listener = UnixListener::bind(home.host("/shared/socket")).expect("writable");
    for path in ["/shared/fifo", "/shared/socket"] {
        assert_eq!(does(&home, "file_delete", &json!({ "path": path }))["kind"], "other");
        assert!(fs::symlink_metadata(home.host(path)).is_err(), "{path} is there");
    }
    works(&home);
}

#[test]
fn a_folder_goes_with_everything_in_it_and_nothing_else() {
    let home = home();
    let outside = outside(&home);
    put(&home, "/shared/kept", "kept");
    for folder in 0..5 {
        for file in 0..5 {
            put(&home, &format!("/shared/gone/{folder}/deep/er/{file}"), "12345");
        }
    }
    symlink(&outside, home.host("/shared/gone/leads_out")).expect("writable");
    symlink("../kept", home.host("/shared/gone/to_kept")).expect("writable");
    special(&home.host("/shared/gone/fifo"), FileType::Fifo, 0);
    let entries = 1 + tree(&home.host("/shared/gone")).len();
    assert_eq!(
        does(&home, "file_delete", &json!({ "path": "/shared/gone", "recursive": true })),
        json!({ "deleted": true, "path": "/shared/gone", "kind": "directory", "entries": entries, "bytes": 125 })
    );
    assert!(!home.host("/shared/gone").exists());
    assert_eq!(
        (get(&home, "/shared/kept"), fs::read(outside.join("file")).expect("there")),
        (b"kept".to_vec(), b"secret".to_vec())
    );
    let record = home.audit().pop().expect("audited");
    assert_eq!(
        record["files"],
        json!([{ "path": "/shared/gone", "removed": "directory", "entries": entries }])
    );
    works(&home);
}

#[test]
fn an_empty_folder_needs_no_recursive() {
    let home = home();
    fs::create_dir(home.host("/tmp/empty")).expect("writable");
    assert_eq!(
        does(&home, "file_delete", &json!({ "path": "/tmp/empty" })),
        json!({ "deleted": true, "path": "/tmp/empty", "kind": "directory", "entries": 1, "bytes": 0 })
    );
    works(&home);
}

/// A file that nobody can delete, for as long as this lives.
struct Immutable(PathBuf);

impl Immutable {
    fn new(at: PathBuf, test: &str) -> Option<Self> {
        let made = Command::new("chattr").arg("+i").arg(&at).output().is_ok_and(|out| out.status.success());
        let file = made.then_some(Self(at));
        needs::available(test, "root, chattr and a filesystem with immutable files", made).then_some(file)?
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        let _ = Command::new("chattr").arg("-i").arg(&self.0).output();
    }
}

#[test]
fn what_cannot_be_deleted_is_listed_and_has_its_name() {
    let home = home();
    for file in ["gone/1", "gone/deep/er/stays", "gone/deep/2", "gone/z/3"] {
        put(&home, &format!("/shared/{file}"), "12345");
    }
    let name = "files::delete::what_cannot_be_deleted_is_listed_and_has_its_name";
    let Some(stays) = Immutable::new(home.host("/shared/gone/deep/er/stays"), name) else { return };
    let arguments = json!({ "path": "/shared/gone", "recursive": true });
    let ran = call(&home, "file_delete", &arguments);
    is_refusal(&home, &ran, "write_failed");
    let said = "/shared/gone was not removed: 1 entry could not be deleted: /shared/gone/deep/er/stays (Operation not \
                permitted";
    assert!(ran.message().starts_with(said), "{ran:?}");
    assert!(ran.message().ends_with("all that does not lie there is gone"), "{ran:?}");
    let left: Vec<_> = tree(&home.host("/shared")).into_keys().collect();
    let expected = ["gone", "gone/deep", "gone/deep/er", "gone/deep/er/stays"];
    assert_eq!(left, expected.map(|path| home.host("/shared").join(path)));
    works(&home);
    drop(stays);
    does(&home, "file_delete", &arguments);
    works(&home);
}
