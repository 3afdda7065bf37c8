//! `file_move`: another name for the very same file or folder, at once, and never over anything
//! unasked.

use super::changing::{denies, does, get, put};
use super::check::{Gateway, bytes, home, is_refusal, refuses, special, tree, works};
use super::namespace::{Namespace, available};
use super::paused::Call;
use super::tracer;
use rustix::fs::FileType;
use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

#[test]
fn what_is_refused() {
    let home = home();
    put(&home, "/shared/a", "source");
    put(&home, "/shared/taken", "old");
    put(&home, "/shared/folder/file", "old");
    fs::create_dir(home.host("/shared/empty")).expect("writable");
    special(&home.host("/shared/fifo"), FileType::Fifo, 0);
    symlink("a", home.host("/shared/link")).expect("writable");
    let check = |from: &str, to: &str, overwrite: bool, code: &str, parts: &[&str]| {
        let arguments = json!({ "from": from, "to": to, "overwrite": overwrite });
        denies(&home, "file_move", &arguments, code, parts);
    };
    check("/shared/a", "/shared/taken", false, "already_exists", &["/shared/taken"]);
    for overwrite in [false, true] {
        // To ask for it to be overwritten would help nobody.
        check(
            "/shared/folder",
            "/shared/taken",
            overwrite,
            "already_exists",
            &["/shared/taken is a file", "remove it"],
        );
        check("/shared/a", "/shared/folder", overwrite, "is_a_directory", &["/shared/folder"]);
        check("/shared/folder", "/shared/empty", overwrite, "is_a_directory", &["/shared/empty"]);
        check("/shared/a", "/shared/a", overwrite, "invalid_arguments", &["same"]);
        check("/shared/folder", "/shared/folder/below", overwrite, "invalid_arguments", &["into itself"]);
        check("/shared/folder", "/shared/folder/new/below", overwrite, "invalid_arguments", &["into itself"]);
        check("/shared/link", "/tmp/link", overwrite, "not_a_regular_file", &["symbolic link"]);
        check("/shared/fifo", "/tmp/fifo", overwrite, "not_a_regular_file", &["FIFO"]);
        check("/shared/a", "/shared/fifo", overwrite, "not_a_regular_file", &["FIFO"]);
        check("/shared/a", "/shared/link", overwrite, "not_a_regular_file", &["symbolic link"]);
    }
}

#[test]
fn a_file_keeps_everything_but_its_name() {
    let home = home();
    let content = bytes(300 << 10);
    put(&home, "/shared/a", &content);
    let inode = fs::metadata(home.host("/shared/a")).expect("there").ino();
    for (from, to) in [("/shared/a", "/shared/new/folder/b"), ("/shared/new/folder/b", "/tmp/new/c")] {
        assert_eq!(
            does(&home, "file_move", &json!({ "from": from, "to": to })),
            json!({ "moved": true, "from": from, "to": to, "kind": "file", "bytes": content.len(), "entries": 1 })
        );
        assert!(!home.host(from).exists() && get(&home, to) == content);
        assert_eq!(fs::metadata(home.host(to)).expect("there").ino(), inode);
        let effect = json!([{ "path": to, "moved_from": from, "kind": "file", "inode": inode }]);
        let records = home.audit();
        let [.., intent, outcome] = &records[..] else { panic!("an intent and an outcome: {records:?}") };
        assert_eq!((&intent["event"], &outcome["event"]), (&"intent".into(), &"outcome".into()));
        assert_eq!((&intent["files"], &outcome["files"]), (&effect, &effect));
    }
    works(&home);
}

#[test]
fn a_folder_moves_as_a_whole() {
    let home = home();
    put(&home, "/shared/folder/one", "1");
    put(&home, "/shared/folder/below/two", "22");
    symlink("/etc/passwd", home.host("/shared/folder/link")).expect("writable");
    let below = |guest: &str| {
        let root = home.host(guest);
        tree(&root)
            .into_iter()
            .map(|(path, told)| (path.strip_prefix(&root).map(ToOwned::to_owned), told))
            .collect::<Vec<_>>()
    };
    let before = below("/shared/folder");
    let result = does(&home, "file_move", &json!({ "from": "/shared/folder", "to": "/tmp/new/moved" }));
    assert_eq!(
        (&result["kind"], &result["entries"], &result["bytes"]),
        (&"directory".into(), &5.into(), &3.into())
    );
    assert_eq!(below("/tmp/new/moved"), before);
    assert!(!home.host("/shared/folder").exists());
    works(&home);
}

#[test]
fn a_file_replaces_a_file_on_request() {
    let home = home();
    put(&home, "/shared/a", "new");
    put(&home, "/tmp/b", "old");
    fs::hard_link(home.host("/tmp/b"), home.host("/tmp/other")).expect("possible");
    does(&home, "file_move", &json!({ "from": "/shared/a", "to": "/tmp/b", "overwrite": true }));
    assert_eq!((get(&home, "/tmp/b"), get(&home, "/tmp/other")), (b"new".to_vec(), b"old".to_vec()));
    assert!(!home.host("/shared/a").exists());
    works(&home);
}

