//! `file_edit`: exact replacements, all or none, on whatever bytes a file has, and never over a
//! change of somebody else's.

use super::changing::{call, denies, does, get, put};
use super::check::{bytes, home, is_refusal, tree, works};
use super::paused::{Call, Paused};
use serde_json::{Value, json};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use support::guests::sha256;
use support::home::Home;

fn edits(pairs: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> =
        pairs.iter().map(|(old, new)| json!({ "old_text": old, "new_text": new })).collect();
    json!({ "path": "/shared/a", "edits": edits })
}

#[test]
fn all_edits_are_made_or_none_and_the_refusal_says_why() {
    let home = home();
    let check = |text: &str, pairs: &[(&str, &str)], parts: &[&str]| {
        put(&home, "/shared/a", text);
        denies(&home, "file_edit", &edits(pairs), "invalid_arguments", parts);
    };
    check(
        "one\ntwo\n",
        &[("one", "1"), ("three", "3")],
        &["Nothing was changed", "edits[1]", "0 matches", "/shared/a"],
    );
    check("a\nb\na\n", &[("a", "x")], &["edits[0]", "2 times", "lines 1 and 3", "all=true"]);
    check("aaa\n", &[("aa", "x")], &["2 times", "line 1"]);
    check("one\n", &[("one", "1"), ("one", "2")], &["edits[1]", "an edit before it changed it"]);
    check("a\n", &[("b", "x"), ("c", "x")], &["edits[0]", "edits[1]"]);
    check("one\r\ntwo\r\n", &[("one\ntwo", "x")], &["CRLF", "\\r\\n"]);
    check("one\n", &[("", "x")], &["edits[0].old_text is empty"]);
    check("one\n", &[("one", "one")], &["edits[0] has the same"]);
    check("one\n", &[("one", "two"), ("two", "one")], &["change nothing"]);
    check("", &[("a", "b")], &["0 matches"]);
    let many: Vec<(&str, &str)> = vec![("one", "1"); 101];
    check("one\n", &many, &[]);
}

#[test]
fn the_result_tells_what_changed() {
    let home = home();
    put(&home, "/shared/a", "one\ntwo\nthree\ntwo\n");
    let arguments = json!({ "path": "/shared/a", "edits": [
        { "old_text": "two", "new_text": "2", "all": true },
        { "old_text": "one\n2\n", "new_text": "one\nhalf\n2\n" },
    ] });
    let expected = "one\nhalf\n2\nthree\n2\n";
    assert_eq!(
        does(&home, "file_edit", &arguments),
        json!({
            "edited": true, "path": "/shared/a", "replacements": [2, 1],
            "bytes_before": 18, "bytes_after": expected.len(), "sha256": sha256(expected.as_bytes()),
            "diff": "--- /shared/a\n+++ /shared/a\n@@ -1,4 +1,5 @@\n one\n-two\n+half\n+2\n three\n-two\n+2\n",
            "diff_truncated": false,
        })
    );
    assert_eq!(get(&home, "/shared/a"), expected.as_bytes());
    let files =
        json!([{ "path": "/shared/a", "bytes": expected.len(), "sha256": sha256(expected.as_bytes()) }]);
    for record in home.audit() {
        assert_eq!(record["files"], files, "{record}");
    }
    works(&home);
}

#[test]
fn every_other_byte_stays() {
    let home = home();
    let check = |before: &[u8], pairs: &[(&str, &str)], after: &[u8]| {
        put(&home, "/shared/a", before);
        does(&home, "file_edit", &edits(pairs));
        assert_eq!(get(&home, "/shared/a"), after, "{pairs:?}");
    };
    check(b"one\r\ntwo\r\n", &[("two", "2")], b"one\r\n2\r\n");
    check(b"one\r\ntwo\r\n", &[("one\r\ntwo", "1\n2")], b"1\n2\r\n");
    check(b"\xff\xfe\0a\x80key=1\xc3\n\x1b[2J", &[("key=1", "key=2")], b"\xff\xfe\0a\x80key=2\xc3\n\x1b[2J");
    check(b"no end", &[("end", "end yet")], b"no end yet");
    check(b"\n\n\na\n\n", &[("a\n", "")], b"\n\n\n\n");
    check("naïve ☕".as_bytes(), &[("☕", "🦀")], "naïve 🦀".as_bytes());
    check(b"a", &[("a", "")], b"");
    works(&home);
}

#[test]
fn the_mode_and_other_names_stay() {
    let home = home();
    put(&home, "/shared/a", "old");
    fs::set_permissions(home.host("/shared/a"), Permissions::from_mode(0o750)).expect("ours");
    fs::hard_link(home.host("/shared/a"), home.host("/shared/other")).expect("possible");
    does(&home, "file_edit", &edits(&[("old", "new")]));
    assert_eq!(fs::metadata(home.host("/shared/a")).expect("there").mode() & 0o777, 0o750);
    assert_eq!((get(&home, "/shared/a"), get(&home, "/shared/other")), (b"new".to_vec(), b"old".to_vec()));
}

