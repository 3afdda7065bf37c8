//! `file_write`: text as it is given, all or nothing, and appending that loses nobody's text.

use super::changing::{call, denies, does, get, put};
use super::check::{home, tree, with_folders, works};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use support::guests::sha256;
use support::home::Home;

#[test]
fn an_existing_file_is_not_replaced_unasked() {
    let home = home();
    put(&home, "/shared/a", "old");
    let new = json!({ "path": "/shared/a", "content": "new" });
    denies(&home, "file_write", &new, "already_exists", &["/shared/a"]);
    let both = json!({ "path": "/shared/a", "content": "new", "append": true, "overwrite": true });
    denies(&home, "file_write", &both, "invalid_arguments", &["not both"]);
    assert_eq!(get(&home, "/shared/a"), b"old");
}

#[test]
fn too_much_is_refused_before_anything_is_written() {
    let home = home();
    let content = |len: usize| json!({ "path": "/shared/new/a", "content": "x".repeat(len) });
    denies(&home, "file_write", &content((8 << 20) + 1), "too_large", &["8 MiB", "append=true"]);
    // More than the policy takes as arguments at all.
    denies(&home, "file_write", &content(12 << 20), "too_large", &["12 MiB"]);
    does(&home, "file_write", &content(8 << 20));
    assert_eq!(get(&home, "/shared/new/a").len(), 8 << 20);
}

#[test]
fn appending_counts_the_old_bytes_as_written() {
    let text = fs::read_to_string(Home::new().own_policies().policies_dir().join("tools/file_write.toml"));
    let text = text.expect("the default policies are there").replace("\"256 MiB\"", "\"10 KiB\"");
    let home = with_folders(Home::new().policy("tools/file_write.toml", &text));
    put(&home, "/shared/a", vec![b'a'; 10 << 10]);
    let one_more = json!({ "path": "/shared/a", "content": "b", "append": true });
    denies(&home, "file_write", &one_more, "quota_exceeded", &["written_bytes"]);
    does(&home, "file_write", &json!({ "path": "/shared/a", "content": "", "append": true }));
    assert_eq!(get(&home, "/shared/a").len(), 10 << 10);
}

#[test]
fn text_is_written_exactly() {
    let home = home();
    for (n, content) in
        ["", "a", "no end", "one\ntwo\n", "dos\r\n", "\u{feff}bom", "nul \0 and \u{1b}", "日本 🦀"]
            .into_iter()
            .enumerate()
    {
        let path = format!("/shared/new/{n}");
        let bytes = content.len();
        assert_eq!(
            does(&home, "file_write", &json!({ "path": path, "content": content })),
            json!({ "written": true, "path": path, "outcome": "created", "bytes_written": bytes,
                    "total_bytes": bytes, "sha256": sha256(content.as_bytes()) })
        );
        assert_eq!(get(&home, &path), content.as_bytes());
    }
    works(&home);
}

#[test]
fn each_way_says_what_became_of_the_file() {
    let home = home();
    let write = |content: &str, way: &str| {
        let mut arguments = json!({ "path": "/tmp/d/a", "content": content });
        arguments[way] = true.into();
        let result = does(&home, "file_write", &arguments);
        let now = get(&home, "/tmp/d/a");
        assert_eq!(result["sha256"], sha256(&now));
        assert_eq!(result["total_bytes"], now.len());
        assert_eq!(result["bytes_written"], content.len());
        (result["outcome"].as_str().expect("text").to_owned(), String::from_utf8(now).expect("text"))
    };
    assert_eq!(write("one", "append"), ("created".into(), "one".into()));
    assert_eq!(write(" two", "append"), ("appended".into(), "one two".into()));
    assert_eq!(write("three", "overwrite"), ("replaced".into(), "three".into()));
    assert_eq!(write("", "append"), ("appended".into(), "three".into()));
    fs::remove_file(home.host("/tmp/d/a")).expect("there");
    assert_eq!(write("four", "overwrite"), ("created".into(), "four".into()));
    works(&home);
}

#[test]
fn appending_keeps_any_bytes_the_mode_and_other_names() {
    let home = home();
    let old: Vec<u8> = (0..=255).cycle().take(3 << 20).collect();
    put(&home, "/shared/a", &old);
    fs::set_permissions(home.host("/shared/a"), Permissions::from_mode(0o640)).expect("ours");
    fs::hard_link(home.host("/shared/a"), home.host("/shared/other")).expect("possible");
    let result = does(&home, "file_write", &json!({ "path": "/shared/a", "content": "end", "append": true }));
    assert_eq!((&result["bytes_written"], &result["total_bytes"]), (&3.into(), &(old.len() + 3).into()));
    assert!(get(&home, "/shared/a") == [&old[..], b"end"].concat());
    assert_eq!(fs::metadata(home.host("/shared/a")).expect("there").mode() & 0o777, 0o640);
    // The file was replaced, never written in place.
    assert!(get(&home, "/shared/other") == old);
    works(&home);
}

#[test]
fn the_audit_has_path_length_and_hash_and_no_content() {
    let home = home();
    put(&home, "/shared/a", "first ");
    does(&home, "file_write", &json!({ "path": "/shared/a", "content": "a secret", "append": true }));
    let records = home.audit();
    let [intent, outcome] = &records[..] else { panic!("an intent and an outcome: {records:?}") };
    let file = json!([{ "path": "/shared/a", "bytes": 14, "sha256": sha256(b"first a secret") }]);
    assert_eq!((&intent["files"], &outcome["files"]), (&file, &file));
    let text = fs::read_to_string(home.state().join("audit.jsonl")).expect("there");
    assert!(!text.contains("a secret"), "{text}");
}

#[test]
fn of_appends_at_once_none_is_lost() {
    const WRITERS: usize = 4;
    const LINES: usize = 6;
    let home = home();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let home = &home;
            scope.spawn(move || {
                for line in 0..LINES {
                    let text = format!("content={writer}.{line}\n");
                    // Refused, it says so, and is repeated until it is there.
                    loop {
                        let ran = home.call(&["file_write", "path=/shared/log", &text, "append=true"]);
                        match ran.error().as_str() {
                            "" => break,
                            "write_failed" | "already_exists" => {}
                            _ => panic!("{ran:?}"),
                        }
                    }
                }
            });
        }
    });
    let text = String::from_utf8(get(&home, "/shared/log")).expect("text");
    let expected: BTreeSet<String> =
        (0..WRITERS).flat_map(|writer| (0..LINES).map(move |line| format!("{writer}.{line}"))).collect();
    assert_eq!(text.lines().count(), WRITERS * LINES, "each once: {text}");
    assert_eq!(text.lines().map(str::to_owned).collect::<BTreeSet<_>>(), expected);
    works(&home);
}

#[test]
fn a_refused_append_leaves_nothing_even_where_folders_are_missing() {
    let home = home();
    let before = tree(&home.workspace());
    let ran =
        call(&home, "file_write", &json!({ "path": "/shared/new/../a", "content": "x", "append": true }));
    assert_eq!(ran.error(), "path_denied");
    assert_eq!(tree(&home.workspace()), before);
    works(&home);
}