#[test]
fn of_moves_to_one_name_at_once_one_arrives() {
    const MOVERS: usize = 6;
    let home = home();
    for n in 0..MOVERS {
        put(&home, &format!("/shared/{n}"), n.to_string());
    }
    let arrived: Vec<usize> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..MOVERS)
            .map(|n| {
                let home = &home;
                scope.spawn(move || {
                    let ran = home.call(&["file_move", &format!("from=/shared/{n}"), "to=/shared/to"]);
                    assert!(matches!(ran.error().as_str(), "" | "already_exists"), "{ran:?}");
                    ran.code == Some(0)
                })
            })
            .collect();
        runs.into_iter().enumerate().filter_map(|(n, run)| run.join().expect("it ran").then_some(n)).collect()
    });
    let [one] = arrived[..] else { panic!("exactly one: {arrived:?}") };
    assert_eq!(get(&home, "/shared/to"), one.to_string().as_bytes());
    for n in (0..MOVERS).filter(|n| *n != one) {
        assert_eq!(get(&home, &format!("/shared/{n}")), n.to_string().as_bytes());
    }
    works(&home);
}

#[test]
fn to_another_filesystem_a_file_is_copied_with_its_mode_and_time_and_the_source_goes() {
    if !available(
        "files::move_::to_another_filesystem_a_file_is_copied_with_its_mode_and_time_and_the_source_goes",
    ) {
        return;
    }
    let inside = Namespace::new(
        "mkdir -p workspace/shared/folder; mount -t tmpfs none workspace/tmp
        echo content > workspace/shared/a; chmod 640 workspace/shared/a; touch -d @951782400 workspace/shared/a
        echo taken > workspace/tmp/taken",
    );
    let moves = |from: &str, to: &str, overwrite: &str| {
        let (from, to) = (format!("from={from}"), format!("to={to}"));
        inside.call(&["file_move", &from, &to, &format!("overwrite={overwrite}")])
    };
    refuses(&inside, "already_exists", &["file_move", "from=/shared/a", "to=/tmp/taken"]);
    let ran = refuses(&inside, "is_a_directory", &["file_move", "from=/shared/folder", "to=/tmp/folder"]);
    assert!(ran.message().contains("move its files one by one"), "{ran:?}");
    for (to, overwrite) in [("/tmp/new/a", "false"), ("/tmp/taken", "true")] {
        let ran = moves("/shared/a", to, overwrite);
        let expected =
            json!({ "moved": true, "from": "/shared/a", "to": to, "kind": "file", "bytes": 8, "entries": 1 });
        assert_eq!((ran.code, ran.json()), (Some(0), expected), "{ran:?}");
        let meta = fs::metadata(inside.host(to)).expect("there");
        assert_eq!((meta.mode() & 0o777, meta.mtime()), (0o640, 951_782_400));
        assert_eq!(fs::read(inside.host(to)).expect("there"), b"content\n");
        assert!(!inside.host("/shared/a").exists());
        let effects = inside.home().audit().pop().expect("audited")["files"].clone();
        assert_eq!(
            (&effects[0]["path"], &effects[1]["path"]),
            (&to.into(), &"/shared/a".into()),
            "{effects}"
        );
        let back = moves(to, "/shared/a", "false");
        assert_eq!(back.code, Some(0), "{back:?}");
    }
    works(&inside);
}

#[test]
fn to_another_filesystem_nothing_goes_of_a_file_that_the_disk_does_not_give() {
    let test = "files::move_::to_another_filesystem_nothing_goes_of_a_file_that_the_disk_does_not_give";
    if !available(test) || !tracer::available(test) {
        return;
    }
    let inside = Namespace::new(
        "mkdir -p workspace/shared; mount -t tmpfs none workspace/tmp; echo content > workspace/shared/a",
    );
    let arguments = json!({ "from": "/shared/a", "to": "/tmp/a" });
    let call = Call { tool: "file_move", arguments, attached: Vec::new() };
    // Some kernels copy from one filesystem to another by themselves.
    let by_hand = "inject=copy_file_range:error=EXDEV".to_owned();
    let traced = tracer::run(&inside, &call, std::slice::from_ref(&by_hand));
    assert_eq!(traced.ran.code, Some(0), "{:?}", traced.ran);
    let mut reads = traced.seen.iter().filter(|seen| seen.name == "pread64");
    let read = reads.find(|seen| seen.text.contains("/shared/a>")).expect("it reads the file");
    inside.sh("mv workspace/tmp/a workspace/shared/a");
    let before = tree(&inside.host("/"));
    let ran = tracer::run(&inside, &call, &[by_hand, read.meets("error=EIO")]).ran;
    is_refusal(&inside, &ran, "read_failed");
    assert!(ran.message().contains("reading what this change needs failed"), "{ran:?}");
    assert_eq!(tree(&inside.host("/")), before, "{ran:?}");
    works(&inside);
}