#[test]
fn a_large_file_is_edited_and_a_larger_one_is_not() {
    let home = home();
    // As large as it may be, every line changed three times: within the memory of the call.
    let text = b"one two three\n\n".repeat((16 << 20) / 15);
    put(&home, "/shared/a", &text);
    let all: Vec<Value> = ["one", "two", "three"]
        .into_iter()
        .map(|word| json!({ "old_text": word, "new_text": word.to_uppercase(), "all": true }))
        .collect();
    let result = does(&home, "file_edit", &json!({ "path": "/shared/a", "edits": all }));
    let count = text.len() / 15;
    assert_eq!(result["replacements"], json!([count, count, count]));
    assert!(get(&home, "/shared/a") == text.to_ascii_uppercase());
    assert_eq!(result["diff_truncated"], true);
    assert!(result["diff"].as_str().expect("text").len() < 33 << 10);

    put(&home, "/shared/a", vec![b'a'; (16 << 20) + 1]);
    denies(&home, "file_edit", &edits(&[("a", "b")]), "too_large", &["16 MiB", "/shared/a"]);
    put(&home, "/shared/a", vec![b'a'; 1 << 20]);
    let growing = json!({ "path": "/shared/a", "edits": [
        { "old_text": "a", "new_text": "b".repeat(17), "all": true }] });
    denies(&home, "file_edit", &growing, "too_large", &["17825792 bytes"]);
}

/// Runs an edit that finds `old` in its file, and `meanwhile` after it has read that and before
/// anything is published.
fn edit_while(home: &Home, meanwhile: impl FnOnce()) -> support::home::Ran {
    let arguments = edits(&[("old", "new")]);
    let call = Call { tool: "file_edit", arguments, attached: vec![home.file("sent", b"abc")] };
    let paused = Paused::start(home, &call);
    let pid = paused.pid();
    let lock = home.state().join("publishing.lock");
    let held = File::options().append(true).open(&lock).expect("made when the program starts");
    held.lock().expect("nobody holds it");
    std::thread::scope(|scope| {
        let ran = scope.spawn(|| paused.go(&call));
        // The call has ended, and its publication waits for the lock.
        while !has_open(pid, &lock) {
            assert!(!ran.is_finished(), "nothing was published");
            std::thread::yield_now();
        }
        meanwhile();
        held.unlock().expect("held");
        ran.join().expect("it ends")
    })
}

fn has_open(pid: u32, path: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.flat_map(|fd| fs::read_link(fd.path())).any(|to| to == path)
}

#[test]
fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let home = home();
    let path = home.host("/shared/a");
    let check = |meanwhile: &dyn Fn(), then: &str| {
        put(&home, "/shared/a", "old");
        let ran = edit_while(&home, meanwhile);
        is_refusal(&home, &ran, "write_failed");
        assert!(ran.message().contains("changed since it was read"), "{ran:?}");
        assert_eq!(
            fs::read(&path).map_or("gone".into(), |text| String::from_utf8_lossy(&text).into_owned()),
            then
        );
        works(&home);
    };
    check(&|| fs::write(&path, "old and more").expect("writable"), "old and more");
    check(&|| fs::write(&path, "").expect("writable"), "");
    check(&|| fs::remove_file(&path).expect("there"), "gone");
    let other = home.host("/shared/other");
    let replace = || {
        fs::write(&other, "another").expect("writable");
        fs::rename(&other, &path).expect("possible");
    };
    check(&replace, "another");
    // Replaced by an equal file: what was read is what is there.
    put(&home, "/shared/a", "old");
    let same = || {
        fs::write(&other, "old").expect("writable");
        fs::rename(&other, &path).expect("possible");
    };
    assert_eq!(edit_while(&home, same).code, Some(0));
    assert_eq!(get(&home, "/shared/a"), b"new");
}

#[test]
fn of_edits_at_once_none_is_lost() {
    const EDITORS: usize = 6;
    let home = home();
    let lines: String = (0..EDITORS).map(|n| format!("line {n} is old\n")).collect();
    put(&home, "/shared/a", lines);
    std::thread::scope(|scope| {
        for n in 0..EDITORS {
            let home = &home;
            scope.spawn(move || {
                let one = edits(&[(&format!("line {n} is old"), &format!("line {n} is new"))]).to_string();
                loop {
                    let ran = home.call(&["file_edit", "--args", &one]);
                    match ran.error().as_str() {
                        "" => break,
                        "write_failed" => {}
                        _ => panic!("{ran:?}"),
                    }
                }
            });
        }
    });
    let expected: String = (0..EDITORS).map(|n| format!("line {n} is new\n")).collect();
    assert_eq!(String::from_utf8(get(&home, "/shared/a")).expect("text"), expected);
    works(&home);
}

#[test]
fn a_file_that_is_no_text_can_be_refused_without_being_read_to_the_model() {
    let home = home();
    put(&home, "/shared/a", bytes(1 << 20));
    let before = tree(&home.workspace());
    let ran = call(&home, "file_edit", &edits(&[("not in a picture", "x")]));
    is_refusal(&home, &ran, "invalid_arguments");
    assert!(ran.message().is_ascii() && ran.message().len() < 2048, "{ran:?}");
    assert_eq!(tree(&home.workspace()), before);
}
